// SPDX-License-Identifier: Apache-2.0

extension JSONReader {
    /// Reads the string whose opening quotation mark is at the position.
    mutating func readString() throws(JSONSyntaxError) -> String {
        let start = position + 1
        var end = start
        var allBits: UInt8 = 0
        while true {
            let byte = byte(at: end)
            if byte == JSONByte.quote { break }
            if byte == JSONByte.backslash { return try readStringWithEscapes(from: start) }
            if byte < 0x20 { throw controlCharacter(at: end) }
            allBits |= byte
            end += 1
        }
        // ASCII is always valid, and most strings are ASCII: `String(validating:as:)` takes 1,000 instructions more.
        guard allBits >= 0x80 else {
            position = end + 1
            return String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<end]), as: UTF8.self)
        }
        guard let text = String(validating: bytes[start..<end], as: UTF8.self) else {
            throw invalidUTF8(from: start, to: end)
        }
        position = end + 1
        return text
    }

    /// Reads a string that contains an escape, from its first byte.
    private mutating func readStringWithEscapes(from start: Int) throws(JSONSyntaxError) -> String {
        var text: [UInt8] = []
        position = start
        while true {
            let byte = byte(at: position)
            if byte == JSONByte.quote { break }
            if byte == JSONByte.backslash {
                try readEscape(into: &text)
                continue
            }
            if byte < 0x20 { throw controlCharacter(at: position) }
            let length = scalarLength(at: position)
            guard length > 0 else { throw invalidUTF8(from: position, to: position + 1) }
            text.append(contentsOf: bytes[position..<(position + length)])
            position += length
        }
        position += 1
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads the escape whose backslash is at the position.
    private mutating func readEscape(into text: inout [UInt8]) throws(JSONSyntaxError) {
        switch byte(at: position + 1) {
        case JSONByte.quote: text.append(JSONByte.quote)
        case JSONByte.backslash: text.append(JSONByte.backslash)
        case JSONByte.solidus: text.append(JSONByte.solidus)
        case 0x62: text.append(0x08)  // b, the backspace
        case 0x66: text.append(0x0C)  // f, the form feed
        case 0x6E: text.append(JSONByte.lineFeed)
        case 0x72: text.append(JSONByte.carriageReturn)
        case 0x74: text.append(JSONByte.tab)
        case 0x75:  // u
            text.append(contentsOf: UTF8.encode(try readScalarEscape()) ?? UTF8.encodedReplacementCharacter)
            return
        default:
            guard position + 1 < bytes.count else { throw endInString }
            throw failure("a '\\' does not begin a valid escape", at: position)
        }
        position += 2
    }

    /// Reads the `\u` escape, or the pair of escapes, at the position.
    private mutating func readScalarEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position
        let unit = try readUnitEscape()
        if let scalar = Unicode.Scalar(unit) { return scalar }

        let isFirstOfPair = unit < 0xDC00
        let isCutOff = byte(at: position) == JSONByte.backslash && position + 1 >= bytes.count
        if isFirstOfPair, position >= bytes.count || isCutOff { throw endInString }
        guard isFirstOfPair, byte(at: position) == JSONByte.backslash, byte(at: position + 1) == 0x75 else {
            throw failure("a '\\u' escape is an unpaired surrogate", at: start)
        }
        let other = try readUnitEscape()
        guard
            (0xDC00...0xDFFF).contains(other),
            let scalar = Unicode.Scalar(0x1_0000 + (UInt32(unit - 0xD800) << 10) + UInt32(other - 0xDC00))
        else {
            throw failure("a '\\u' escape is an unpaired surrogate", at: start)
        }
        return scalar
    }

    /// Reads `\u` and four hexadecimal digits.
    private mutating func readUnitEscape() throws(JSONSyntaxError) -> UInt16 {
        var unit: UInt16 = 0
        for offset in (position + 2)..<(position + 6) {
            let byte = byte(at: offset)
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x41 + 10
            case 0x61...0x66: digit = byte - 0x61 + 10
            default:
                guard offset < bytes.count else { throw endInString }
                throw failure("expected four hexadecimal digits after '\\u'", at: offset)
            }
            unit = unit << 4 | UInt16(digit)
        }
        position += 6
        return unit
    }
}

extension JSONReader {
    private var endInString: JSONSyntaxError {
        JSONSyntaxError("unexpected end of input in a string", at: bytes.count, in: bytes)
    }

    /// The error for a string that contains a byte below 0x20 or is not terminated.
    private func controlCharacter(at offset: Int) -> JSONSyntaxError {
        guard offset < bytes.count else { return endInString }
        switch byte(at: offset) {
        case JSONByte.lineFeed, JSONByte.carriageReturn:
            return failure("a string contains a line break; is its closing quotation mark missing?", at: offset)
        default:
            return failure("a string contains a control character that is not escaped", at: offset)
        }
    }

    /// The error for bytes that are known not to be valid UTF-8, at the first invalid byte.
    private func invalidUTF8(from start: Int, to end: Int) -> JSONSyntaxError {
        var offset = start
        while offset < end {
            let length = scalarLength(at: offset)
            if length == 0 { break }
            offset += length
        }
        return failure("a string is not valid UTF-8", at: offset)
    }

    /// The number of bytes of the UTF-8 scalar at an offset; 0 when it is not valid.
    func scalarLength(at offset: Int) -> Int {
        let first = byte(at: offset)
        if first < 0x80 { return 1 }
        // The range of the second byte is narrower after some first bytes, to exclude overlong forms, surrogates and
        // scalars above U+10FFFF.
        let second: ClosedRange<UInt8>
        let length: Int
        switch first {
        case 0xC2...0xDF: (second, length) = (0x80...0xBF, 2)
        case 0xE0: (second, length) = (0xA0...0xBF, 3)
        case 0xED: (second, length) = (0x80...0x9F, 3)
        case 0xE1...0xEF: (second, length) = (0x80...0xBF, 3)
        case 0xF0: (second, length) = (0x90...0xBF, 4)
        case 0xF1...0xF3: (second, length) = (0x80...0xBF, 4)
        case 0xF4: (second, length) = (0x80...0x8F, 4)
        default: return 0
        }
        guard second.contains(byte(at: offset + 1)) else { return 0 }
        for following in 2..<4 where following < length {
            guard byte(at: offset + following) & 0b1100_0000 == 0b1000_0000 else { return 0 }
        }
        return length
    }
}
