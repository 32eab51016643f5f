// SPDX-License-Identifier: Apache-2.0

import Foundation
public import StoredSettings

/// Reads `Codable` values that Defaults, SwiftyUserDefaults, Foil and UserDefault stored as JSON.
///
/// New values are written in the format of this library.
///
/// ```swift
/// @DefaultStorage(key: "limits", suite: SettingsSuite(userDefaults: .standard), as: LegacyJSON()) var limits = Limits()
/// ```
///
/// Defaults 4 and 5 store JSON as a string; SwiftyUserDefaults 5, Foil 6 and UserDefault 1.3 store it as data. The
/// elements of an array, a set, a dictionary with any type of keys, or a `StoredCollection`, which need not be
/// `Codable` itself, may each be JSON. Dates are read with the default strategy of `JSONDecoder`. The bridge also reads values
/// that this library stored, so each value changes its format with its first set, and the old library cannot read it
/// anymore.
///
/// Raw values, numbers, plain strings and similar values have the same format in all of these libraries and need no
/// bridge.
public struct LegacyJSON<Value: StoredValueConvertible>: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads JSON or a value that this library stored.
    public func value(from storedValue: StoredValue) throws -> Value {
        let old = decoded(storedValue)
        if case .success(let value)? = old { return value }
        do {
            return try parts?.value(from: storedValue) ?? Value(storedValue: storedValue)
        } catch {
            // Neither format is valid. The error describes the old format, which is the likelier one.
            if case .failure(let error)? = old { throw error }
            guard case .data = storedValue else { throw error }
            throw SettingsError.invalidValue("the bytes are neither JSON nor a value that this library stored")
        }
    }

    /// Returns the stored value of the type itself, or a JSON string if it, or an element, would be mistaken for JSON.
    public func storedValue(from value: Value) throws -> StoredValue {
        let own = try value.storedValue()
        let new = try parts?.storedValue(from: value) ?? own
        guard case .success(let mistaken)? = decoded(new), try mistaken.storedValue() != own,
            let value = value as? any Encodable
        else { return new }
        let encoder = JSONEncoder()
        encoder.userInfo[.revealsSecrets] = true
        return .string(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// The bridge that reads each element by itself; `nil` for a type without elements.
    private var parts: (any StoredValueBridge<Value>)? {
        func bridge<Represented: StoredRepresentable>(_ type: Represented.Type) -> Any {
            LegacyRepresentation<Represented>()
        }
        let parts: Any? =
            (Value.self as? any LegacyElements.Type)?.bridge
            ?? (Value.self as? any StoredRepresentable.Type).map { bridge($0) }
        return parts as? any StoredValueBridge<Value>
    }

    /// Decodes a value as JSON.
    ///
    /// - Returns: `nil` if the value is not JSON.
    private func decoded(_ storedValue: StoredValue) -> Result<Value, SettingsError>? {
        guard let decodable = Value.self as? any Decodable.Type, holdsJSON(storedValue), let text = json(storedValue)
        else { return nil }
        do {
            return (try JSONDecoder().decode(decodable, from: Data(text.utf8)) as? Value).map { .success($0) }
        } catch let error as DecodingError {
            return isJSON(text) ? .failure(.invalidValue(error.fact)) : nil
        } catch {
            return .failure(.invalidValue("the JSON cannot be decoded: an error of type \(type(of: error)) was thrown"))
        }
    }

    /// Whether a string is valid JSON, before any of its values is decoded.
    ///
    /// The decoder's error does not show it on all platforms.
    private func isJSON(_ text: String) -> Bool {
        do {
            _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
            return true
        } catch {
            // Only the validity matters.
            return false
        }
    }

    /// Whether any part of a value may be JSON.
    private func holdsJSON(_ storedValue: StoredValue) -> Bool {
        switch storedValue {
        case .string, .data: true
        case .array(let values): values.contains(where: holdsJSON)
        case .dictionary(let values): values.values.contains(where: holdsJSON)
        default: false
        }
    }

    /// The value as JSON, including the parts that are JSON strings.
    private func json(_ storedValue: StoredValue) -> String? {
        switch storedValue {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .integer(let value): return "\(value)"
        case .double(let value): return value.isFinite ? "\(value)" : nil
        case .string(let text): return text
        case .data(let data): return String(data: data, encoding: .utf8)
        case .date(let date): return "\(date.timeIntervalSinceReferenceDate)"
        case .array(let values):
            let parts = values.compactMap(json)
            return parts.count == values.count ? "[\(parts.joined(separator: ","))]" : nil
        case .dictionary(let values):
            let parts = values.compactMap { name, value in json(value).map { "\(quoted(name)):\($0)" } }
            return parts.count == values.count ? "{\(parts.joined(separator: ","))}" : nil
        }
    }

    private func quoted(_ name: String) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(name), as: UTF8.self)
        } catch {
            // A string always has a JSON form; the fallback is never read as one.
            return name
        }
    }
}

/// A type whose elements older libraries stored one by one.
private protocol LegacyElements {
    /// A `StoredValueBridge` for the type.
    static var bridge: Any { get }
}

extension Array: LegacyElements where Element: StoredValueConvertible {
    fileprivate static var bridge: Any { LegacyJSON<Element>().array }
}

extension Set: LegacyElements where Element: StoredValueConvertible {
    fileprivate static var bridge: Any { LegacyJSON<Element>().set }
}

extension Dictionary: LegacyElements where Key: StoredValueConvertible, Value: StoredValueConvertible {
    fileprivate static var bridge: Any { LegacyJSON<Value>().dictionary(keyedBy: Key.self) }
}

extension Optional: LegacyElements where Wrapped: StoredValueConvertible {
    fileprivate static var bridge: Any { LegacyJSON<Wrapped>().optional }
}

/// Reads a custom collection, or another type that is stored as a value of another type.
private struct LegacyRepresentation<Value: StoredRepresentable>: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Value {
        try Value(stored: LegacyJSON<Value.Stored>().value(from: storedValue))
    }

    func storedValue(from value: Value) throws -> StoredValue {
        try LegacyJSON<Value.Stored>().storedValue(from: value.stored)
    }
}

extension DecodingError {
    private var context: Context? {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }

    /// A description of the failure and its place, without a value.
    fileprivate var fact: String {
        var path = context?.codingPath.map(\.stringValue) ?? []
        switch self {
        case .keyNotFound(let key, _):
            path.append(key.stringValue)
            return "the JSON has no value at \(path.joined(separator: "."))"
        default:
            let place = path.isEmpty ? "" : " at \(path.joined(separator: "."))"
            return "the JSON has an unexpected value\(place)"
        }
    }
}
