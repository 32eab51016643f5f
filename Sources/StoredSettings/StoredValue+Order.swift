// SPDX-License-Identifier: Apache-2.0

extension StoredValue {
    /// Whether this value comes before another in an order that is total and agrees with `==`.
    ///
    /// By kind, then by contents; text by its bytes. The order means nothing to users, it only has to be always the same.
    func isOrdered(before other: StoredValue) -> Bool {
        compared(to: other) < 0
    }

    /// Below zero, zero or above zero, as this value comes before the other, is the same, or comes after it.
    private func compared(to other: StoredValue) -> Int {
        switch (self, other) {
        case (.bool(let left), .bool(let right)): Self.compare(left ? 1 : 0, right ? 1 : 0)
        case (.integer(let left), .integer(let right)): Self.compare(left, right)
        case (.double(let left), .double(let right)): Self.compare(left.storedBits.orderKey, right.storedBits.orderKey)
        case (.string(let left), .string(let right)): Self.compare(left.utf8, right.utf8)
        case (.date(let left), .date(let right)): Self.compare(left.storedBits.orderKey, right.storedBits.orderKey)
        case (.data(let left), .data(let right)): Self.compare(left, right)
        case (.array(let left), .array(let right)): Self.compare(left, right)
        case (.dictionary(let left), .dictionary(let right)): Self.compare(left, right)
        default: Self.compare(kind.rank, other.kind.rank)
        }
    }

    private static func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left < right ? -1 : left == right ? 0 : 1
    }

    private static func compare(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Int {
        left.lexicographicallyPrecedes(right) ? -1 : right.lexicographicallyPrecedes(left) ? 1 : 0
    }

    private static func compare(_ left: [StoredValue], _ right: [StoredValue]) -> Int {
        for (left, right) in zip(left, right) {
            let order = left.compared(to: right)
            if order != 0 { return order }
        }
        return compare(left.count, right.count)
    }

    private static func compare(_ left: [String: StoredValue], _ right: [String: StoredValue]) -> Int {
        let left = left.sorted { compare($0.key.utf8, $1.key.utf8) < 0 }
        let right = right.sorted { compare($0.key.utf8, $1.key.utf8) < 0 }
        for (left, right) in zip(left, right) {
            let order = compare(left.key.utf8, right.key.utf8)
            if order != 0 { return order }
            let contents = left.value.compared(to: right.value)
            if contents != 0 { return contents }
        }
        return compare(left.count, right.count)
    }
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
    /// The bits of a floating-point number as an integer that is ordered as the numbers are, -0.0 before 0.0.
    fileprivate var orderKey: Int64 {
        let bits = Int64(bitPattern: self)
        return bits < 0 ? bits ^ Int64.max : bits
    }
}
