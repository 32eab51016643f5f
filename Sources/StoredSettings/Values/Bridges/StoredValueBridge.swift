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

/// A bridge that stores the structure of a `Codable` type.
///
/// It serves a type that has raw values as well, which would be stored by those, and a type of somebody else's:
///
/// ```swift
/// @DefaultStorage(key: "version", as: CodableBridge()) var version = SemanticVersion(1, 0, 0)
/// ```
///
/// What is stored is what a type that declares ``StoredValueConvertible`` and is `Codable` stores by itself.
public struct CodableBridge<Value: Codable & Sendable>: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads the structure that a ``StoredValueEncoder`` gives.
    public func value(from storedValue: StoredValue) throws -> Value {
        try StoredValueDecoder().decode(Value.self, from: storedValue)
    }

    /// What a ``StoredValueEncoder`` gives.
    public func storedValue(from value: Value) throws -> StoredValue {
        try StoredValueEncoder().encode(value)
    }
}

/// A bridge that stores the raw value of a type.
///
/// It serves a type of somebody else's, and one with conversions of its own that should be stored by its raw value in
/// one place:
///
/// ```swift
/// @DefaultStorage(key: "priority", as: RawValueBridge()) var priority = TaskPriority.medium
/// ```
///
/// What is stored is what a type that declares ``StoredValueConvertible`` and has raw values stores by itself.
public struct RawValueBridge<Value: RawRepresentable & Sendable>: StoredValueBridge
where Value.RawValue: StoredValueConvertible {
    /// Creates the bridge.
    public init() {}

    /// Reads the raw value.
    public func value(from storedValue: StoredValue) throws -> Value {
        try .value(ofRaw: storedValue)
    }

    /// What the raw value gives.
    public func storedValue(from value: Value) throws -> StoredValue {
        try value.rawValue.storedValue()
    }
}
