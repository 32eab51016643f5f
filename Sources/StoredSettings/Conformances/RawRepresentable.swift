// SPDX-License-Identifier: Apache-2.0

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
            throw SettingsError.invalidValue("found \(storedValue.kind.phrase) that is no \(Self.self)")
        }
        return value
    }
}
