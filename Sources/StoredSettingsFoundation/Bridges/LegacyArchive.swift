// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

/// Reads plain values that SwiftyUserDefaults stored as archives, such as arrays of URLs.
///
/// New values are written in the format of this library.
///
/// ```swift
/// @DefaultStorage(key: "recent", suite: SettingsSuite(userDefaults: .standard), as: LegacyArchive()) var recent: [URL] = []
/// ```
///
/// An archive may hold arrays, dictionaries, strings, numbers, dates, data and URLs. The bridge also reads values that
/// this library stored, so each value changes its format with its first set. For objects, use ``SecureArchive``.
public struct LegacyArchive<Value: StoredValueConvertible>: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads an archive or a value that this library stored.
    public func value(from storedValue: StoredValue) throws -> Value {
        guard case .data(let data) = storedValue, KeyedArchive.isArchive(data) else {
            return try Value(storedValue: storedValue)
        }
        return try Value(storedValue: KeyedArchive(data).plainValue())
    }

    /// Returns the stored value of the type itself.
    ///
    /// - Throws: `SettingsError` for data that is itself an archive and would be decoded as one.
    public func storedValue(from value: Value) throws -> StoredValue {
        let stored = try value.storedValue()
        if case .data(let data) = stored, KeyedArchive.isArchive(data) {
            throw SettingsError.unstorable("the bytes are an archive and would be read as its contents")
        }
        return stored
    }
}
