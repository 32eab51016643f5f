// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The types that the coders convert as ``StoredValueConvertible`` says, and never take apart.
///
/// The list is closed: numbers, text and Booleans, so that there is one logic for them, and what a store has a form of its
/// own for. A user's type inside another `Codable` one is coded by its `Codable` conformance.
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

/// A collection that codes its elements in an order of its own making, which differs from one process to the next.
protocol StablyOrdered {
    /// The same elements in an order that is the same for equal collections.
    static func ordered(_ elements: [StoredValue]) -> [StoredValue]
}

extension Set: StablyOrdered {
    static func ordered(_ elements: [StoredValue]) -> [StoredValue] {
        elements.sorted { $0.isOrdered(before: $1) }
    }
}

extension Dictionary: StablyOrdered {
    /// Keys and values by turns, as the standard library codes a dictionary whose keys are no strings.
    static func ordered(_ elements: [StoredValue]) -> [StoredValue] {
        guard elements.count.isMultiple(of: 2) else { return elements }
        return stride(from: 0, to: elements.count, by: 2)
            .sorted { elements[$0].isOrdered(before: elements[$1]) }
            .flatMap { [elements[$0], elements[$0 + 1]] }
    }
}
