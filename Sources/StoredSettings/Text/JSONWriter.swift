// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Values-and-JSON.md, "The file and the records are JSON".

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A JSON serializer for the contents of `settings.json`.
///
/// Reading the output returns the same values, except dates, bytes, infinities and NaN, which JSON cannot represent:
/// they are read as strings. Equal values are written as equal bytes.
package struct JSONWriter {
    var text: [UInt8] = []
    /// The number of arrays and objects around the next value.
    private var depth = 0
    private let maximumDepth: Int
    /// How lines begin; `nil` for a value on one line.
    private let layout: Layout?

    /// How the lines of a value begin.
    struct Layout {
        /// The layout of a file that the library writes.
        static let own = Layout(lineBreak: [UInt8(ascii: "\n")], unit: [UInt8(ascii: " "), UInt8(ascii: " ")])

        /// The line break, and the indentation of the line in which the value begins.
        var lineBreak: [UInt8]
        /// The additional indentation of each level.
        var unit: [UInt8]
    }

    private init(_ layout: Layout? = nil, maximumDepth: Int = JSONReader.maximumDepth) {
        self.layout = layout
        self.maximumDepth = maximumDepth
    }

    /// Returns one value in the form of a file.
    ///
    /// The names are sorted, each entry and element has its own line, and the output ends with a newline.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the nesting is too deep to be read again.
    package static func prettyText(of value: StoredValue) throws -> [UInt8] {
        try text(of: value, .own, level: 0) + [UInt8(ascii: "\n")]
    }

    /// Returns one value on one line, without spaces or a newline.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the nesting is too deep to be read again.
    package static func compactText(of value: StoredValue) throws -> [UInt8] {
        try text(of: value, nil, level: 0)
    }

    /// Returns one value as a part of a file.
    ///
    /// It neither begins nor ends with a line break. The level is the number of objects around the value.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the nesting is too deep to be read again.
    static func text(of value: StoredValue, _ layout: Layout?, level: Int) throws -> [UInt8] {
        var writer = JSONWriter(layout, maximumDepth: JSONReader.maximumDepth - level)
        try writer.write(value)
        return writer.text
    }

    /// Returns a name in quotation marks.
    static func text(ofName name: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(name)
        return writer.text
    }

    /// Returns changes as an object on one line, in which each key has an array of its new value or an empty array.
    ///
    /// - Parameters:
    ///   - changes: The changes, one per key.
    ///   - room: The number of bytes to reserve before the output.
    ///   - maximumDepth: The maximum number of nested arrays and objects, including the outermost one.
    /// - Returns: `room` zeros, followed by the UTF-8 bytes.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the nesting is too deep to be read
    ///   again.
    package static func text(of changes: [StoreChange], after room: Int, maximumDepth: Int) throws -> [UInt8] {
        // Two levels for the object and the arrays that are written here.
        var writer = JSONWriter(maximumDepth: maximumDepth - 2)
        writer.text.reserveCapacity(room + 64 * changes.count)
        writer.text.append(contentsOf: repeatElement(0, count: room))
        for (index, change) in changes.enumerated() {
            writer.text.append(index == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
            try writer.write(change.key, change.new)
        }
        if changes.isEmpty { writer.text.append(UInt8(ascii: "{")) }
        writer.text.append(UInt8(ascii: "}"))
        return writer.text
    }
}

extension JSONWriter {
    /// Writes a key with an array of its new value, or an empty array.
    private mutating func write(_ key: String, _ value: StoredValue?) throws {
        write(key)
        text.append(UInt8(ascii: ":"))
        text.append(UInt8(ascii: "["))
        if let value { try write(value) }
        text.append(UInt8(ascii: "]"))
    }

    private mutating func write(_ value: StoredValue) throws {
        switch value {
        case .array(let elements):
            try write(elements, between: UInt8(ascii: "["), UInt8(ascii: "]")) { json, element in
                try json.write(element)
            }
        case .dictionary(let entries):
            try write(entries.keys.sortedByScalars(), between: UInt8(ascii: "{"), UInt8(ascii: "}")) {
                json,
                name in
                json.write(name)
                json.text.append(UInt8(ascii: ":"))
                if json.layout != nil { json.text.append(UInt8(ascii: " ")) }
                try json.write(entries[name, default: .null])
            }
        default:
            writeLeaf(value)
        }
    }

    private mutating func write<Content>(
        _ contents: [Content],
        between first: UInt8,
        _ last: UInt8,
        _ writeOne: (inout JSONWriter, Content) throws -> Void
    ) throws {
        guard depth < maximumDepth else {
            throw SettingsError.unstorable("the value is nested deeper than \(maximumDepth) levels")
        }
        text.append(first)
        depth += 1
        for (index, content) in contents.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            writeLineBreak()
            try writeOne(&self, content)
        }
        depth -= 1
        if !contents.isEmpty { writeLineBreak() }
        text.append(last)
    }

    private mutating func writeLineBreak() {
        guard let layout else { return }
        text.append(contentsOf: layout.lineBreak)
        for _ in 0..<depth { text.append(contentsOf: layout.unit) }
    }
}

extension Collection<String> {
    /// The strings in the order of their Unicode scalars.
    ///
    /// Sorting with `<` is much faster and mostly has the same result, so the slow comparison usually only verifies it.
    func sortedByScalars() -> [String] {
        let strings = sorted()
        for index in strings.indices.dropFirst() where strings[index].precedesInScalars(strings[index - 1]) {
            return strings.sorted { $0.precedesInScalars($1) }
        }
        return strings
    }
}

extension String {
    /// Whether this string precedes another one in the order of their Unicode scalars.
    ///
    /// The order of the UTF-8 bytes is the same. `<` has a different order, because it compares normalized forms.
    func precedesInScalars(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}

// MARK: - Stored values

extension StoredValue {
    /// This value as it is read back from JSON.
    ///
    /// JSON has no dates, bytes, infinities or NaN, so those become strings.
    package var storedAsJSON: StoredValue {
        switch self {
        case .null, .bool, .integer, .string: self
        case .double(let value): value.isFinite ? self : .string(value.storedText)
        case .date(let value): .string(DateText.text(for: value))
        case .data(let value): .string(value.base64EncodedString())
        case .array(let values): .array(values.map(\.storedAsJSON))
        case .dictionary(let values): .dictionary(values.mapValues(\.storedAsJSON))
        }
    }
}

extension JSONWriter {
    /// Writes a value that is not an array or a dictionary.
    mutating func writeLeaf(_ value: StoredValue) {
        switch value {
        case .null: text.append(contentsOf: "null".utf8)
        case .bool(let value): text.append(contentsOf: (value ? "true" : "false").utf8)
        // Most integers are small, and formatting an `Int64` is much faster.
        case .integer(let value):
            text.append(contentsOf: (Int64(exactly: value)?.description ?? value.description).utf8)
        // The shortest string that is read back as the same bits. It always has a point or an exponent.
        case .double(let value) where value.isFinite: text.append(contentsOf: value.description.utf8)
        case .string(let value): write(value)
        case .double, .date, .data: writeLeaf(value.storedAsJSON)
        case .array, .dictionary: break
        }
    }

    /// Writes a string in quotation marks, with only the escapes that JSON requires.
    mutating func write(_ string: String) {
        text.append(UInt8(ascii: "\""))
        var string = string
        // The pointer is used only inside the closure and within its bounds.
        string.withUTF8 { bytes in
            var written = 0
            for index in 0..<bytes.count {
                let byte = bytes[index]
                guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
                text.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[written..<index]))
                writeEscape(of: byte)
                written = index + 1
            }
            text.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[written...]))
        }
        text.append(UInt8(ascii: "\""))
    }

    private mutating func writeEscape(of byte: UInt8) {
        text.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): text.append(byte)
        case 0x08: text.append(UInt8(ascii: "b"))
        case UInt8(ascii: "\t"): text.append(UInt8(ascii: "t"))
        case UInt8(ascii: "\n"): text.append(UInt8(ascii: "n"))
        case 0x0C: text.append(UInt8(ascii: "f"))
        case UInt8(ascii: "\r"): text.append(UInt8(ascii: "r"))
        default:
            text.append(contentsOf: "u\(byte.digits(4, radix: 16).uppercased())".utf8)
        }
    }
}

extension StoredValue {
    /// The value as JSON on several lines.
    package var prettyJSON: String {
        get throws { String(decoding: try JSONWriter.prettyText(of: self), as: UTF8.self) }
    }
}
