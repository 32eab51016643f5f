// SPDX-License-Identifier: Apache-2.0

extension Set: StoredValueConvertible where Element: StoredValueConvertible {
    /// Reads a list.
    ///
    /// One element that cannot be read fails the whole, and is named by its index.
    ///
    /// An element that is listed twice is in the set once.
    public init(storedValue: StoredValue) throws {
        self = Set(try storedValue.elements { try Element(storedValue: $0) })
    }

    /// ``StoredValue/array(_:)``, in an order that is the same for equal sets.
    public func storedValue() throws -> StoredValue {
        .array(try orderedElements { try $0.storedValue() })
    }
}

extension Set {
    /// The stored values of the elements, in an order that is the same for equal sets.
    func orderedElements(_ convert: (Element) throws -> StoredValue) throws -> [StoredValue] {
        try storedElements(convert).sorted { $0.isOrdered(before: $1) }
    }
}
