// SPDX-License-Identifier: Apache-2.0

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
        try Wrapped.Value?(storedValue) { inner in
            try SettingsError.forwarding(Wrapped.self, as: Self.self) { try wrapped.value(from: inner) }
        }
    }

    func storedValue(from value: Wrapped.Value?) throws -> StoredValue {
        try value.storedValue { try wrapped.storedValue(from: $0) }
    }
}
