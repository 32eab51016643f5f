// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A setting of any storable type, which can be read and set as text.
public protocol TextualSetting<Value>: Sendable {
    associatedtype Value: StoredValueConvertible

    var key: String { get }
    var suite: SettingsSuite { get }
    var value: Value { get }
    var isSet: Bool { get }
    func changes() -> Setting<Value>.Changes

    func set(_ value: Value) throws
}

extension Setting: TextualSetting where Value: StoredValueConvertible {}

extension TextualSetting {
    /// The value as text: JSON, with plain strings and dates.
    public var text: String { text(for: value) }

    /// Stores the value that a text represents: JSON, or any other text as a string.
    ///
    /// - Throws: `SettingsError` if the setting rejects the value, or the value cannot be stored.
    public func set(text: String) throws {
        do {
            try set(Value(storedValue: StoredValue(text: text)))
        } catch var error as SettingsError {
            error.key = key
            throw error
        }
    }

    /// Returns any value of the setting as text.
    public func text(for value: Value) -> String {
        do {
            switch try value.storedValue() {
            case .string(let text): return text
            case .date(let date): return date.formatted(.iso8601)
            case let stored:
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                return String(decoding: try encoder.encode(stored), as: UTF8.self)
            }
        } catch {
            return "(cannot be shown: \(error))"
        }
    }
}

extension StoredValue {
    /// Parses a text: JSON, or any other text as a string.
    fileprivate init(text: String) {
        do {
            self = try JSONDecoder().decode(StoredValue.self, from: Data(text.utf8))
        } catch {
            self = .string(text)
        }
    }
}
