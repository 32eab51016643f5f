// SPDX-License-Identifier: Apache-2.0

extension Set: StoredValueConvertible where Element: StoredValueConvertible {
    /// Reads a list.
    ///
    /// One element that cannot be read fails the whole, and is named by its index.
    ///
    /// An element that is listed twice is in the set once.
    public init(storedValue: StoredValue) throws {
        self = Set(try storedValue.elements(as: Element.self))
    }

    /// ``StoredValue/array(_:)``, in an order that is the same for equal sets.
    public func storedValue() throws -> StoredValue {
        .array(try storedElements().sorted { $0.isOrdered(before: $1) })
    }
}
