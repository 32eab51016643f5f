// SPDX-License-Identifier: Apache-2.0

/// The encoder that a type's `encode(to:)` receives, which is its own single-value container.
struct NodeEncoder: Encoder, SingleValueEncodingContainer {
    let node: EncodingNode
    let place: CodingPlace
    let run: EncodingRun

    var codingPath: [any CodingKey] { place.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { run.userInfo }

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
            run.fail("a type requested containers of two kinds to encode itself", at: place)
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
            throw EncodingError.stating(error, writing: value, at: place)
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
