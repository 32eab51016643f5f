// SPDX-License-Identifier: Apache-2.0

/// The conversions of a type to and from stored values, as an object of their own.
///
/// Use a bridge for a type that cannot conform to ``StoredValueConvertible``, or for one setting that should be stored
/// in another form than other values of its type.
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
/// A bridge must satisfy the law of ``StoredValueConvertible``. It is never called under a lock of this library.
public protocol StoredValueBridge<Value>: Sendable {
    /// The type that is read and written.
    associatedtype Value: Sendable

    /// Returns the value for a stored value.
    ///
    /// - Parameter storedValue: The value in the store.
    /// - Returns: The value.
    /// - Throws: ``SettingsError`` when the stored value is not valid for this type.
    func value(from storedValue: StoredValue) throws -> Value

    /// Returns the stored value for a value.
    ///
    /// - Parameter value: The value to store.
    /// - Returns: The value in a form that a store can hold.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when the value has no stored form.
    func storedValue(from value: Value) throws -> StoredValue
}

/// A bridge that stores the structure of a `Codable` type.
///
/// Use it for a type from another module, or for a type that also has raw values, which would be stored otherwise:
///
/// ```swift
/// @DefaultStorage(key: "version", as: CodableBridge()) var version = SemanticVersion(1, 0, 0)
/// ```
///
/// The stored form is the same as that of a `Codable` type that declares ``StoredValueConvertible``.
public struct CodableBridge<Value: Codable & Sendable>: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Decodes a value with a ``StoredValueDecoder``.
    ///
    /// A setting decodes the value over its default, as for a `Codable` type without a bridge.
    public func value(from storedValue: StoredValue) throws -> Value {
        try StoredValueDecoder().decode(Value.self, from: storedValue, for: Self.self)
    }

    /// Encodes a value with a ``StoredValueEncoder``.
    public func storedValue(from value: Value) throws -> StoredValue {
        try StoredValueEncoder().encode(value)
    }
}

/// A bridge that stores the raw value of a type.
///
/// Use it for a type from another module, or for one setting of a type that has its own conversions:
///
/// ```swift
/// @DefaultStorage(key: "priority", as: RawValueBridge()) var priority = TaskPriority.medium
/// ```
///
/// The stored form is the same as that of a type with raw values that declares ``StoredValueConvertible``.
public struct RawValueBridge<Value: RawRepresentable & Sendable>: StoredValueBridge
where Value.RawValue: StoredValueConvertible {
    /// Creates the bridge.
    public init() {}

    /// Creates a value from its stored raw value.
    public func value(from storedValue: StoredValue) throws -> Value {
        try .value(ofRaw: storedValue)
    }

    /// Returns the stored value of the raw value.
    public func storedValue(from value: Value) throws -> StoredValue {
        try value.rawValue.storedValue()
    }
}
