// SPDX-License-Identifier: Apache-2.0

extension Array: StoredValueConvertible where Element: StoredValueConvertible {
    /// Reads a list.
    ///
    /// One element that cannot be read fails the whole, and is named by its index.
    public init(storedValue: StoredValue) throws {
        self = try storedValue.elements { try Element(storedValue: $0) }
    }

    /// ``StoredValue/array(_:)``.
    public func storedValue() throws -> StoredValue {
        .array(try storedElements { try $0.storedValue() })
    }
}

extension ContiguousArray: StoredValueConvertible where Element: StoredValueConvertible {
    /// Reads a list.
    ///
    /// One element that cannot be read fails the whole, and is named by its index.
    public init(storedValue: StoredValue) throws {
        self = ContiguousArray(try storedValue.elements { try Element(storedValue: $0) })
    }

    /// ``StoredValue/array(_:)``.
    public func storedValue() throws -> StoredValue {
        .array(try storedElements { try $0.storedValue() })
    }
}

extension StoredValue {
    /// The elements of a list, each of them or an error that names the one that cannot be read.
    func elements<Element>(_ convert: (StoredValue) throws -> Element) throws -> [Element] {
        guard case .array(let values) = self else {
            throw SettingsError.typeMismatch(expected: "an array", found: self)
        }
        return try values.enumerated()
            .map { index, value in
                try SettingsError.at(.index(index)) { try convert(value) }
            }
    }
}

extension Sequence {
    /// The stored values of the elements, or an error that names the one that has none.
    func storedElements(_ convert: (Element) throws -> StoredValue) throws -> [StoredValue] {
        try enumerated()
            .map { index, element in
                try SettingsError.at(.index(index)) { try convert(element) }
            }
    }
}
