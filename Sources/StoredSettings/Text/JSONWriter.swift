// SPDX-License-Identifier: Apache-2.0

/// Writes the text of `settings.json`.
///
/// Reading what was written gives the same values, save that JSON has no dates, bytes, infinities or NaN: those come
/// back as the strings that stand for them. Equal values are written as equal texts. It does not recurse, so how
/// deep a value is nested costs no stack.
package struct JSONWriter {
    var text: [UInt8] = []
    private let isPretty: Bool
    /// What is left to write of the containers that are open, outermost first.
    private var open: [Container] = []

    /// A container that is being written.
    private struct Container {
        let isObject: Bool
        /// What is left to write, in reverse, so that taking the next moves nothing.
        var rest: [(name: String, value: StoredValue)]
    }

    private let maximumDepth: Int

    private init(isPretty: Bool, maximumDepth: Int = JSONReader.maximumDepth) {
        self.isPretty = isPretty
        self.maximumDepth = maximumDepth
    }

    /// Gives the text of a file: one object, a line for each entry and element, names in order, a final newline.
    ///
    /// - Parameter entries: What the file is to hold.
    /// - Returns: UTF-8.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the nesting is too deep to be read again.
    package static func text(of entries: [String: StoredValue]) throws -> [UInt8] {
        var writer = JSONWriter(isPretty: true)
        try writer.write(.dictionary(entries))
        writer.text.append(JSONByte.lineFeed)
        return writer.text
    }

    /// Gives the text of one value on one line, without spaces and without a newline.
    ///
    /// - Parameter value: The value.
    /// - Returns: UTF-8.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the nesting is too deep to be read again.
    package static func compactText(of value: StoredValue) throws -> [UInt8] {
        var writer = JSONWriter(isPretty: false)
        try writer.write(value)
        return writer.text
    }

    /// Gives the text of some changes: an object on one line, in which a key has an array of its new value, or an empty one.
    ///
    /// - Parameters:
    ///   - changes: The changes, one for a key.
    ///   - room: How many bytes to leave before the text.
    ///   - maximumDepth: How many arrays and objects may stand one in another, the outermost included.
    /// - Returns: UTF-8, behind so many zeros.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the nesting is too deep to be read again.
    package static func text(of changes: [StoreChange], after room: Int, maximumDepth: Int) throws -> [UInt8] {
        // The object and the arrays, which are written here.
        var writer = JSONWriter(isPretty: false, maximumDepth: maximumDepth - 2)
        writer.text.reserveCapacity(room + 64 * changes.count)
        writer.text.append(contentsOf: repeatElement(0, count: room))
        for (index, change) in changes.enumerated() {
            writer.text.append(index == 0 ? JSONByte.leftBrace : JSONByte.comma)
            writer.write(change.key)
            writer.text.append(JSONByte.colon)
            writer.text.append(JSONByte.leftBracket)
            if let value = change.new { try writer.write(value) }
            writer.text.append(JSONByte.rightBracket)
        }
        if changes.isEmpty { writer.text.append(JSONByte.leftBrace) }
        writer.text.append(JSONByte.rightBrace)
        return writer.text
    }
}

extension JSONWriter {
    private mutating func write(_ value: StoredValue) throws {
        try begin(value)
        while let innermost = open.indices.last {
            let isObject = open[innermost].isObject
            guard let (name, value) = open[innermost].rest.popLast() else {
                open.removeLast()
                writeLineBreak()
                text.append(isObject ? JSONByte.rightBrace : JSONByte.rightBracket)
                continue
            }
            // A container's first element stands right behind the mark that opens it.
            if text.last != (isObject ? JSONByte.leftBrace : JSONByte.leftBracket) { text.append(JSONByte.comma) }
            writeLineBreak()
            if isObject {
                write(name)
                text.append(JSONByte.colon)
                if isPretty { text.append(JSONByte.space) }
            }
            try begin(value)
        }
    }

    /// Writes a value that contains no others, or the beginning of one that does.
    private mutating func begin(_ value: StoredValue) throws {
        switch value {
        case .array(let elements):
            try checkDepth()
            text.append(JSONByte.leftBracket)
            if elements.isEmpty {
                text.append(JSONByte.rightBracket)
            } else {
                open.append(Container(isObject: false, rest: elements.reversed().map { ("", $0) }))
            }
        case .dictionary(let entries):
            try checkDepth()
            text.append(JSONByte.leftBrace)
            if entries.isEmpty {
                text.append(JSONByte.rightBrace)
            } else {
                let rest = entries.keys.sortedByScalars().reversed()
                    .compactMap { name in entries[name].map { (name, $0) } }
                open.append(Container(isObject: true, rest: rest))
            }
        default:
            writeLeaf(value)
        }
    }

    private func checkDepth() throws {
        guard open.count < maximumDepth else {
            throw SettingsError.unstorable("the value is nested deeper than \(maximumDepth) levels")
        }
    }

    private mutating func writeLineBreak() {
        guard isPretty else { return }
        text.append(JSONByte.lineFeed)
        for _ in 0..<2 * open.count { text.append(JSONByte.space) }
    }
}

extension Collection<String> {
    /// The strings in the order of their Unicode scalars.
    ///
    /// `<` is much faster and mostly has that order, so the slow comparison only has to make sure.
    fileprivate func sortedByScalars() -> [String] {
        let strings = sorted()
        for index in strings.indices.dropFirst() where strings[index].precedesInScalars(strings[index - 1]) {
            return strings.sorted { $0.precedesInScalars($1) }
        }
        return strings
    }
}

extension String {
    /// Whether this string stands before another one in the order of their Unicode scalars, which UTF-8 has as well.
    ///
    /// `<` has another order: it compares as if both were normalised.
    fileprivate func precedesInScalars(_ other: String) -> Bool {
        // Both pointers are used inside the closures only, and within their own bounds.
        let precedes = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                let common = min(left.count, right.count)
                var index = 0
                while index < common, left[index] == right[index] { index += 1 }
                return index < common ? left[index] < right[index] : left.count < right.count
            }
        }
        return (precedes ?? nil) ?? utf8.lexicographicallyPrecedes(other.utf8)
    }
}
