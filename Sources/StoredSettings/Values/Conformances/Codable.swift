// SPDX-License-Identifier: Apache-2.0

// These conversions are disfavored, so that those of ``StoredRepresentable`` take precedence. Without the attribute, the compiler
// reports an ambiguity for a type that has both.

extension StoredValueConvertible where Self: Codable {
    /// Decodes a value with a ``StoredValueDecoder``.
    ///
    /// A setting takes the members that the stored value lacks from lower sources, and at last from its default.
    @_disfavoredOverload
    public init(storedValue: StoredValue) throws {
        self = try StoredValueDecoder().decode(Self.self, from: storedValue)
    }

    /// Encodes the value with a ``StoredValueEncoder``, as a structure and not as a string of JSON.
    @_disfavoredOverload
    public func storedValue() throws -> StoredValue {
        try StoredValueEncoder().encode(self)
    }
}

extension StoredValueConvertible where Self: RawRepresentable, RawValue: StoredValueConvertible {
    /// Creates a value from its stored raw value.
    @_disfavoredOverload
    public init(storedValue: StoredValue) throws {
        self = try .value(ofRaw: storedValue)
    }

    /// Returns the stored value of the raw value.
    @_disfavoredOverload
    public func storedValue() throws -> StoredValue {
        try rawValue.storedValue()
    }
}

extension StoredValueConvertible where Self: RawRepresentable & Codable, RawValue: StoredValueConvertible {
    /// Creates a value from its stored raw value.
    ///
    /// A type that has raw values and is `Codable` is stored as its raw value.
    @_disfavoredOverload
    public init(storedValue: StoredValue) throws {
        self = try .value(ofRaw: storedValue)
    }

    /// Returns the stored value of the raw value.
    ///
    /// A type that has raw values and is `Codable` is stored as its raw value.
    @_disfavoredOverload
    public func storedValue() throws -> StoredValue {
        try rawValue.storedValue()
    }
}

extension RawRepresentable where RawValue: StoredValueConvertible {
    static func value(ofRaw storedValue: StoredValue) throws -> Self {
        guard let value = Self(rawValue: try RawValue(storedValue: storedValue)) else {
            var error = SettingsError.invalidValue("found \(storedValue.phrase) that is not a valid \(Self.self)")
            if let choices = Choices.texts(of: Self.self), choices.count <= 10 {
                error.remedy = "use one of \(choices.joined(separator: ", "))"
            }
            throw error
        }
        return value
    }
}

extension Optional: StoredValueConvertible where Wrapped: StoredValueConvertible {
    /// Reads ``StoredValue/null`` as `nil`, and any other value as the wrapped type.
    public init(storedValue: StoredValue) throws {
        try self.init(storedValue) { try Wrapped(storedValue: $0) }
    }

    /// Returns ``StoredValue/null`` for `nil`, and otherwise the stored value of the wrapped value.
    ///
    /// If the stored value of the wrapped value is itself null, as in an `Int??`, it is wrapped in an array to
    /// distinguish the two.
    public func storedValue() throws -> StoredValue {
        try storedValue { try $0.storedValue() }
    }
}

extension Optional {
    /// Reads null as `nil`, and any other value with a conversion.
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
                // The array is not a marked null but a value of its own, such as one in an edited file.
            }
        }
        self = try convert(storedValue)
    }

    /// Returns null for `nil`, and otherwise the result of a conversion, marked if it could be mistaken for `nil`.
    func storedValue(_ convert: (Wrapped) throws -> StoredValue) throws -> StoredValue {
        guard let wrapped = self else { return .null }
        let inner = try convert(wrapped)
        // A null that is already inside arrays is marked too. Otherwise [nil] in an [Int?]? would be read as a marked
        // null.
        return inner.isNestedNull ? .array([inner]) : inner
    }
}

extension StoredValue {
    /// Whether this is null, or a null inside any number of arrays of one element.
    fileprivate var isNestedNull: Bool {
        var value = self
        while case .array(let elements) = value, elements.count == 1 {
            value = elements[0]
        }
        return value.kind == .null
    }
}
