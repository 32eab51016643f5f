// SPDX-License-Identifier: Apache-2.0

/// Reads the text of an override as the stored values that it may stand for.
///
/// What type it is for is not known here, and need not be: the type takes the first that it can read. A text is tried as
/// a string first; so what is read as text takes every text as it is, and only others have a number, a Boolean, JSON or
/// a list made of it.
struct OverrideText {
    /// One for each time that the override was given; where one value is wanted, the last is it.
    let texts: [String]

    /// What the texts may stand for, likeliest first.
    var candidates: [StoredValue] {
        guard let last = texts.last else { return [] }
        var candidates = [StoredValue.string(last)]
        candidates += [Self.number(last), Self.bool(last)].compactMap { $0 }
        // Lists that are given one after the other become one, as other lists do.
        if let json = Self.json(last), json.kind != .array || texts.count == 1 { candidates.append(json) }
        for texts in texts.count == 1 ? [texts] : [texts, [last]] {
            let pieces = texts.flatMap(Piece.pieces(of:))
            candidates += Self.readings.map { reading in .array(pieces.map { $0.value(reading) }) }
            guard let pairs = Self.pairs(pieces) else { continue }
            candidates += Self.readings.map { reading in .dictionary(pairs.mapValues { $0.value(reading) }) }
        }
        return candidates
    }
}

extension OverrideText {
    /// One element of a list.
    private enum Piece {
        case text(String)
        /// It was given as JSON, which says what it is.
        case value(StoredValue)

        static func pieces(of text: String) -> [Piece] {
            switch json(text) {
            case .array(let values): return values.map(Piece.value)
            case .dictionary(let values): return [.value(.dictionary(values))]
            default: break
            }
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
    private static func pairs(_ pieces: [Piece]) -> [String: Piece]? {
        var pairs: [String: Piece] = [:]
        for piece in pieces {
            guard case .text(let text) = piece, let sign = text.firstIndex(of: "=") else { return nil }
            pairs[trimmed(text[..<sign])] = .text(trimmed(text[text.index(after: sign)...]))
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
        case "true", "yes", "on", "1": .bool(true)
        case "false", "no", "off", "0": .bool(false)
        default: nil
        }
    }

    /// The text as JSON, if it is any.
    static func json(_ text: String) -> StoredValue? {
        do {
            return try JSONReader.read(Array(text.utf8))
        } catch {
            // Most texts are none, and are something else.
            return nil
        }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
