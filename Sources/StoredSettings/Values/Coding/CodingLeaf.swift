// SPDX-License-Identifier: Apache-2.0

/// A type that the coders convert with its ``StoredValueConvertible`` conformance instead of its `Codable` conformance.
///
/// The set of types is closed. It contains numbers, strings and Booleans, so that their conversions exist only once,
/// and the types that have a stored form of their own. A user's type inside another `Codable` type is coded with its
/// `Codable` conformance.
protocol CodingLeaf: StoredValueConvertible {}

/// A collection that encodes its elements in an arbitrary order, which differs between processes.
protocol StablyOrdered {
    /// Returns the elements in an order that is the same for equal collections.
    static func ordered(_ elements: [StoredValue]) -> [StoredValue]
}

extension Set: StablyOrdered {
    static func ordered(_ elements: [StoredValue]) -> [StoredValue] {
        elements.sorted { $0.isOrdered(before: $1) }
    }
}

extension Dictionary: StablyOrdered {
    /// Sorts alternating keys and values, the encoded form of a dictionary whose keys are not strings.
    static func ordered(_ elements: [StoredValue]) -> [StoredValue] {
        guard elements.count.isMultiple(of: 2) else { return elements }
        return stride(from: 0, to: elements.count, by: 2)
            .sorted { elements[$0].isOrdered(before: elements[$1]) }
            .flatMap { [elements[$0], elements[$0 + 1]] }
    }
}
