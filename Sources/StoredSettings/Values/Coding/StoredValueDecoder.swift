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
    private let userInfo: [CodingUserInfoKey: any Sendable]

    /// Creates a decoder.
    ///
    /// - Parameter userInfo: The `userInfo` of the decoders that are passed to the decoded types.
    public init(userInfo: [CodingUserInfoKey: any Sendable] = [:]) {
        self.userInfo = userInfo
    }

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
        let run = DecodingRun(userInfo: userInfo)
        do {
            return try run.value(type, from: storedValue, at: .root)
        } catch {
            throw SettingsError.decoding(error, of: storedValue, as: type)
        }
    }
}

// MARK: - The decoder of a type

/// The state that all decoders of one call share.
struct DecodingRun {
    let userInfo: [CodingUserInfoKey: any Sendable]

    func value<Value: Decodable>(
        _ type: Value.Type,
        from storedValue: StoredValue,
        at place: CodingPlace
    ) throws -> Value {
        do {
            if let leaf = type as? any CodingLeaf.Type, let value = try leaf.init(storedValue: storedValue) as? Value {
                return value
            }
            guard !place.isTooDeep else { throw SettingsError.tooDeep }
            return try Value(from: NodeDecoder(storedValue: storedValue, place: place.entered(by: type), run: self))
        } catch let error as SettingsError {
            throw DecodingError.stating(error, reading: type, found: storedValue, at: place)
        }
    }
}

/// The decoder that a type's `init(from:)` receives, which is its own single-value container.
struct NodeDecoder: Decoder, SingleValueDecodingContainer {
    let storedValue: StoredValue
    let place: CodingPlace
    let run: DecodingRun

    var codingPath: [any CodingKey] { place.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { run.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard !place.isTooDeep else { throw failure(.tooDeep, reading: type) }
        guard case .dictionary(let entries) = storedValue else {
            throw failure(.typeMismatch(expected: "a dictionary", found: storedValue), reading: type)
        }
        return KeyedDecodingContainer(KeyedNodeDecoder(entries: entries, place: place, run: run))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard !place.isTooDeep else { throw failure(.tooDeep, reading: [StoredValue].self) }
        guard case .array(let elements) = storedValue else {
            throw failure(.typeMismatch(expected: "an array", found: storedValue), reading: [StoredValue].self)
        }
        return UnkeyedNodeDecoder(elements: elements, place: place, run: run)
    }

    private func failure(_ error: SettingsError, reading type: Any.Type) -> DecodingError {
        .stating(error, reading: type, found: storedValue, at: place)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        self
    }

    func decodeNil() -> Bool {
        storedValue.kind == .null
    }

    func decode(_ type: Int128.Type) throws -> Int128 {
        try run.value(type, from: storedValue, at: place)
    }

    func decode(_ type: UInt128.Type) throws -> UInt128 {
        try run.value(type, from: storedValue, at: place)
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try run.value(type, from: storedValue, at: place)
    }
}

struct KeyedNodeDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let entries: [String: StoredValue]
    let place: CodingPlace
    let run: DecodingRun

    var codingPath: [any CodingKey] { place.codingPath }
    var allKeys: [Key] { entries.keys.compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool {
        entries[key.stringValue] != nil
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try entry(key).kind == .null
    }

    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try run.value(type, from: entry(key), at: place.inside(key))
    }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try run.value(type, from: entry(key), at: place.inside(key))
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try run.value(type, from: entry(key), at: place.inside(key))
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
        let key = PlainCodingKey.superclass
        return nested(entries[key.stringValue] ?? .null, key)
    }

    func superDecoder(forKey key: Key) -> any Decoder {
        nested(entries[key.stringValue] ?? .null, key)
    }

    private func entry(_ key: Key) throws -> StoredValue {
        guard let entry = entries[key.stringValue] else { throw DecodingError.missing(key, at: place) }
        return entry
    }

    private func nested(_ storedValue: StoredValue, _ key: any CodingKey) -> NodeDecoder {
        NodeDecoder(storedValue: storedValue, place: place.inside(key), run: run)
    }
}

// MARK: - Arrays

struct UnkeyedNodeDecoder: UnkeyedDecodingContainer {
    let elements: [StoredValue]
    let place: CodingPlace
    let run: DecodingRun
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
        try advance(type) { try $2.value(type, from: $0, at: $1) }
    }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        try advance(type) { try $2.value(type, from: $0, at: $1) }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try advance(type) { try $2.value(type, from: $0, at: $1) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try advance(type) { try NodeDecoder(storedValue: $0, place: $1, run: $2).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try advance([StoredValue].self) { try NodeDecoder(storedValue: $0, place: $1, run: $2).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try advance((any Decoder).self) { NodeDecoder(storedValue: $0, place: $1, run: $2) }
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
        _ read: (StoredValue, CodingPlace, DecodingRun) throws -> Result
    ) throws -> Result {
        let result = try read(try next(type), place.inside(currentIndex), run)
        currentIndex += 1
        return result
    }
}
