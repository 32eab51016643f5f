// SPDX-License-Identifier: Apache-2.0

/// The two conversions for a type that cannot conform to ``StoredValueConvertible``, or that should be stored otherwise
/// in one place.
///
/// ```swift
/// struct UnixSeconds: StoredValueBridge {
///     func value(from storedValue: StoredValue) throws -> Date {
///         Date(timeIntervalSince1970: try Double(storedValue: storedValue))
///     }
///
///     func storedValue(from value: Date) throws -> StoredValue {
///         .double(value.timeIntervalSince1970)
///     }
/// }
///
/// @DefaultStorage(key: "startedAt", as: UnixSeconds()) var startedAt = Date()
/// ```
///
/// A bridge keeps the law of ``StoredValueConvertible``, and like its conversions a bridge is never called under a lock.
public protocol StoredValueBridge<Value>: Sendable {
    /// The type that is read and written.
    associatedtype Value: Sendable

    /// Reads a value from what is stored.
    ///
    /// - Parameter storedValue: What the store holds.
    /// - Returns: The value.
    /// - Throws: ``SettingsError`` when it is not a value of this type.
    func value(from storedValue: StoredValue) throws -> Value

    /// Gives what is to be stored for a value.
    ///
    /// - Parameter value: The value to store.
    /// - Returns: The value in a form that a store can hold.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the value has no stored form.
    func storedValue(from value: Value) throws -> StoredValue
}
