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
