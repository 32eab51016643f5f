// SPDX-License-Identifier: Apache-2.0

extension StoredValue {
    /// Whether this value precedes another in a total order that agrees with `==`.
    ///
    /// The order is by kind, then by contents; strings are ordered by their UTF-8 bytes. It has no meaning for users,
    /// but it must never change.
    func isOrdered(before other: StoredValue) -> Bool {
        compared(to: other) < 0
    }

    /// Returns a negative number, zero or a positive number when this value precedes, equals or follows the other.
    private func compared(to other: StoredValue) -> Int {
        switch (self, other) {
        case (.bool(let left), .bool(let right)): return compare(left ? 1 : 0, right ? 1 : 0)
        case (.integer(let left), .integer(let right)): return compare(left, right)
        case (.double(let left), .double(let right)):
            return compare(left.storedBits.orderKey, right.storedBits.orderKey)
        case (.string(let left), .string(let right)): return compare(left.utf8, right.utf8)
        case (.date(let left), .date(let right)):
            return compare(left.storedBits.orderKey, right.storedBits.orderKey)
        case (.data(let left), .data(let right)): return compare(left, right)
        case (.array(let left), .array(let right)):
            for (left, right) in zip(left, right) {
                let order = left.compared(to: right)
                if order != 0 { return order }
            }
            return compare(left.count, right.count)
        case (.dictionary(let left), .dictionary(let right)):
            for (left, right) in zip(left.sortedEntries, right.sortedEntries) {
                let order = compare(left.key.utf8, right.key.utf8)
                if order != 0 { return order }
                let valueOrder = left.value.compared(to: right.value)
                if valueOrder != 0 { return valueOrder }
            }
            return compare(left.count, right.count)
        default: return compare(kind.rank, other.kind.rank)
        }
    }
}

private func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
    left < right ? -1 : left == right ? 0 : 1
}

private func compare(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Int {
    left.lexicographicallyPrecedes(right) ? -1 : right.lexicographicallyPrecedes(left) ? 1 : 0
}

extension [String: StoredValue] {
    fileprivate var sortedEntries: [Element] { sorted { $0.key.precedesInScalars($1.key) } }
}

extension StoredValue.Kind {
    fileprivate var rank: Int {
        switch self {
        case .null: 0
        case .bool: 1
        case .integer: 2
        case .double: 3
        case .string: 4
        case .date: 5
        case .data: 6
        case .array: 7
        case .dictionary: 8
        }
    }
}

extension UInt64 {
    /// The bits of a floating-point number as an integer with the same order as the numbers, -0.0 before 0.0.
    fileprivate var orderKey: Int64 {
        let bits = Int64(bitPattern: self)
        return bits < 0 ? bits ^ Int64.max : bits
    }
}
