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
        if let order = leafOrder(to: other) { return order }
        // An explicit stack instead of recursion, so that values of any depth can be compared on any thread.
        var open = [Pair(self, other)]
        while let innermost = open.indices.last {
            let step = open[innermost].next()
            switch step {
            case .order(let order) where order != 0: return order
            case .order: continue
            case .containers(let left, let right): open.append(Pair(left, right))
            case .end(let order) where order != 0: return order
            case .end: open.removeLast()
            }
        }
        return 0
    }

    /// Returns the order of two values; `nil` for two arrays or two dictionaries, whose contents must be compared.
    fileprivate func leafOrder(to other: StoredValue) -> Int? {
        switch (self, other) {
        case (.bool(let left), .bool(let right)): Self.compare(left ? 1 : 0, right ? 1 : 0)
        case (.integer(let left), .integer(let right)): Self.compare(left, right)
        case (.double(let left), .double(let right)): Self.compare(left.storedBits.orderKey, right.storedBits.orderKey)
        case (.string(let left), .string(let right)): Self.compare(left.utf8, right.utf8)
        case (.date(let left), .date(let right)): Self.compare(left.storedBits.orderKey, right.storedBits.orderKey)
        case (.data(let left), .data(let right)): Self.compare(left, right)
        case (.array, .array), (.dictionary, .dictionary): nil
        default: Self.compare(kind.rank, other.kind.rank)
        }
    }

    fileprivate static func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left < right ? -1 : left == right ? 0 : 1
    }

    fileprivate static func compare(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Int {
        left.lexicographicallyPrecedes(right) ? -1 : right.lexicographicallyPrecedes(left) ? 1 : 0
    }
}

extension StoredValue {
    /// Two arrays or two dictionaries that are being compared.
    private struct Pair {
        enum Step {
            /// The order of two names or two values.
            case order(Int)
            /// Two values whose contents decide the order.
            case containers(StoredValue, StoredValue)
            /// The order of two containers of which one is a prefix of the other.
            case end(Int)
        }

        private let left: Contents
        private let right: Contents
        private var index = 0

        init(_ left: StoredValue, _ right: StoredValue) {
            (self.left, self.right) = (Contents(left), Contents(right))
        }

        mutating func next() -> Step {
            guard index < min(left.values.count, right.values.count) else {
                return .end(StoredValue.compare(left.values.count, right.values.count))
            }
            defer { index += 1 }
            if let leftName = left.names?[index], let rightName = right.names?[index] {
                let order = StoredValue.compare(leftName.utf8, rightName.utf8)
                if order != 0 { return .order(order) }
            }
            let (leftValue, rightValue) = (left.values[index], right.values[index])
            return leftValue.leafOrder(to: rightValue).map { .order($0) } ?? .containers(leftValue, rightValue)
        }
    }

    /// The values in an array, or in a dictionary in the order of their names.
    private struct Contents {
        var names: [String]?
        var values: [StoredValue] = []

        init(_ value: StoredValue) {
            switch value {
            case .array(let elements): values = elements
            case .dictionary(let entries):
                let sorted = entries.sorted { StoredValue.compare($0.key.utf8, $1.key.utf8) < 0 }
                (names, values) = (sorted.map(\.key), sorted.map(\.value))
            default: break
            }
        }
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
    /// The bits of a floating-point number as an integer with the same order as the numbers, -0.0 before 0.0.
    fileprivate var orderKey: Int64 {
        let bits = Int64(bitPattern: self)
        return bits < 0 ? bits ^ Int64.max : bits
    }
}
