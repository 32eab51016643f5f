// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A checkpoint edits the text of the file".

/// The places of an object's members in the text of a settings file, with the comments beside each.
struct JSONMembers {
    let tokens: JSONTokens
    /// Where the object begins and ends, with its braces.
    let range: Range<Int>
    private(set) var members: [Member] = []

    /// A member of an object.
    struct Member {
        let name: String
        /// The range of the name, with its quotation marks.
        let nameRange: Range<Int>
        let value: Range<Int>
        /// Where the comma after the member is, if there is one.
        let comma: Int?
        /// The comma, if comments between the value and it do not belong to the member.
        let detachedComma: Int?
        /// Where the comments directly before the member begin, without a blank line in between.
        let start: Int
        /// The end of the comments behind the member on its line.
        let end: Int
        /// The member with its comma, and with the comments behind it if no other member is before it on its line.
        let region: Range<Int>
        /// The white space before the member.
        let space: Range<Int>
        /// Where the line break before the member begins; `nil` if something else is before it on its line.
        let lineBreak: Int?
        /// The end of the blanks behind the region.
        let endOfBlanks: Int
        /// Whether nothing else is behind the region on its line.
        let endsLine: Bool
        /// Whether the last comment behind the member ends with its line.
        let endsInLineComment: Bool
    }

    /// Finds the members of an object.
    ///
    /// - Parameters:
    ///   - open: Where the object begins.
    ///   - tokens: The text of the file.
    /// - Throws: ``JSONSyntaxError`` if a name is not valid.
    init(at open: Int, in tokens: JSONTokens) throws(JSONSyntaxError) {
        self.tokens = tokens
        var members: [Member] = []
        // A comment on the line of the brace belongs to the object.
        var end = Self.endOfLineComments(from: open + 1, in: tokens).end
        while true {
            let (start, name) = Self.nextName(from: end, in: tokens)
            guard tokens.byte(at: name) == JSONByte.quote else {
                range = open..<min(name + 1, tokens.bytes.count)
                break
            }
            let member = try Self.member(from: start, name: name, after: end, in: tokens)
            members.append(member)
            end = member.end
        }
        self.members = members
    }

    /// - Returns: The start of the comments directly before the next member, and of its name.
    private static func nextName(from offset: Int, in tokens: JSONTokens) -> (start: Int, name: Int) {
        var start: Int?
        var position = offset
        while true {
            let next = tokens.endOfWhitespace(from: position)
            if tokens.lineBreaks(in: position..<next) > 1 { start = nil }
            guard tokens.byte(at: next) == JSONByte.solidus else { return (start ?? next, next) }
            start = start ?? next
            position = tokens.endOfComment(at: next)
        }
    }

    private static func member(
        from start: Int,
        name: Int,
        after previous: Int,
        in tokens: JSONTokens
    ) throws(JSONSyntaxError) -> Member {
        let nameRange = name..<tokens.endOfString(at: name)
        let colon = tokens.endOfSpace(from: nameRange.upperBound)
        let valueStart = tokens.endOfSpace(from: min(colon + 1, tokens.bytes.count))
        let value = valueStart..<tokens.endOfValue(at: valueStart)
        let next = tokens.endOfSpace(from: value.upperBound)
        let comma = tokens.byte(at: next) == JSONByte.comma ? next : nil
        let gap = value.upperBound..<next
        let isFirstOnLine = tokens.lineBreaks(in: previous..<name) > 0
        let isDetached = !tokens.isWhitespace(gap) && (tokens.lineBreaks(in: gap) > 0 || !isFirstOnLine)
        let ownEnd = comma.map { $0 + 1 } ?? value.upperBound
        let (end, endsInLineComment) = endOfLineComments(from: ownEnd, in: tokens)
        let region = name..<(isFirstOnLine ? end : ownEnd)
        var firstSpace = name
        while firstSpace > previous, tokens.isWhitespace(at: firstSpace - 1) { firstSpace -= 1 }
        let endOfBlanks = tokens.endOfBlanks(from: region.upperBound)
        return Member(
            name: try JSONReader.readName(tokens.bytes[nameRange]),
            nameRange: nameRange,
            value: value,
            comma: comma,
            detachedComma: isDetached ? comma : nil,
            start: start,
            end: end,
            region: region,
            space: firstSpace..<name,
            lineBreak: tokens.lastLineBreak(in: firstSpace..<name),
            endOfBlanks: endOfBlanks,
            endsLine: tokens.isLineBreak(at: endOfBlanks),
            endsInLineComment: endsInLineComment
        )
    }

    /// The end of the comments on the rest of a line, unless a member follows them on the same line.
    private static func endOfLineComments(
        from offset: Int,
        in tokens: JSONTokens
    ) -> (end: Int, isLineComment: Bool) {
        var end = offset
        var isLineComment = false
        while true {
            let next = tokens.endOfBlanks(from: end)
            if tokens.byte(at: next) == JSONByte.solidus {
                isLineComment = tokens.isLineComment(at: next)
                end = tokens.endOfComment(at: next)
            } else if tokens.byte(at: next) == JSONByte.quote {
                return (offset, false)
            } else {
                return (end, isLineComment)
            }
        }
    }
}

// MARK: - The form

extension JSONMembers {
    /// The range between the braces.
    var inside: Range<Int> { range.lowerBound + 1..<max(range.upperBound - 1, range.lowerBound + 1) }

    /// Whether there is nothing between the braces but white space.
    var isBlank: Bool { tokens.isWhitespace(inside) }

    /// Whether only white space is between the members and around them.
    var isBlankAroundMembers: Bool {
        var end = inside.lowerBound
        for member in members {
            guard member.detachedComma == nil, tokens.isWhitespace(end..<member.region.lowerBound) else { return false }
            end = member.region.upperBound
        }
        return tokens.isWhitespace(end..<inside.upperBound)
    }

    /// The indentation of a member's line, or of the line on which its comments begin; `nil` if it begins no line.
    func indentation(of member: Member) -> [UInt8]? {
        indentation(before: member.region.lowerBound) ?? indentationOfComments(of: member)
    }

    /// The indentation of the line on which a member or its comments begin; `nil` if they begin no line.
    func indentationOfComments(of member: Member) -> [UInt8]? {
        indentation(before: member.start)
    }

    private func indentation(before offset: Int) -> [UInt8]? {
        var start = offset
        while start > 0, tokens.isBlank(at: start - 1) { start -= 1 }
        return start > 0 && tokens.isLineBreak(at: start - 1) ? Array(tokens.bytes[start..<offset]) : nil
    }

    /// The indentation of the line on which the object begins.
    var indentation: [UInt8] {
        var start = range.lowerBound
        while start > 0, !tokens.isLineBreak(at: start - 1) { start -= 1 }
        return Array(tokens.bytes[start..<tokens.endOfBlanks(from: start)])
    }

    /// What is between the name and the value of a member, if that is a colon with few blanks.
    func colon(of member: Member) -> [UInt8] {
        let text = tokens.bytes[member.nameRange.upperBound..<member.value.lowerBound]
        let isPlain =
            text.count <= 3 && text.allSatisfy { [JSONByte.colon, JSONByte.space, JSONByte.tab].contains($0) }
        return isPlain ? Array(text) : [JSONByte.colon, JSONByte.space]
    }
}
