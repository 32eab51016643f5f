// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A type that the coders convert with its ``StoredValueConvertible`` conformance instead of its `Codable` conformance.
///
/// The set of types is closed. It contains numbers, strings and Booleans, so that their conversions exist only once,
/// and the types that have a stored form of their own. A user's type inside another `Codable` type is coded with its
/// `Codable` conformance.
protocol CodingLeaf: StoredValueConvertible {}

extension Bool: CodingLeaf {}
extension String: CodingLeaf {}
extension Double: CodingLeaf {}
extension Float: CodingLeaf {}
extension Int: CodingLeaf {}
extension Int8: CodingLeaf {}
extension Int16: CodingLeaf {}
extension Int32: CodingLeaf {}
extension Int64: CodingLeaf {}
extension Int128: CodingLeaf {}
extension UInt: CodingLeaf {}
extension UInt8: CodingLeaf {}
extension UInt16: CodingLeaf {}
extension UInt32: CodingLeaf {}
extension UInt64: CodingLeaf {}
extension UInt128: CodingLeaf {}
extension Date: CodingLeaf {}
extension Data: CodingLeaf {}
extension URL: CodingLeaf {}
extension UUID: CodingLeaf {}
extension Decimal: CodingLeaf {}
extension Duration: CodingLeaf {}
extension StoredValue: CodingLeaf {}

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
