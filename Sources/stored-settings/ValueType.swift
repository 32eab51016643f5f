// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A new value has the type of the old one".

import StoredSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The type of a value, as a person names it.
enum ValueType: String, CaseIterable {
    case string, int, double, bool, date, data, array, object, json

    /// The type of a stored value; `nil` for null.
    ///
    /// Dates and data are stored as strings.
    init?(of value: StoredValue) {
        switch value.storedAsJSON.kind {
        case .null: return nil
        case .bool: self = .bool
        case .integer: self = .int
        case .double: self = .double
        case .string, .date, .data: self = .string
        case .array: self = .array
        case .dictionary: self = .object
        }
    }

    /// Reads a text as a value of this type.
    ///
    /// - Throws: ``SettingsError`` if the text is no such value. It does not contain the text.
    func value(ofText text: String) throws -> StoredValue {
        switch self {
        case .string: return .string(text)
        case .int:
            if let number = Int128(text) { return .integer(number) }
        case .double:
            if let number = OverrideText.number(text) { return .double(try number.as(Double.self)) }
        case .bool:
            switch text.lowercased() {
            case "true", "yes", "on", "1": return .bool(true)
            case "false", "no", "off", "0": return .bool(false)
            default: break
            }
        case .date: return .date(try StoredValue.string(text).as(Date.self))
        case .data: return .data(try StoredValue.string(text).as(Data.self))
        case .json: return try json(text)
        case .array:
            guard text.first(where: { !$0.isWhitespace }) == "[" else { return try list(text, of: nil) }
            let value = try json(text)
            if value.kind == .array { return value }
        case .object:
            let value = try json(text)
            if value.kind == .dictionary { return value }
        }
        throw SettingsError(
            .invalidValue,
            fact: "the text is no value of the type \(rawValue)",
            remedy: "use \(form), or choose another type with --type"
        )
    }

    /// Reads a text as a value of the type that another value has.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - stored: The other value. If it is `nil` or null, the text is interpreted by `OverrideText.anything`.
    /// - Returns: The value.
    /// - Throws: ``SettingsError`` if the text is no value of that type.
    static func value(ofText text: String, replacing stored: StoredValue?) throws -> StoredValue {
        guard let stored, let type = ValueType(of: stored) else { return try OverrideText.anything(text) }
        if case .array(let elements) = stored, text.first(where: { !$0.isWhitespace }) != "[" {
            return try type.list(text, of: elements.first?.kind)
        }
        do {
            return try type.value(ofText: text)
        } catch {
            var error = error as? SettingsError ?? SettingsError(.invalidValue, fact: "the text is no value")
            error.remedy = "use \(type.form) like the stored value, or add --type"
            throw error
        }
    }

    /// Reads texts with commas between them: as values of a kind, or else as numbers, Booleans or strings.
    private func list(_ text: String, of kind: StoredValue.Kind?) throws -> StoredValue {
        let readings = try OverrideText.lists(of: [text])
        func isUniform(_ list: StoredValue, _ kind: StoredValue.Kind) -> Bool {
            guard case .array(let elements) = list else { return false }
            return elements.allSatisfy { $0.kind == kind || kind == .double && $0.kind == .integer }
        }
        func texts(_ list: StoredValue) -> [String] {
            guard case .array(let elements) = list else { return [] }
            return elements.map(\.text)
        }
        for candidate in kind.map({ [$0] }) ?? [.integer, .double, .bool, .string] {
            // A guess must not change a text, such as 1.10 or 007. The first reading consists of the texts.
            let list = readings.first {
                isUniform($0, candidate) && (kind != nil || texts($0) == readings.first.map(texts))
            }
            if let list { return list }
        }
        throw SettingsError(
            .invalidValue,
            fact: "an element is not of the same type as those of the stored array",
            remedy: "use a JSON array"
        )
    }

    private func json(_ text: String) throws -> StoredValue {
        do {
            return try JSONReader.read(Array(text.utf8))
        } catch {
            throw SettingsError(
                .invalidValue,
                fact: "the text is not valid JSON: \(error.problem) (line \(error.line), column \(error.column))",
                remedy: "correct it"
            )
        }
    }

    /// What a text of this type is, for messages.
    private var form: String {
        switch self {
        case .string: "a text"
        case .int: "an integer"
        case .double: "a number"
        case .bool: "true or false"
        case .date: "a date such as 2026-11-21T13:00:00Z"
        case .data: "base64"
        case .array: "a JSON array, or elements with commas between them"
        case .object: "a JSON object"
        case .json: "JSON"
        }
    }
}
