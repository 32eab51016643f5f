// SPDX-License-Identifier: Apache-2.0

import Foundation
public import StoredSettings

/// Reads `Codable` values that Defaults, SwiftyUserDefaults, Foil and UserDefault have left in `UserDefaults`, which is JSON;
/// writes them as this library does.
///
/// ```swift
/// @DefaultStorage(key: "limits", suite: SettingsSuite(userDefaults: .standard), as: LegacyJSON()) var limits = Limits()
/// ```
///
/// Defaults 4 and 5 keep JSON as text, SwiftyUserDefaults 5, Foil 6 and UserDefault 1.3 as bytes; the elements of an array or a dictionary may be
/// JSON each. Dates are read as `JSONDecoder` reads them unless told otherwise. What this library has written is read as well,
/// so each value changes its form with its first set, and the old library reads it no more.
///
/// Values that are a raw value, a number, a plain string and the like have the same form in all of these libraries, and need no
/// bridge.
public struct LegacyJSON<Value: Codable & StoredValueConvertible>: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads JSON, or what this library has stored.
    public func value(from storedValue: StoredValue) throws -> Value {
        switch decoded(storedValue) {
        case .success(let value)?: return value
        case nil: return try new(storedValue)
        case .failure(let error)?:
            do {
                return try Value(storedValue: storedValue)
            } catch {
                // It is in no form: tell what is wrong with the old one, which is the likelier.
            }
            throw error
        }
    }

    /// What is no JSON, as this library has stored it.
    private func new(_ storedValue: StoredValue) throws -> Value {
        do {
            return try Value(storedValue: storedValue)
        } catch {
            guard case .data = storedValue else { throw error }
            throw SettingsError.invalidValue("the bytes are no JSON, nor what this library stores")
        }
    }

    /// What the type itself gives; JSON text where that would be mistaken for it.
    public func storedValue(from value: Value) throws -> StoredValue {
        let new = try value.storedValue()
        guard case .success(let mistaken)? = decoded(new), try mistaken.storedValue() != new else { return new }
        return .string(String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
    }

    /// The value as JSON has it.
    ///
    /// - Returns: `nil` for what is no JSON at all.
    private func decoded(_ storedValue: StoredValue) -> Result<Value, SettingsError>? {
        guard holdsJSON(storedValue), let text = json(storedValue) else { return nil }
        do {
            return .success(try JSONDecoder().decode(Value.self, from: Data(text.utf8)))
        } catch let error as DecodingError {
            return isJSON(text) ? .failure(.invalidValue(error.fact)) : nil
        } catch {
            return .failure(.invalidValue("the JSON cannot be decoded: an error of type \(type(of: error)) was thrown"))
        }
    }

    /// Whether a text is what it should be before any of its values is looked at: not everywhere does the decoder's error
    /// tell.
    private func isJSON(_ text: String) -> Bool {
        do {
            _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
            return true
        } catch {
            // The question is only whether.
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

    /// The value as JSON, with the parts that are JSON in their places.
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
            // A string always has a form in JSON; what follows is not read as one.
            return name
        }
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

    /// What is wrong and where, without a value.
    fileprivate var fact: String {
        var path = context?.codingPath.map(\.stringValue) ?? []
        switch self {
        case .keyNotFound(let key, _):
            path.append(key.stringValue)
            return "the JSON has nothing at \(path.joined(separator: "."))"
        default:
            let place = path.isEmpty ? "" : " at \(path.joined(separator: "."))"
            return "the JSON has something else than is expected\(place)"
        }
    }
}
