// SPDX-License-Identifier: Apache-2.0

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
    let userInfo: [CodingUserInfoKey: Any]

    /// The first failure that could not be thrown, because requesting a container does not throw.
    private(set) var failure: EncodingError?

    init(userInfo: [CodingUserInfoKey: any Sendable]) {
        self.userInfo = userInfo
    }

    func fail(_ fact: String, at place: CodingPlace) {
        fail(.unstorable(fact), at: place)
    }

    func fail(_ error: SettingsError, at place: CodingPlace) {
        failure = failure ?? .stating(error, writing: (), at: place)
    }

    func storedValue<Value: Encodable>(of value: Value, at place: CodingPlace) throws -> StoredValue {
        if let leaf = value as? any CodingLeaf {
            do {
                return try leaf.storedValue()
            } catch let error as SettingsError {
                throw EncodingError.stating(error, writing: value, at: place)
            }
        }
        guard !place.isTooDeep else { throw EncodingError.stating(.tooDeep, writing: value, at: place) }

        let node = EncodingNode()
        try value.encode(to: NodeEncoder(node: node, place: place.entered, run: self))
        let storedValue = node.storedValue
        if case .array(let elements) = storedValue, let type = Value.self as? any StablyOrdered.Type {
            return .array(type.ordered(elements))
        }
        return storedValue
    }
}
