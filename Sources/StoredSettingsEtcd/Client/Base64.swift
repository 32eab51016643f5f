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
        let letters = alphabet
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let count = min(3, bytes.count - index)
            var group = UInt32(bytes[index]) << 16
            if count > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if count > 2 { group |= UInt32(bytes[index + 2]) }
            text.append(letters[Int(group >> 18)])
            text.append(letters[Int(group >> 12 & 63)])
            text.append(count > 1 ? letters[Int(group >> 6 & 63)] : padding)
            text.append(count > 2 ? letters[Int(group & 63)] : padding)
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of an encoding; `nil` if it is not exactly what ``encode(_:)`` returns.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { letters -> [UInt8]? in
            guard letters.count % 4 == 0 else { return nil }
            let values = values
            var bytes: [UInt8] = []
            bytes.reserveCapacity(letters.count / 4 * 3)
            var index = 0
            while index < letters.count {
                let isLast = index + 4 == letters.count
                let paddings = !isLast || letters[index + 3] != padding ? 0 : letters[index + 2] == padding ? 2 : 1
                var group: UInt32 = 0
                for offset in 0..<4 {
                    let value = offset < 4 - paddings ? values[Int(letters[index + offset])] : 0
                    guard value < 64 else { return nil }
                    group = group << 6 | UInt32(value)
                }
                // The bits that the padding stands for are 0.
                guard group & (paddings == 2 ? 0xFFFF : paddings == 1 ? 0xFF : 0) == 0 else { return nil }
                bytes.append(UInt8(group >> 16))
                if paddings < 2 { bytes.append(UInt8(group >> 8 & 0xFF)) }
                if paddings < 1 { bytes.append(UInt8(group & 0xFF)) }
                index += 4
            }
            return bytes
        }
    }
}
