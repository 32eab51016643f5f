// SPDX-License-Identifier: Apache-2.0

extension StoredValueConvertible where Self: Codable {
    /// Reads the structure that a ``StoredValueEncoder`` gives.
    public init(storedValue: StoredValue) throws {
        self = try StoredValueDecoder().decode(Self.self, from: storedValue)
    }

    /// What a ``StoredValueEncoder`` gives: the structure itself, not a text of it.
    public func storedValue() throws -> StoredValue {
        try StoredValueEncoder().encode(self)
    }
}

extension StoredValueConvertible where Self: RawRepresentable, RawValue: StoredValueConvertible {
    /// Reads the raw value.
    public init(storedValue: StoredValue) throws {
        self = try .value(ofRaw: storedValue)
    }

    /// What the raw value gives.
    public func storedValue() throws -> StoredValue {
        try rawValue.storedValue()
    }
}

extension StoredValueConvertible where Self: RawRepresentable & Codable, RawValue: StoredValueConvertible {
    /// Reads the raw value.
    ///
    /// A type that is `Codable` as well is stored by its raw value.
    public init(storedValue: StoredValue) throws {
        self = try .value(ofRaw: storedValue)
    }

    /// What the raw value gives.
    ///
    /// A type that is `Codable` as well is stored by its raw value.
    public func storedValue() throws -> StoredValue {
        try rawValue.storedValue()
    }
}

extension RawRepresentable where RawValue: StoredValueConvertible {
    static func value(ofRaw storedValue: StoredValue) throws -> Self {
        guard let value = Self(rawValue: try RawValue(storedValue: storedValue)) else {
            var error = SettingsError.invalidValue("found \(storedValue.kind.phrase) that is no \(Self.self)")
            if let type = Self.self as? any (CaseIterable & RawRepresentable).Type, let cases = type.fewRawValues {
                error.remedy = "give one of \(cases.joined(separator: ", "))"
            }
            throw error
        }
        return value
    }
}

extension CaseIterable where Self: RawRepresentable {
    /// The raw values of all cases, if they are texts or integers and can be taken in at a glance.
    fileprivate static var fewRawValues: [String]? {
        let values = allCases.prefix(11)
            .compactMap { value -> String? in
                switch value.rawValue {
                case let text as String: text
                case let integer as any BinaryInteger: "\(integer)"
                default: nil
                }
            }
        return values.isEmpty || values.count > 10 ? nil : values
    }
}

extension Optional: StoredValueConvertible where Wrapped: StoredValueConvertible {
    /// Reads ``StoredValue/null`` as `nil`, and anything else as the wrapped type does.
    public init(storedValue: StoredValue) throws {
        try self.init(storedValue) { try Wrapped(storedValue: $0) }
    }

    /// ``StoredValue/null`` for `nil`, and otherwise what the wrapped value gives.
    ///
    /// Where the wrapped value gives null itself, as in an `Int??`, it is put into an array, so that the two stay apart.
    public func storedValue() throws -> StoredValue {
        try storedValue { try $0.storedValue() }
    }
}

extension Optional {
    /// Reads null as `nil`, and anything else with a conversion.
    init(_ storedValue: StoredValue, _ convert: (StoredValue) throws -> Wrapped) throws {
        if case .null = storedValue {
            self = nil
            return
        }
        if storedValue.isNestedNull, case .array(let elements) = storedValue, let inner = elements.first {
            do {
                self = try convert(inner)
                return
            } catch is SettingsError {
                // A list that merely looks like a nested nothing, written by hand: it is read as what it is.
            }
        }
        self = try convert(storedValue)
    }

    /// Null for `nil`, and otherwise what a conversion gives, told apart from it.
    func storedValue(_ convert: (Wrapped) throws -> StoredValue) throws -> StoredValue {
        guard let wrapped = self else { return .null }
        let inner = try convert(wrapped)
        // What already is a null in arrays gets one more, or [nil] in an [Int?]? would be read as the mark of a null.
        return inner.isNestedNull ? .array([inner]) : inner
    }
}

extension StoredValue {
    /// Whether this is null, or null in an array, or that in an array, and so on.
    fileprivate var isNestedNull: Bool {
        var value = self
        while case .array(let elements) = value, elements.count == 1 {
            value = elements[0]
        }
        return value.kind == .null
    }
}
