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
    /// A setting takes the members that the value lacks from lower sources, as for a `Codable` type without a bridge.
    public func value(from storedValue: StoredValue) throws -> Value {
        try StoredValueDecoder().decode(Value.self, from: storedValue)
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

// MARK: - Collections and optionals

/// Bridges for collections of a bridged type.
///
/// ```swift
/// @DefaultStorage(key: "starts", as: UnixSeconds().array) var starts: [Date] = []
/// @DefaultStorage(key: "byHost", as: UnixSeconds().array.dictionary) var byHost: [String: [Date]] = [:]
/// ```
extension StoredValueBridge {
    /// A bridge for arrays of the type.
    ///
    /// If an element cannot be read, reading the array throws an error that names the element's index.
    public var array: some StoredValueBridge<[Value]> {
        ArrayBridge(element: self)
    }

    /// A bridge for optionals of the type, which stores null for `nil`.
    public var optional: some StoredValueBridge<Value?> {
        OptionalBridge(wrapped: self)
    }

    /// A bridge for dictionaries whose keys are strings.
    ///
    /// If an entry cannot be read, reading the dictionary throws an error that names the entry's key.
    public var dictionary: some StoredValueBridge<[String: Value]> {
        dictionary(keyedBy: String.self)
    }

    /// Returns a bridge for dictionaries whose keys can be converted to strings.
    ///
    /// - Parameter keys: The type of the keys.
    /// - Returns: The bridge.
    public func dictionary<Key: StoredValueConvertible & Hashable>(
        keyedBy keys: Key.Type
    ) -> some StoredValueBridge<[Key: Value]> {
        DictionaryBridge<Key, Self>(value: self)
    }
}

extension StoredValueBridge where Value: Hashable {
    /// A bridge for sets of the type, which stores equal sets in the same order.
    ///
    /// If an element cannot be read, reading the set throws an error that names the element's index.
    public var set: some StoredValueBridge<Set<Value>> {
        SetBridge(element: self)
    }
}

private struct ArrayBridge<Element: StoredValueBridge>: StoredValueBridge {
    let element: Element

    func value(from storedValue: StoredValue) throws -> [Element.Value] {
        try storedValue.elements { try element.value(from: $0) }
    }

    func storedValue(from value: [Element.Value]) throws -> StoredValue {
        .array(try value.storedElements { try element.storedValue(from: $0) })
    }
}

private struct SetBridge<Element: StoredValueBridge>: StoredValueBridge where Element.Value: Hashable {
    let element: Element

    func value(from storedValue: StoredValue) throws -> Set<Element.Value> {
        Set(try storedValue.elements { try element.value(from: $0) })
    }

    func storedValue(from value: Set<Element.Value>) throws -> StoredValue {
        .array(try value.orderedElements { try element.storedValue(from: $0) })
    }
}

private struct DictionaryBridge<Key: StoredValueConvertible & Hashable, Entry: StoredValueBridge>: StoredValueBridge {
    let value: Entry

    func value(from storedValue: StoredValue) throws -> [Key: Entry.Value] {
        try Dictionary(storedValue) { try value.value(from: $0) }
    }

    func storedValue(from dictionary: [Key: Entry.Value]) throws -> StoredValue {
        try dictionary.storedEntries { try value.storedValue(from: $0) }
    }
}

private struct OptionalBridge<Wrapped: StoredValueBridge>: StoredValueBridge {
    let wrapped: Wrapped

    func value(from storedValue: StoredValue) throws -> Wrapped.Value? {
        try Wrapped.Value?(storedValue) { try wrapped.value(from: $0) }
    }

    func storedValue(from value: Wrapped.Value?) throws -> StoredValue {
        try value.storedValue { try wrapped.storedValue(from: $0) }
    }
}
