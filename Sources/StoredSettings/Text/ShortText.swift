// SPDX-License-Identifier: Apache-2.0

/// JSON text of limited length, which is written into memory of the caller.
///
/// It has the same form as that of ``JSONWriter``, which has no limit. Every access is within the memory, whose length
/// is checked for each addition. The memory must remain valid as long as this value is used.
struct ShortText {
    private let buffer: UnsafeMutableRawBufferPointer
    /// The end of the text in the memory.
    private(set) var count: Int
    /// The length of the key of the object that was appended, with its quotation marks.
    private(set) var keyLength = 0

    /// - Parameters:
    ///   - buffer: The memory.
    ///   - start: The offset at which the text begins.
    init(_ buffer: UnsafeMutableRawBufferPointer, from start: Int) {
        (self.buffer, count) = (buffer, start)
    }

    /// Appends an object with one member: an array of a value, or an empty array.
    ///
    /// - Returns: `false` if there is not enough room for the text and its padding, or the value is of another kind than
    ///   null, a Boolean, a 64-bit integer or a string.
    mutating func appendMember(_ key: String, _ value: StoredValue?) -> Bool {
        guard append(JSONByte.leftBrace) else { return false }
        let start = count
        guard append(key) else { return false }
        keyLength = count - start
        guard append(JSONByte.colon), append(JSONByte.leftBracket) else { return false }
        switch value {
        case nil: break
        case .null: guard append(name: "null") else { return false }
        case .bool(let isTrue): guard append(name: isTrue ? "true" : "false") else { return false }
        case .integer(let number): guard append(number) else { return false }
        case .string(let string): guard append(string) else { return false }
        case .double, .date, .data, .array, .dictionary: return false
        }
        guard append(JSONByte.rightBracket), append(JSONByte.rightBrace) else { return false }
        return count + 8 <= buffer.count
    }

    /// Appends zeros up to a multiple of a number, for which there is room.
    mutating func pad(to alignment: Int) {
        while count % alignment != 0, append(UInt8(0)) {}
    }

    private mutating func append(_ byte: UInt8) -> Bool {
        guard count < buffer.count else { return false }
        buffer[count] = byte
        count += 1
        return true
    }

    private mutating func append(name: StaticString) -> Bool {
        name.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= buffer.count - count else { return false }
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: bytes)
        count += bytes.count
        return true
    }

    private mutating func append(_ number: Int128) -> Bool {
        // 20 characters are enough for 64 bits and a sign.
        guard let number = Int64(exactly: number), buffer.count - count >= 20 else { return false }
        if number < 0 { _ = append(UInt8(ascii: "-")) }
        var rest = number.magnitude
        let start = count
        repeat {
            _ = append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        var (first, last) = (start, count - 1)
        while first < last {
            (buffer[first], buffer[last]) = (buffer[last], buffer[first])
            (first, last) = (first + 1, last - 1)
        }
        return true
    }

    /// Appends a string in quotation marks, unless a character needs an escape.
    private mutating func append(_ string: String) -> Bool {
        var string = string
        return string.withUTF8 { bytes in
            guard append(JSONByte.quote) else { return false }
            for byte in bytes where byte < 0x20 || byte == JSONByte.quote || byte == JSONByte.backslash { return false }
            return append(UnsafeRawBufferPointer(bytes)) && append(JSONByte.quote)
        }
    }
}
