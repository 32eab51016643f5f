// SPDX-License-Identifier: Apache-2.0

/// Reads the text of an override as the stored values that it may stand for.
///
/// What type it is for is not known here, and need not be: the type takes the first that it can read. A text is tried as
/// a string first; so what is read as text takes every text as it is, and only others have a number, a Boolean, JSON or
/// a list made of it.
enum OverrideText {
    /// What one text may stand for by itself, likeliest first.
    static func values(of text: String) -> [StoredValue] {
        [.string(text)] + [number(text), bool(text), json(text)].compactMap { $0 }
    }

    /// What some texts may stand for as one list, likeliest first.
    ///
    /// - Throws: ``SettingsError`` when a text begins like JSON and is not valid JSON.
    static func lists(of texts: [String]) throws -> [StoredValue] {
        let pieces = try texts.flatMap(Piece.pieces(of:))
        return readings.map { reading in .array(pieces.map { $0.value(reading) }) }
    }

    /// What some texts may stand for as one dictionary of `name=value` pairs, likeliest first; nothing if they are not pairs.
    ///
    /// - Throws: ``SettingsError`` when a text begins like JSON and is not valid JSON, or has one name twice.
    static func dictionaries(of texts: [String]) throws -> [StoredValue] {
        var all: [String: Piece] = [:]
        for text in texts {
            guard let pairs = try pairs(Piece.pieces(of: text)) else { return [] }
            all.merge(pairs) { _, later in later }
        }
        return readings.map { reading in .dictionary(all.mapValues { $0.value(reading) }) }
    }

    /// What one text stands for where any stored value is wanted: JSON, or else a string.
    ///
    /// - Throws: ``SettingsError`` when the text begins like JSON and is not valid JSON.
    static func anything(_ text: String) throws -> StoredValue {
        if let json = json(text) { return json }
        try checkIsNotBrokenJSON(text)
        return .string(text)
    }
}

extension OverrideText {
    /// One element of a list.
    private enum Piece {
        case text(String)
        /// It was given as JSON, which says what it is.
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

    /// The ways in which all elements of a list may be meant.
    ///
    /// The last understands most, so its error says best which element is wrong.
    private static let readings: [@Sendable (String) -> StoredValue] = [
        { .string($0) },
        { bool($0) ?? .string($0) },
        { number($0) ?? json($0) ?? .string($0) },
    ]

    /// The elements as named values, if each is `name=value`.
    private static func pairs(_ pieces: [Piece]) throws -> [String: Piece]? {
        var pairs: [String: Piece] = [:]
        for piece in pieces {
            guard case .text(let text) = piece, let sign = text.firstIndex(of: "=") else { return nil }
            let value = Piece.text(trimmed(text[text.index(after: sign)...]))
            guard pairs.updateValue(value, forKey: trimmed(text[..<sign])) == nil else {
                throw SettingsError.invalidValue("a name is given twice")
            }
        }
        return pairs
    }

    private static func number(_ text: String) -> StoredValue? {
        let text = trimmed(text)
        if let integer = Int128(text) { return .integer(integer) }
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

    /// The text as JSON, if it is any.
    private static func json(_ text: String) -> StoredValue? {
        do {
            return try JSONReader.read(Array(text.utf8))
        } catch {
            // Most texts are none, and are something else.
            return nil
        }
    }

    /// Throws for a text that can only be meant as JSON, and is not valid: a list must not be made of its fragments.
    private static func checkIsNotBrokenJSON(_ text: String) throws {
        guard let first = text.first(where: { !$0.isWhitespace }), "[{\"".contains(first) else { return }
        do {
            _ = try JSONReader.read(Array(text.utf8))
        } catch {
            throw SettingsError.invalidValue(
                "the text begins like JSON, but is not valid JSON: \(error.problem) "
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
