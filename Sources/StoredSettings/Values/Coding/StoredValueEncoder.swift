// SPDX-License-Identifier: Apache-2.0

/// Encodes `Encodable` types as structured stored values.
///
/// ```swift
/// struct Limits: Codable { var perSecond = 100; var burst = 20 }
/// let stored = try StoredValueEncoder().encode(Limits())    // ["perSecond": 100, "burst": 20]
/// ```
///
/// Numbers, dates, bytes, URLs, UUIDs, decimals and durations have the form of their ``StoredValueConvertible``
/// conformances at any depth. A property that is `nil` is null, so that it hides the one of a lower source. Sets, and
/// dictionaries whose keys are not strings, are written in an order that is the same for equal values.
public struct StoredValueEncoder: Sendable {
    /// Creates an encoder.
    public init() {}

    /// Encodes a value.
    ///
    /// The value may be a fragment: a number, an array or `nil`.
    ///
    /// - Parameter value: The value to encode.
    /// - Returns: The stored value.
    /// - Throws: ``SettingsError`` with the path to the part that cannot be encoded. Its ``SettingsError/underlying``
    ///   error is the `EncodingError`, or another error that a type threw.
    public func encode<Value: Encodable>(_ value: Value) throws -> StoredValue {
        let run = EncodingRun()
        do {
            let result = try run.storedValue(of: value, at: .root)
            if let failure = run.failure { throw failure }
            return result
        } catch {
            throw SettingsError.encoding(error)
        }
    }
}

// MARK: - The encoder of a type

/// The encoder that a type's `encode(to:)` receives, which is its own single-value container.
struct NodeEncoder: Encoder, SingleValueEncodingContainer {
    let node: EncodingNode
    let place: CodingPlace
    let run: EncodingRun

    var codingPath: [any CodingKey] { place.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedNodeEncoder(node: claimed(as: .dictionary), place: place, run: run))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedNodeEncoder(node: claimed(as: .array), place: place, run: run)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        self
    }

    /// Returns the node, or a node whose contents are discarded if the node already has another form.
    ///
    /// In the second case the failure is recorded, and the call that encodes the value throws it.
    private func claimed(as form: EncodingNode.Form) -> EncodingNode {
        if place.isTooDeep {
            run.fail(.tooDeep, at: place)
        } else if node.become(form) {
            return node
        } else {
            run.fail(.unstorable("a type requested containers of two kinds to encode itself"), at: place)
        }
        let discarded = EncodingNode()
        _ = discarded.become(form)
        return discarded
    }

    func encodeNil() throws {
        try write(.null, of: Never?.none as Any)
    }

    func encode(_ value: Int128) throws {
        try write(value.storedValue(), of: value)
    }

    func encode(_ value: UInt128) throws {
        try write(value.storedValue(), of: value)
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try write(run.storedValue(of: value, at: place), of: value)
    }

    private func write(_ storedValue: StoredValue, of value: Any) throws {
        guard node.become(storedValue) else {
            let error = SettingsError.unstorable("a type encoded a single value in addition to other data")
            throw EncodingError.stating(error, writing: value, at: place.codingPath)
        }
    }
}

struct KeyedNodeEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodingNode
    let place: CodingPlace
    let run: EncodingRun

    var codingPath: [any CodingKey] { place.codingPath }

    func encodeNil(forKey key: Key) {
        node.entries[key.stringValue] = .value(.null)
    }

    func encode(_ value: Int128, forKey key: Key) {
        node.entries[key.stringValue] = .value(value.storedValue())
    }

    func encode(_ value: UInt128, forKey key: Key) {
        node.entries[key.stringValue] = .value(value.storedValue())
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        node.entries[key.stringValue] = .value(try run.storedValue(of: value, at: place.inside(key)))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nested(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        nested(PlainCodingKey.superclass)
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        nested(key)
    }

    private func nested(_ key: any CodingKey) -> NodeEncoder {
        // A container that is requested again continues with its previous contents.
        if case .node(let nested) = node.entries[key.stringValue] {
            return NodeEncoder(node: nested, place: place.inside(key), run: run)
        }
        let nested = EncodingNode()
        node.entries[key.stringValue] = .node(nested)
        return NodeEncoder(node: nested, place: place.inside(key), run: run)
    }
}

// MARK: - Members that are nil

// The protocol has an implementation for each of these types, which omits `nil`.
extension KeyedNodeEncoder {
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        if Value.self is any SecretType.Type { SecretMark.noteSecret() }
        try put(value, key)
    }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try put(value, key) }

    private func put(_ value: (some Encodable)?, _ key: Key) throws {
        guard let value else { return encodeNil(forKey: key) }
        try encode(value, forKey: key)
    }
}

struct UnkeyedNodeEncoder: UnkeyedEncodingContainer {
    let node: EncodingNode
    let place: CodingPlace
    let run: EncodingRun

    var codingPath: [any CodingKey] { place.codingPath }
    var count: Int { node.elements.count }

    func encodeNil() {
        node.elements.append(.value(.null))
    }

    func encode(_ value: Int128) {
        node.elements.append(.value(value.storedValue()))
    }

    func encode(_ value: UInt128) {
        node.elements.append(.value(value.storedValue()))
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        node.elements.append(.value(try run.storedValue(of: value, at: place.inside(count))))
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        nested().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        nested().unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        nested()
    }

    private func nested() -> NodeEncoder {
        let nested = NodeEncoder(node: EncodingNode(), place: place.inside(count), run: run)
        node.elements.append(.node(nested.node))
        return nested
    }
}

/// One container under construction.
///
/// Several coding containers may write to one of these, at different times.
final class EncodingNode {
    enum Form {
        case empty
        case value
        case array
        case dictionary
    }

    /// A finished value, or a container that is still being written.
    enum Part {
        case value(StoredValue)
        case node(EncodingNode)

        fileprivate var storedValue: StoredValue {
            switch self {
            case .value(let value): value
            case .node(let node): node.storedValue
            }
        }
    }

    private var form = Form.empty
    private var value = StoredValue.null
    var elements: [Part] = []
    var entries: [String: Part] = [:]

    /// Sets the form, unless the node already has another one.
    ///
    /// - Returns: Whether the node has that form.
    func become(_ form: Form) -> Bool {
        if self.form == .empty { self.form = form }
        return self.form == form
    }

    /// Makes this node a single value, unless it already has a form.
    ///
    /// - Returns: Whether the value was stored.
    func become(_ value: StoredValue) -> Bool {
        guard form == .empty else { return false }
        form = .value
        self.value = value
        return true
    }

    /// The value that was written.
    ///
    /// A type that encodes nothing is an empty dictionary.
    var storedValue: StoredValue {
        switch form {
        case .value: value
        case .array: .array(elements.map(\.storedValue))
        case .dictionary, .empty: .dictionary(entries.mapValues(\.storedValue))
        }
    }
}

/// The state that all encoders of one call share.
final class EncodingRun {
    /// The first failure that could not be thrown, because requesting a container does not throw.
    private(set) var failure: EncodingError?

    func fail(_ error: SettingsError, at place: CodingPlace) {
        failure = failure ?? .stating(error, writing: (), at: place.codingPath)
    }

    func storedValue<Value: Encodable>(of value: Value, at place: CodingPlace) throws -> StoredValue {
        do {
            if let leaf = value as? any CodingLeaf { return try leaf.storedValue() }
            guard !place.isTooDeep else { throw SettingsError.tooDeep }
            let node = EncodingNode()
            try value.encode(to: NodeEncoder(node: node, place: place.entered, run: self))
            let storedValue = node.storedValue
            if case .array(let elements) = storedValue, let type = Value.self as? any StablyOrdered.Type {
                return .array(type.ordered(elements))
            }
            return storedValue
        } catch let error as SettingsError {
            throw EncodingError.stating(error, writing: value, at: place.codingPath)
        }
    }
}
