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
    private var unit: [UInt8] = [JSONByte.space, JSONByte.space]
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
        let first = text.firstIndex { $0 == JSONByte.lineFeed || $0 == JSONByte.carriageReturn }
        let isPair = first.map { text[$0...].starts(with: [JSONByte.carriageReturn, JSONByte.lineFeed]) } ?? false
        lineBreak =
            isPair ? [JSONByte.carriageReturn, JSONByte.lineFeed] : first.map { [text[$0]] } ?? [JSONByte.lineFeed]
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
        let hasMark = tokens.bytes.withUnsafeBufferPointer { $0.startsWithByteOrderMark }
        let start = tokens.endOfSpace(from: hasMark ? 3 : 0)
        work = [Work(start: start, level: 0, old: old, new: new)]
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
            if last.comma == nil { replace(last.value.upperBound..<last.value.upperBound, with: [JSONByte.comma]) }
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
        var colon = [JSONByte.colon, JSONByte.space]
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
        let separator = indentation.map { lineBreak + $0 } ?? (colon.last == JSONByte.colon ? [] : [JSONByte.space])
        let entries = try names.map { name in
            let value = work.new[name] ?? .null
            let text = try JSONWriter.text(of: value, indentation.map { layout($0) }, level: work.level + 1)
            return JSONWriter.text(ofName: name) + colon + text
        }
        let comma = [JSONByte.comma]
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
        while tokens.byte(at: next) == JSONByte.solidus {
            // Blanks at the end of a line comment belong to it.
            start = tokens.endOfComment(at: next)
            next = tokens.endOfWhitespace(from: start)
        }
        let hasLineBreak = tokens.lineBreaks(in: start..<inside.upperBound) > 0
        replace(start..<start, with: text + (hasLineBreak ? [] : lastLine))
    }
}
