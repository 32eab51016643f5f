// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

/// Reads optional values that UserDefault 1.3 has left in `UserDefaults`, which is an array of one value, or of none for
/// `nil`; writes them as this library does.
///
/// ```swift
/// @DefaultStorage(key: "count", suite: SettingsSuite(userDefaults: .standard), as: LegacyOptional()) var count: Int? = 42
/// @DefaultStorage(key: "limits", suite: SettingsSuite(userDefaults: .standard), as: LegacyOptional(LegacyJSON()))
/// var limits: Limits?
/// ```
///
/// What this library has written is read as well, so each value changes its form with its first set.
public struct LegacyOptional<Wrapped: Sendable>: StoredValueBridge {
    private let wrapped: any StoredValueBridge<Wrapped>

    /// Creates the bridge for values that another bridge reads.
    ///
    /// - Parameter wrapped: The conversions of a value that is not `nil`.
    public init(_ wrapped: some StoredValueBridge<Wrapped>) {
        self.wrapped = wrapped
    }

    /// Creates the bridge for a type that can be stored.
    public init() where Wrapped: StoredValueConvertible {
        wrapped = OwnConversion()
    }

    /// Reads an array of one value or none, or what this library has stored.
    public func value(from storedValue: StoredValue) throws -> Wrapped? {
        switch storedValue {
        case .null, .array([]): return nil
        case .array(let values) where values.count == 1:
            do {
                return try wrapped.value(from: values[0])
            } catch {
                // It may be the value itself, which is an array: if it is not, what is wrong with it is told.
                return try wrapped.value(from: storedValue)
            }
        default: return try wrapped.value(from: storedValue)
        }
    }

    /// What the other conversions give, or null; in an array of its own where that would be mistaken for the old form.
    public func storedValue(from value: Wrapped?) throws -> StoredValue {
        guard let value else { return .null }
        let new = try wrapped.storedValue(from: value)
        return isMistaken(new) ? .array([new]) : new
    }

    /// Whether the form of a value would be read as the old form of another.
    private func isMistaken(_ new: StoredValue) -> Bool {
        guard case .array(let values) = new, values.count < 2 else { return new == .null }
        guard let value = values.first else { return true }
        do {
            _ = try wrapped.value(from: value)
            return true
        } catch {
            // It is not the old form of anything.
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
