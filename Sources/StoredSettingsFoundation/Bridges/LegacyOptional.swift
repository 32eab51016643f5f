// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

/// Reads optional values that UserDefault 1.3 stored as an array of one value, or as an empty array for `nil`.
///
/// New values are written in the format of this library.
///
/// ```swift
/// @DefaultStorage(key: "count", suite: SettingsSuite(userDefaults: .standard), as: LegacyOptional()) var count: Int? = 42
/// @DefaultStorage(key: "limits", suite: SettingsSuite(userDefaults: .standard), as: LegacyOptional(LegacyJSON()))
/// var limits: Limits? = nil
/// ```
///
/// The bridge also reads values that this library stored, so each value changes its format with its first set.
public struct LegacyOptional<Wrapped: Sendable>: StoredValueBridge {
    private let wrapped: any StoredValueBridge<Wrapped>

    /// Creates a bridge that wraps another bridge.
    ///
    /// - Parameter wrapped: The bridge for values other than `nil`.
    public init(_ wrapped: some StoredValueBridge<Wrapped>) {
        self.wrapped = wrapped
    }

    /// Creates a bridge for a type that can be stored.
    public init() where Wrapped: StoredValueConvertible {
        wrapped = OwnConversion()
    }

    /// Reads an array of at most one value, or a value that this library stored.
    public func value(from storedValue: StoredValue) throws -> Wrapped? {
        switch storedValue {
        case .null, .array([]): return nil
        case .array(let values) where values.count == 1:
            do {
                return try wrapped.value(from: values[0])
            } catch {
                // The array may be the value itself. If it is not, the error describes the old format.
                return try wrapped.value(from: storedValue)
            }
        default: return try wrapped.value(from: storedValue)
        }
    }

    /// Returns the value of the wrapped bridge, or null; in an array if it would be mistaken for the old format.
    public func storedValue(from value: Wrapped?) throws -> StoredValue {
        guard let value else { return .null }
        let new = try wrapped.storedValue(from: value)
        return isMistaken(new) ? .array([new]) : new
    }

    /// Whether a value would be read as the old format of another value.
    private func isMistaken(_ new: StoredValue) -> Bool {
        guard case .array(let values) = new, values.count < 2 else { return new == .null }
        guard let value = values.first else { return true }
        do {
            _ = try wrapped.value(from: value)
            return true
        } catch {
            // The value is not in the old format.
            return false
        }
    }
}

/// The conversions of the type itself.
private struct OwnConversion<Value: StoredValueConvertible>: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Value {
        try Value(storedValue: storedValue)
    }

    func storedValue(from value: Value) throws -> StoredValue {
        try value.storedValue()
    }
}
