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

    /// What is done already, or what another container is still writing.
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

    /// Settles what this is, unless it is something else already.
    func become(_ form: Form) -> Bool {
        if self.form == .empty { self.form = form }
        return self.form == form
    }

    /// Makes this a single value, unless it is anything already.
    func become(_ value: StoredValue) -> Bool {
        guard form == .empty else { return false }
        form = .value
        self.value = value
        return true
    }

    /// What was written.
    ///
    /// A type that writes nothing at all is an empty structure.
    var storedValue: StoredValue {
        switch form {
        case .value: value
        case .array: .array(elements.map(\.storedValue))
        case .dictionary, .empty: .dictionary(entries.mapValues(\.storedValue))
        }
    }
}

/// What all encoders of one call share.
final class EncodingRun {
    let userInfo: [CodingUserInfoKey: Any]

    /// What went wrong where the protocols let nothing be thrown: a container that is asked for in vain.
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
