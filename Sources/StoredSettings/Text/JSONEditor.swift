// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A checkpoint edits the text of the file".

/// Changes members of an object in the text of a settings file, and leaves all other bytes as they are.
///
/// The object of the file and the objects in it are edited alike: a value that is an object before and after is edited
/// member by member, and any other value is replaced. Documentation/FileFormat.md has the rules.
///
/// The editor does not recurse, so deep nesting needs no stack.
struct JSONEditor {
    private let tokens: JSONTokens
    /// The members of the outermost object that are never changed.
    private let reservedNames: Set<String>
    private let lineBreak: [UInt8]
    /// The indentation that each level adds.
    private var unit: [UInt8] = [UInt8(ascii: " "), UInt8(ascii: " ")]
    private var edits: [Edit] = []
    /// The objects that remain to be edited.
    private var work: [Work] = []

    /// The replacement of a range, which may be empty.
    private struct Edit {
        let range: Range<Int>
        let text: [UInt8]
    }

    private struct Work {
        let start: Int
        /// The number of objects around this one.
        let level: Int
        let old: [String: StoredValue]
        let new: [String: StoredValue]
    }

    /// - Parameters:
    ///   - text: The text of a settings file, which ``JSONReader`` has read without an error.
    ///   - reservedNames: The names of members that are never changed.
    init(_ text: [UInt8], reservedNames: Set<String>) {
        tokens = JSONTokens(bytes: text)
        self.reservedNames = reservedNames
        let first = text.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        let isPair = first.map { text[$0...].starts(with: [UInt8(ascii: "\r"), UInt8(ascii: "\n")]) } ?? false
        lineBreak =
            isPair ? [UInt8(ascii: "\r"), UInt8(ascii: "\n")] : first.map { [text[$0]] } ?? [UInt8(ascii: "\n")]
    }

    /// Returns the text with other members.
    ///
    /// - Parameters:
    ///   - old: The entries of the text, without the reserved ones.
    ///   - new: The entries of the result, likewise.
    /// - Returns: The new text.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the nesting is too deep to be read again,
    ///   or ``JSONSyntaxError`` if the text is not valid.
    mutating func text(changing old: [String: StoredValue], to new: [String: StoredValue]) throws -> [UInt8] {
        work = [Work(start: tokens.start, level: 0, old: old, new: new)]
        while let next = work.popLast() {
            let object = try JSONMembers(at: next.start, in: tokens)
            if next.level == 0 { findUnit(in: object) }
            try edit(object, next)
        }
        return edited
    }

    /// The text with all edits.
    private var edited: [UInt8] {
        let bytes = tokens.bytes
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + edits.reduce(0) { $0 + $1.text.count })
        var position = 0
        let order = edits.indices.sorted { (edits[$0].range.lowerBound, $0) < (edits[$1].range.lowerBound, $1) }
        for edit in order.map({ edits[$0] }) {
            if edit.range.lowerBound > position { text += bytes[position..<edit.range.lowerBound] }
            text += edit.text
            // Two removals may share the blanks between them.
            position = max(position, edit.range.upperBound)
        }
        return text + bytes[position...]
    }

    /// Takes the additional indentation of each level from the first member that begins a line.
    private mutating func findUnit(in object: JSONMembers) {
        guard let first = object.members.lazy.compactMap({ object.indentation(of: $0) }).first else { return }
        let outer = object.indentation
        let inner = first.starts(with: outer) ? Array(first.dropFirst(outer.count)) : first
        if !inner.isEmpty { unit = inner }
    }

    private mutating func replace(_ range: Range<Int>, with text: [UInt8] = []) {
        edits.append(Edit(range: range, text: text))
    }
}

// MARK: - Objects

extension JSONEditor {
    /// Where new members are inserted.
    private enum Place {
        case before(JSONMembers.Member)
        case after(JSONMembers.Member)
        /// In the place of a member that is removed, because no member remains.
        case insteadOf(JSONMembers.Member)
        /// In an object that has no members.
        case inside
    }

    private mutating func edit(_ object: JSONMembers, _ work: Work) throws {
        var kept: [JSONMembers.Member] = []
        var removed: [JSONMembers.Member] = []
        for member in object.members {
            if isReserved(member, work) {
                kept.append(member)
            } else if let new = value(named: member.name, in: work.new, work) {
                kept.append(member)
                if let old = work.old[member.name], old != new { try change(member, of: object, old, new, work) }
            } else {
                removed.append(member)
            }
        }
        let added = work.new.keys.filter { value(named: $0, in: work.old, work) == nil }.sortedByScalars()
        if kept.isEmpty, added.isEmpty, !removed.isEmpty, object.isBlankAroundMembers {
            return replace(object.inside)
        }
        let groups = places(of: added, in: object, keeping: kept, work)
        adjustLastComma(of: object, keeping: kept, groups.last?.place)
        for (index, group) in groups.enumerated() {
            let isLast = index == groups.count - 1 && isAtEnd(group.place, keeping: kept)
            try insert(group.names, group.place, of: object, isLast: isLast, work)
        }
        if !added.isEmpty, kept.isEmpty { removed = Array(removed.dropFirst()) }
        for member in removed {
            let isFirst = kept.first.map { member.region.lowerBound < $0.region.lowerBound } ?? added.isEmpty
            remove(member, isFirst: isFirst)
        }
    }

    private func isReserved(_ member: JSONMembers.Member, _ work: Work) -> Bool {
        work.level == 0 && reservedNames.contains(member.name)
    }

    /// The value of a name.
    ///
    /// Keys are compared like Swift strings, and the names in their values scalar by scalar, as in ``StoredValue``.
    private func value(named name: String, in entries: [String: StoredValue], _ work: Work) -> StoredValue? {
        guard let index = entries.index(forKey: name) else { return .none }
        guard work.level == 0 || entries[index].key.hasSameScalars(as: name) else { return .none }
        return entries[index].value
    }

    private mutating func change(
        _ member: JSONMembers.Member,
        of object: JSONMembers,
        _ old: StoredValue,
        _ new: StoredValue,
        _ work: Work
    ) throws {
        if case .dictionary(let old) = old, case .dictionary(let new) = new {
            let first = member.value.lowerBound + 1
            let isBlank = tokens.isWhitespace(first..<max(first, member.value.upperBound - 1))
            if !isBlank {
                let start = member.value.lowerBound
                return self.work.append(Work(start: start, level: work.level + 1, old: old, new: new))
            }
        }
        let layout = object.indentation(of: member).map { self.layout($0) }
        replace(member.value, with: try JSONWriter.text(of: new, layout, level: work.level + 1))
    }

    private func layout(_ indentation: [UInt8]) -> JSONWriter.Layout {
        JSONWriter.Layout(lineBreak: lineBreak + indentation, unit: unit)
    }

    /// Removes a member with its comma and its own comments, and with its line if nothing else is on it.
    private mutating func remove(_ member: JSONMembers.Member, isFirst: Bool) {
        let region = member.region
        switch (member.lineBreak, member.endsLine) {
        case (let lineBreak?, true): replace(member, in: lineBreak..<member.endOfBlanks)
        // The line break may end a comment on the line before.
        case (_?, false): replace(member, in: region.lowerBound..<member.endOfBlanks)
        case (nil, false) where isFirst: replace(member, in: region.lowerBound..<member.endOfBlanks)
        case (nil, _): replace(member, in: member.space.lowerBound..<region.upperBound)
        }
    }

    /// Replaces the range of a member, in which comments that do not belong to it stay.
    private mutating func replace(_ member: JSONMembers.Member, in range: Range<Int>, with text: [UInt8] = []) {
        guard let comma = member.detachedComma else { return replace(range, with: text) }
        replace(member.nameRange.lowerBound..<member.value.upperBound, with: text)
        replace(comma..<comma + 1)
    }

    /// Adds or removes the comma after the last member that remains.
    private mutating func adjustLastComma(of object: JSONMembers, keeping kept: [JSONMembers.Member], _ place: Place?) {
        guard let last = kept.last else { return }
        if let place, isAtEnd(place, keeping: kept) {
            if last.comma == nil { replace(last.value.upperBound..<last.value.upperBound, with: [UInt8(ascii: ",")]) }
        } else if let comma = last.comma, object.members.last?.comma == nil {
            replace(comma..<comma + 1)
        }
    }

    private func isAtEnd(_ place: Place, keeping kept: [JSONMembers.Member]) -> Bool {
        switch place {
        case .before: false
        case .after(let member): member.region == kept.last?.region
        case .insteadOf, .inside: true
        }
    }
}

// MARK: - New members

extension JSONEditor {
    /// Where to insert new members: in the order of the names if the object has that order, otherwise at the end.
    private func places(
        of names: [String],
        in object: JSONMembers,
        keeping kept: [JSONMembers.Member],
        _ work: Work
    ) -> [(place: Place, names: [String])] {
        guard !names.isEmpty else { return [] }
        guard let first = kept.first, let last = kept.last else {
            return [(object.members.first.map { .insteadOf($0) } ?? .inside, names)]
        }
        let ordered = object.members.filter { !isReserved($0, work) }
        let isSorted = zip(ordered, ordered.dropFirst()).allSatisfy { $0.name.precedesInScalars($1.name) }
        guard isSorted else { return [(.after(last), names)] }
        let candidates = kept.filter { !isReserved($0, work) }
        var groups: [(place: Place, names: [String])] = []
        var next = 0
        var previous: Int?
        for name in names {
            while next < candidates.count, candidates[next].name.precedesInScalars(name) { next += 1 }
            if previous == next {
                groups[groups.count - 1].names.append(name)
                continue
            }
            previous = next
            if next > 0 {
                groups.append((.after(candidates[next - 1]), [name]))
            } else {
                groups.append((isReserved(first, work) ? .after(first) : .before(first), [name]))
            }
        }
        return groups
    }

    private mutating func insert(
        _ names: [String],
        _ place: Place,
        of object: JSONMembers,
        isLast: Bool,
        _ work: Work
    ) throws {
        let hasTrailingComma = object.members.last?.comma != nil
        var colon = [UInt8(ascii: ":"), UInt8(ascii: " ")]
        /// The indentation of new lines; `nil` for members on one line.
        var indentation: [UInt8]?
        switch place {
        case .before(let member), .insteadOf(let member):
            colon = object.colon(of: member)
            indentation = object.indentationOfComments(of: member)
        case .after(let member):
            colon = object.colon(of: member)
            let own = object.indentation(of: member)
            let isMultiline = own != nil && member.endsLine || member.endsInLineComment
            if isMultiline { indentation = own ?? object.indentation + unit }
        case .inside:
            indentation = object.indentation + unit
        }
        let separator =
            indentation.map { lineBreak + $0 } ?? (colon.last == UInt8(ascii: ":") ? [] : [UInt8(ascii: " ")])
        let entries = try names.map { name in
            let value = work.new[name] ?? .null
            let text = try JSONWriter.text(of: value, indentation.map { layout($0) }, level: work.level + 1)
            return JSONWriter.text(ofName: name) + colon + text
        }
        let comma = [UInt8(ascii: ",")]
        let text = Array(entries.joined(separator: comma + separator))
        let end = isLast && !hasTrailingComma ? [] : comma
        switch place {
        case .before(let member):
            replace(member.start..<member.start, with: text + comma + separator)
        case .after(let member):
            replace(member.end..<member.end, with: separator + text + end)
        case .insteadOf(let member):
            replace(member, in: member.region, with: text + end)
        case .inside:
            insert(separator + text, in: object)
        }
    }

    /// Inserts text in an object without members, after its comments.
    private mutating func insert(_ text: [UInt8], in object: JSONMembers) {
        let inside = object.inside
        let lastLine = lineBreak + object.indentation
        guard !object.isBlank else { return replace(inside, with: text + lastLine) }
        var start = inside.lowerBound
        var next = tokens.endOfWhitespace(from: start)
        while tokens.byte(at: next) == UInt8(ascii: "/") {
            // Blanks at the end of a line comment belong to it.
            start = tokens.endOfComment(at: next)
            next = tokens.endOfWhitespace(from: start)
        }
        let hasLineBreak = tokens.lineBreaks(in: start..<inside.upperBound) > 0
        replace(start..<start, with: text + (hasLineBreak ? [] : lastLine))
    }
}

// MARK: - The members of an object

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
            guard tokens.byte(at: name) == UInt8(ascii: "\"") else {
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
            guard tokens.byte(at: next) == UInt8(ascii: "/") else { return (start ?? next, next) }
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
        let comma = tokens.byte(at: next) == UInt8(ascii: ",") ? next : nil
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
            if tokens.byte(at: next) == UInt8(ascii: "/") {
                isLineComment = tokens.isLineComment(at: next)
                end = tokens.endOfComment(at: next)
            } else if tokens.byte(at: next) == UInt8(ascii: "\"") {
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
            guard member.detachedComma == nil, tokens.isWhitespace(end..<member.region.lowerBound) else {
                return false
            }
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
            text.count <= 3
            && text.allSatisfy { [UInt8(ascii: ":"), UInt8(ascii: " "), UInt8(ascii: "\t")].contains($0) }
        return isPlain ? Array(text) : [UInt8(ascii: ":"), UInt8(ascii: " ")]
    }
}

/// Finds the ends of tokens in a settings file that ``JSONReader`` has read without an error.
///
/// Nothing is checked again. In other text the results have no meaning, but they are offsets within the text, and each
/// method ends.
struct JSONTokens {
    let bytes: [UInt8]

    /// Where the object of the file begins.
    var start: Int {
        endOfSpace(from: bytes.withUnsafeBufferPointer { $0.startsWithByteOrderMark } ? 3 : 0)
    }

    /// The byte at a nonnegative offset; 0 beyond the end.
    func byte(at offset: Int) -> UInt8 {
        offset < bytes.count ? bytes[offset] : 0
    }

    /// Whether a line break, LF, CR LF or CR, begins at an offset.
    func isLineBreak(at offset: Int) -> Bool {
        byte(at: offset) == UInt8(ascii: "\n") || byte(at: offset) == UInt8(ascii: "\r")
    }

    /// Whether a space or a tab is at an offset.
    func isBlank(at offset: Int) -> Bool {
        byte(at: offset) == UInt8(ascii: " ") || byte(at: offset) == UInt8(ascii: "\t")
    }

    func isWhitespace(at offset: Int) -> Bool { isBlank(at: offset) || isLineBreak(at: offset) }

    func isWhitespace(_ range: Range<Int>) -> Bool { range.allSatisfy { isWhitespace(at: $0) } }

    /// The number of line breaks in a range.
    func lineBreaks(in range: Range<Int>) -> Int {
        range.count { isLineBreak(at: $0) && !(byte(at: $0) == UInt8(ascii: "\n") && isCarriageReturn(at: $0 - 1)) }
    }

    /// Where the last line break in a range begins; `nil` if there is none.
    func lastLineBreak(in range: Range<Int>) -> Int? {
        guard let last = range.last(where: { isLineBreak(at: $0) }) else { return nil }
        let isPair = byte(at: last) == UInt8(ascii: "\n") && last > range.lowerBound && isCarriageReturn(at: last - 1)
        return isPair ? last - 1 : last
    }

    private func isCarriageReturn(at offset: Int) -> Bool {
        offset >= 0 && byte(at: offset) == UInt8(ascii: "\r")
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
        while byte(at: end) == UInt8(ascii: "/") { end = endOfWhitespace(from: endOfComment(at: end)) }
        return end
    }

    /// The end of a comment: of a line comment, where its line break begins.
    func endOfComment(at offset: Int) -> Int {
        var end = min(offset + 2, bytes.count)
        let isLineComment = isLineComment(at: offset)
        while end < bytes.count {
            if isLineComment {
                if isLineBreak(at: end) { break }
            } else if byte(at: end) == UInt8(ascii: "*"), byte(at: end + 1) == UInt8(ascii: "/") {
                return end + 2
            }
            end += 1
        }
        return end
    }

    func isLineComment(at offset: Int) -> Bool {
        byte(at: offset) == UInt8(ascii: "/") && byte(at: offset + 1) == UInt8(ascii: "/")
    }

    func endOfString(at offset: Int) -> Int {
        var end = offset + 1
        while end < bytes.count {
            switch bytes[end] {
            case UInt8(ascii: "\""): return end + 1
            case UInt8(ascii: "\\"): end += 2
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
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                end += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // Of the container of a number or a word.
                if depth == 0 { return end }
                depth -= 1
                end += 1
                if depth == 0 { return end }
            case UInt8(ascii: "\""):
                end = endOfString(at: end)
                if depth == 0 { return end }
            case UInt8(ascii: "/"):
                if depth == 0 { return end }
                end = endOfComment(at: end)
            case UInt8(ascii: ",") where depth == 0:
                return end
            default:
                if depth == 0, isWhitespace(at: end) { return end }
                end += 1
            }
        }
        return min(end, bytes.count)
    }
}
