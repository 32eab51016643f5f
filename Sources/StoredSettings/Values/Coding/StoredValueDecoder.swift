// SPDX-License-Identifier: Apache-2.0

/// Decodes `Decodable` types from stored values.
///
/// ```swift
/// let limits = try StoredValueDecoder().decode(Limits.self, from: ["perSecond": 100, "burst": 20])
/// ```
///
/// The decoder reads the output of a ``StoredValueEncoder``, also after it was stored in a file, which holds strings
/// for dates, bytes and numbers such as NaN. An optional property is `nil` if it is missing or null.
public struct StoredValueDecoder: Sendable {
    /// Creates a decoder.
    public init() {}

    /// Decodes a value.
    ///
    /// The stored value may be a fragment: a number, an array or null.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - storedValue: The stored value to decode.
    /// - Returns: The decoded value.
    /// - Throws: ``SettingsError`` with the path to the invalid part. Its ``SettingsError/underlying`` error is the
    ///   `DecodingError`, or another error that a type threw. The underlying error may quote the value.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        from storedValue: StoredValue
    ) throws -> Value {
        do {
            let place = CodingPlace(DecodingTrace.ofDecoding(storedValue))
            return try NodeDecoder(storedValue: storedValue, place: place).value(type)
        } catch {
            throw SettingsError.decoding(error, of: storedValue, as: type)
        }
    }
}

// MARK: - The decoder of a type

/// The decoder that a type's `init(from:)` receives, which is its own single-value container.
struct NodeDecoder: Decoder, SingleValueDecodingContainer {
    let storedValue: StoredValue
    let place: CodingPlace

    var codingPath: [any CodingKey] { place.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard !place.isTooDeep else { throw failure(.tooDeep, reading: type) }
        guard case .dictionary(let entries) = storedValue else {
            throw failure(.typeMismatch(expected: "a dictionary", found: storedValue), reading: type)
        }
        place.trace?.noteStructure(at: place)
        return KeyedDecodingContainer(KeyedNodeDecoder(entries: entries, place: place))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard !place.isTooDeep else { throw failure(.tooDeep, reading: [StoredValue].self) }
        guard case .array(let elements) = storedValue else {
            throw failure(.typeMismatch(expected: "an array", found: storedValue), reading: [StoredValue].self)
        }
        return UnkeyedNodeDecoder(elements: elements, place: place)
    }

    private func failure(_ error: SettingsError, reading type: Any.Type) -> DecodingError {
        .stating(error, reading: type, found: storedValue, at: place)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        // A type that has several forms tries one after the other. An optional has the members of its value.
        place.isOptional ? self : NodeDecoder(storedValue: storedValue, place: place.untraced)
    }

    func decodeNil() -> Bool {
        storedValue.kind == .null
    }

    func decode(_ type: Int128.Type) throws -> Int128 {
        try value(type)
    }

    func decode(_ type: UInt128.Type) throws -> UInt128 {
        try value(type)
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try value(type)
    }

    /// Decodes a value of a type, with the type's own conversion if it is a ``CodingLeaf``.
    func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
        place.trace?.noteType(type, at: place)
        do {
            if let leaf = type as? any CodingLeaf.Type, let value = try leaf.init(storedValue: storedValue) as? Value {
                return value
            }
            guard !place.isTooDeep else { throw SettingsError.tooDeep }
            return try Value(from: NodeDecoder(storedValue: storedValue, place: place.entered(by: type)))
        } catch let error as SettingsError {
            throw failure(error, reading: type)
        }
    }
}

struct KeyedNodeDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let entries: [String: StoredValue]
    let place: CodingPlace

    var codingPath: [any CodingKey] { place.codingPath }

    var allKeys: [Key] {
        place.trace?.noteWhole(at: place)
        return entries.keys.compactMap(Key.init(stringValue:))
    }

    func contains(_ key: Key) -> Bool {
        place.trace?.noteMember(key, of: entries, at: place)
        return entries[key.stringValue] != nil
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        place.trace?.noteNullable(key, at: place)
        return try entry(key).kind == .null
    }

    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try nested(entry(key), key).value(type)
    }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try nested(entry(key), key).value(type)
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try nested(entry(key), key).value(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try nested(entry(key), key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nested(entry(key), key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        superDecoder(at: PlainCodingKey.superclass)
    }

    func superDecoder(forKey key: Key) -> any Decoder {
        superDecoder(at: key)
    }

    private func superDecoder(at key: any CodingKey) -> any Decoder {
        place.trace?.noteMember(key, of: entries, at: place)
        return nested(entries[key.stringValue] ?? .null, key)
    }

    private func entry(_ key: Key) throws -> StoredValue {
        place.trace?.noteMember(key, of: entries, at: place)
        guard let entry = entries[key.stringValue] else { throw DecodingError.missing(key, at: place) }
        return entry
    }

    private func nested(_ storedValue: StoredValue, _ key: any CodingKey) -> NodeDecoder {
        NodeDecoder(storedValue: storedValue, place: place.inside(key))
    }
}

// MARK: - Arrays

struct UnkeyedNodeDecoder: UnkeyedDecodingContainer {
    let elements: [StoredValue]
    let place: CodingPlace
    private(set) var currentIndex = 0

    var codingPath: [any CodingKey] { place.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard try next(Never?.self).kind == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        try advance(type) { try $0.value(type) }
    }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        try advance(type) { try $0.value(type) }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try advance(type) { try $0.value(type) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try advance(type) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try advance([StoredValue].self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try advance((any Decoder).self) { $0 }
    }

    private func next(_ type: Any.Type) throws -> StoredValue {
        guard !isAtEnd else {
            let error = SettingsError.invalidValue("expected one more element, found the end of the array")
            throw DecodingError.valueNotFound(type, .init(error, at: place.inside(currentIndex).codingPath))
        }
        return elements[currentIndex]
    }

    /// Advances to the next element only when this one was decoded, so that a type can try to decode it differently.
    private mutating func advance<Result>(
        _ type: Any.Type,
        _ read: (NodeDecoder) throws -> Result
    ) throws -> Result {
        let result = try read(NodeDecoder(storedValue: next(type), place: place.inside(currentIndex)))
        currentIndex += 1
        return result
    }
}
