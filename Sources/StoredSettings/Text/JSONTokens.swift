// SPDX-License-Identifier: Apache-2.0

/// Finds the ends of tokens in a settings file that ``JSONReader`` has read without an error.
///
/// Nothing is checked again. In other text the results have no meaning, but they are offsets within the text, and each
/// method ends.
struct JSONTokens {
    let bytes: [UInt8]

    /// The byte at a nonnegative offset; 0 beyond the end.
    func byte(at offset: Int) -> UInt8 {
        offset < bytes.count ? bytes[offset] : 0
    }

    /// Whether a line break, LF, CR LF or CR, begins at an offset.
    func isLineBreak(at offset: Int) -> Bool {
        byte(at: offset) == JSONByte.lineFeed || byte(at: offset) == JSONByte.carriageReturn
    }

    /// Whether a space or a tab is at an offset.
    func isBlank(at offset: Int) -> Bool {
        byte(at: offset) == JSONByte.space || byte(at: offset) == JSONByte.tab
    }

    func isWhitespace(at offset: Int) -> Bool { isBlank(at: offset) || isLineBreak(at: offset) }

    func isWhitespace(_ range: Range<Int>) -> Bool { range.allSatisfy { isWhitespace(at: $0) } }

    /// The number of line breaks in a range.
    func lineBreaks(in range: Range<Int>) -> Int {
        range.count { isLineBreak(at: $0) && !(byte(at: $0) == JSONByte.lineFeed && isCarriageReturn(at: $0 - 1)) }
    }

    /// Where the last line break in a range begins; `nil` if there is none.
    func lastLineBreak(in range: Range<Int>) -> Int? {
        guard let last = range.last(where: { isLineBreak(at: $0) }) else { return nil }
        let isPair = byte(at: last) == JSONByte.lineFeed && last > range.lowerBound && isCarriageReturn(at: last - 1)
        return isPair ? last - 1 : last
    }

    private func isCarriageReturn(at offset: Int) -> Bool {
        offset >= 0 && byte(at: offset) == JSONByte.carriageReturn
    }
}

// MARK: - Ends

extension JSONTokens {
    func endOfBlanks(from offset: Int) -> Int {
        var end = offset
        while isBlank(at: end) { end += 1 }
        return end
    }

    func endOfWhitespace(from offset: Int) -> Int {
        var end = offset
        while isWhitespace(at: end) { end += 1 }
        return end
    }

    /// The end of the white space and comments from an offset on.
    func endOfSpace(from offset: Int) -> Int {
        var end = endOfWhitespace(from: offset)
        while byte(at: end) == JSONByte.solidus { end = endOfWhitespace(from: endOfComment(at: end)) }
        return end
    }

    /// The end of a comment: of a line comment, where its line break begins.
    func endOfComment(at offset: Int) -> Int {
        var end = min(offset + 2, bytes.count)
        let isLineComment = isLineComment(at: offset)
        while end < bytes.count {
            if isLineComment {
                if isLineBreak(at: end) { break }
            } else if byte(at: end) == JSONByte.asterisk, byte(at: end + 1) == JSONByte.solidus {
                return end + 2
            }
            end += 1
        }
        return end
    }

    func isLineComment(at offset: Int) -> Bool {
        byte(at: offset) == JSONByte.solidus && byte(at: offset + 1) == JSONByte.solidus
    }

    func endOfString(at offset: Int) -> Int {
        var end = offset + 1
        while end < bytes.count {
            switch bytes[end] {
            case JSONByte.quote: return end + 1
            case JSONByte.backslash: end += 2
            default: end += 1
            }
        }
        return bytes.count
    }

    func endOfValue(at offset: Int) -> Int {
        var end = offset
        var depth = 0
        while end < bytes.count {
            switch bytes[end] {
            case JSONByte.leftBrace, JSONByte.leftBracket:
                depth += 1
                end += 1
            case JSONByte.rightBrace, JSONByte.rightBracket:
                // Of the container of a number or a word.
                if depth == 0 { return end }
                depth -= 1
                end += 1
                if depth == 0 { return end }
            case JSONByte.quote:
                end = endOfString(at: end)
                if depth == 0 { return end }
            case JSONByte.solidus:
                if depth == 0 { return end }
                end = endOfComment(at: end)
            case JSONByte.comma where depth == 0:
                return end
            default:
                if depth == 0, isWhitespace(at: end) { return end }
                end += 1
            }
        }
        return min(end, bytes.count)
    }
}
