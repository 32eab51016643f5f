// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

/// Reads plain values that SwiftyUserDefaults has left in `UserDefaults` as archives, such as lists of URLs; writes them as this
/// library does.
///
/// ```swift
/// @DefaultStorage(key: "recent", suite: SettingsSuite(userDefaults: .standard), as: LegacyArchive()) var recent: [URL] = []
/// ```
///
/// An archive may hold arrays, dictionaries, strings, numbers, dates, bytes and URLs. What this library has written is read as
/// well, so each value changes its form with its first set. For objects of classes there is ``SecureArchive``.
public struct LegacyArchive<Value: StoredValueConvertible>: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads an archive, or what this library has stored.
    public func value(from storedValue: StoredValue) throws -> Value {
        guard case .data(let data) = storedValue, KeyedArchive.isArchive(data) else {
            return try Value(storedValue: storedValue)
        }
        return try Value(storedValue: KeyedArchive(data).plainValue())
    }

    /// What the type itself gives.
    ///
    /// - Throws: `SettingsError` for bytes that are themselves an archive, which would be mistaken for one.
    public func storedValue(from value: Value) throws -> StoredValue {
        let stored = try value.storedValue()
        if case .data(let data) = stored, KeyedArchive.isArchive(data) {
            throw SettingsError.unstorable("the bytes are an archive, and would be read as what is in it")
        }
        return stored
    }
}
