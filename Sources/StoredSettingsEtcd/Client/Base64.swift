// SPDX-License-Identifier: Apache-2.0

/// The encoding of keys and values in etcd's JSON (RFC 4648, with padding).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let padding = UInt8(ascii: "=")

    /// The values of the letters of the alphabet; 0xFF for other bytes.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    /// Returns the encoding of bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the encoding of bytes.
    static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        let count = (bytes.count + 2) / 3 * 4
        // The pointers are used only inside the closures. Every three bytes, and those that remain, fill four of the letters. An
        // index of the alphabet has six bits.
        text += [UInt8](unsafeUninitializedCapacity: count) { letters, length in
            alphabet.withUnsafeBufferPointer { alphabet in
                bytes.withUnsafeBufferPointer { bytes in
                    var (index, next) = (0, 0)
                    while index < bytes.count {
                        let rest = bytes.count - index
                        var group = UInt32(bytes[index]) << 16
                        if rest > 1 { group |= UInt32(bytes[index + 1]) << 8 }
                        if rest > 2 { group |= UInt32(bytes[index + 2]) }
                        letters[next] = alphabet[Int(group >> 18)]
                        letters[next + 1] = alphabet[Int(group >> 12 & 63)]
                        letters[next + 2] = rest > 1 ? alphabet[Int(group >> 6 & 63)] : padding
                        letters[next + 3] = rest > 2 ? alphabet[Int(group & 63)] : padding
                        (index, next) = (index + 3, next + 4)
                    }
                }
            }
            length = count
        }
    }

    /// Returns the bytes of an encoding; `nil` if it is not exactly what ``encode(_:)`` returns.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0) }
    }

    /// Returns the bytes of an encoding; `nil` if it is not exactly what ``encode(_:)`` returns.
    ///
    /// The pointer is used only during the call.
    static func decode(_ letters: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard letters.count % 4 == 0 else { return nil }
        let paddings =
            letters.isEmpty || letters[letters.count - 1] != padding
            ? 0 : letters[letters.count - 2] == padding ? 2 : 1
        let count = letters.count / 4 * 3 - paddings
        var isValid = true
        // The pointers are used only inside the closures. Every four letters fill three of the bytes, and the last four fill those
        // that remain.
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { bytes, length in
            values.withUnsafeBufferPointer { values in
                for index in stride(from: 0, to: letters.count, by: 4) {
                    var (group, wrong) = (UInt32(0), UInt8(0))
                    let isLast = index + 4 == letters.count
                    let missing = isLast ? paddings : 0
                    for offset in 0..<(4 - missing) {
                        let value = values[Int(letters[index + offset])]
                        wrong |= value
                        group |= UInt32(value & 63) << UInt32(18 - 6 * offset)
                    }
                    // The bits that the padding stands for are 0.
                    let unused: UInt32 = missing == 2 ? 0xFFFF : missing == 1 ? 0xFF : 0
                    guard wrong < 64, group & unused == 0 else {
                        isValid = false
                        return
                    }
                    bytes[length] = UInt8(truncatingIfNeeded: group >> 16)
                    if missing < 2 { bytes[length + 1] = UInt8(truncatingIfNeeded: group >> 8) }
                    if missing < 1 { bytes[length + 2] = UInt8(truncatingIfNeeded: group) }
                    length += 3 - missing
                }
            }
        }
        return isValid ? bytes : nil
    }
}
