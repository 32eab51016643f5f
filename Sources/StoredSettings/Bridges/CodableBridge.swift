// SPDX-License-Identifier: Apache-2.0

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
