// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Overrides-and-migrations.md, "A text is what its type can read".

/// The possible interpretations of an override's string as a stored value.
///
/// The type of the setting is unknown here: the type uses the first interpretation that it can read. The first one is
/// always the string itself. So a type that is stored as a string receives the string unchanged, and only other types
/// receive a number, a Boolean, JSON or a list.
package enum OverrideText {
    /// Returns the interpretations of one string as a single value, most likely first.
    static func values(of text: String) -> [StoredValue] {
        [.string(text)] + [number(text), bool(text), json(text)].compactMap { $0 }
    }

    /// Returns the interpretations of several strings as one array, most likely first.
    ///
    /// - Throws: ``SettingsError`` when a string begins like JSON and is not valid JSON.
    package static func lists(of texts: [String]) throws -> [StoredValue] {
        let pieces = try texts.flatMap(Piece.pieces(of:))
        return readings.map { reading in .array(pieces.map { $0.value(reading) }) }
    }

    /// Returns the interpretations of several strings as one dictionary of `name=value` pairs, most likely first.
    ///
    /// - Returns: An empty array when the strings are not pairs.
    /// - Throws: ``SettingsError`` when a string begins like JSON and is not valid JSON, or contains a name twice.
    static func dictionaries(of texts: [String]) throws -> [StoredValue] {
        var all: [String: Piece] = [:]
        for text in texts {
            guard let pairs = try pairs(Piece.pieces(of: text)) else { return [] }
            all.merge(pairs) { _, later in later }
        }
        return readings.map { reading in .dictionary(all.mapValues { $0.value(reading) }) }
    }

    /// Returns the interpretation of one string for a setting of any stored value: JSON, or otherwise the string.
    ///
    /// A version such as 1.10 is a string: as a number, it would be stored as another text.
    ///
    /// - Throws: ``SettingsError`` when the string begins like JSON and is not valid JSON.
    package static func anything(_ text: String) throws -> StoredValue {
        try checkIsNotBrokenJSON(text)
        guard let json = json(text) else { return .string(text) }
        return [.string, .array, .dictionary].contains(json.kind) || json.text == text ? json : .string(text)
    }
}

extension String {
    /// Whether Swift has replaced bytes that are not UTF-8, in an argument or a variable.
    package var isRepaired: Bool { unicodeScalars.contains("\u{FFFD}") }
}

extension OverrideText {
    /// One element of a list.
    private enum Piece {
        /// A string that can be interpreted in several ways.
        case text(String)
        /// A value from JSON, which has only one interpretation.
        case value(StoredValue)

        static func pieces(of text: String) throws -> [Piece] {
            switch json(text) {
            case .array(let values): return values.map(Piece.value)
            case .dictionary(let values): return [.value(.dictionary(values))]
            case .string(let value): return [.value(.string(value))]
            default: break
            }
            try checkIsNotBrokenJSON(text)
            guard !text.isEmpty else { return [] }
            return text.split(separator: ",", omittingEmptySubsequences: false).map { .text(trimmed($0)) }
        }

        func value(_ reading: (String) -> StoredValue) -> StoredValue {
            switch self {
            case .text(let text): reading(text)
            case .value(let value): value
            }
        }
    }

    /// The ways to interpret all elements of a list.
    ///
    /// The last one accepts most elements, so its error identifies the wrong element best.
    private static let readings: [@Sendable (String) -> StoredValue] = [
        { .string($0) },
        { bool($0) ?? .string($0) },
        { number($0) ?? json($0) ?? .string($0) },
    ]

    /// Returns the elements as named values; `nil` unless each element is `name=value`.
    private static func pairs(_ pieces: [Piece]) throws -> [String: Piece]? {
        var pairs: [String: Piece] = [:]
        for piece in pieces {
            guard case .text(let text) = piece, let sign = text.signs.first else { return nil }
            let value = Piece.text(trimmed(text[text.utf8.index(after: sign)...]))
            let name = trimmed(text[..<sign])
            guard pairs.updateValue(value, forKey: name) == nil else {
                throw SettingsError.invalidValue("the name '\(name)' occurs twice")
            }
        }
        return pairs
    }

    /// Returns the number that a string is; `nil` when it is none, or is too large.
    package static func number(_ text: String) -> StoredValue? {
        let text = trimmed(text)
        // An integer has no negative zero.
        if let integer = Int128(text), integer != 0 || !text.hasPrefix("-") { return .integer(integer) }
        guard let number = Double(storedText: text), number.isFinite || Double(nonFiniteText: text) != nil else {
            return nil
        }
        return .double(number)
    }

    private static func bool(_ text: String) -> StoredValue? {
        switch trimmed(text).lowercased() {
        case "true", "yes", "on", "1", "t", "y": .bool(true)
        case "false", "no", "off", "0", "f", "n": .bool(false)
        default: nil
        }
    }

    /// Returns the value of a string of JSON; `nil` when it is not valid JSON.
    private static func json(_ text: String) -> StoredValue? {
        do {
            return try JSONReader.read(Array(text.utf8))
        } catch {
            // Most strings are not JSON, and have another interpretation.
            return nil
        }
    }

    /// Throws when a string begins like JSON and is not valid JSON, so that it is not split into a list at its commas.
    private static func checkIsNotBrokenJSON(_ text: String) throws {
        guard let first = text.first(where: { !$0.isWhitespace }), "[{\"".contains(first) else { return }
        do {
            _ = try JSONReader.read(Array(text.utf8))
        } catch {
            throw SettingsError.invalidValue(
                "the value begins like JSON, but is not valid JSON: \(error.problem) "
                    + "(line \(error.line), column \(error.column))"
            )
        }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
