// SPDX-License-Identifier: Apache-2.0

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
