// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Values-and-JSON.md, "An integer is an Int128".

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A value that a store can hold.
///
/// Every setting is converted to and from one of these cases. The set of cases is closed, so that a store, a bridge or
/// a migration can switch over a stored value exhaustively.
///
/// Two stored values are equal when they are stored as the same bytes. So `.double(0.0)` differs from `.double(-0.0)`,
/// and a NaN equals itself. Two spellings of `é` that Swift's `String` considers equal are different stored values:
/// replacing one by the other is a change, and is stored.
///
/// A store accepts values in which at most 127 arrays and dictionaries are nested. It rejects deeper values with
/// ``SettingsError/Code/unstorable``. Comparing, hashing and releasing a value recurses, so a value with thousands of
/// levels, which this library never creates, can exhaust the stack.
///
/// ```swift
/// let value: StoredValue = ["retries": 3, "hosts": ["a.example", "b.example"]]
/// let retries = try value["retries"]?.as(Int.self)
/// ```
public enum StoredValue: Sendable {
    /// A stored null: the stored value of `nil` where `nil` is a value in its own right. A missing key is not null.
    case null
    /// A Boolean.
    case bool(Bool)
    /// An integer.
    ///
    /// Every store holds all of `Int64` and `UInt64` exactly, and rejects a wider integer that it cannot hold.
    case integer(Int128)
    /// A floating-point number, infinities and NaN included.
    case double(Double)
    /// A string. Its Unicode scalars are preserved.
    case string(String)
    /// A point in time. Every bit of its seconds is preserved.
    case date(Date)
    /// Bytes.
    case data(Data)
    /// An ordered list of values.
    case array([StoredValue])
    /// Named values, without an order.
    case dictionary([String: StoredValue])
}

extension StoredValue {
    /// The maximum number of nested arrays and dictionaries in a value that is read, written or coded.
    ///
    /// It is more than settings need, and low enough that recursion over such a value is safe on the smallest thread
    /// stacks.
    package static let maximumDepth = 127

    /// Whether at most `levels` arrays and dictionaries are nested.
    func isNested(within levels: Int) -> Bool {
        switch self {
        case .array(let values): levels > 0 && values.allSatisfy { $0.isNested(within: levels - 1) }
        case .dictionary(let values): levels > 0 && values.values.allSatisfy { $0.isNested(within: levels - 1) }
        default: true
        }
    }

    /// In a settings file, the member of this name refers to the JSON schema of the file, for editors.
    package static let schemaKey = "$schema"

    /// In the last good copy of a settings file, the member of this name has the last good values of keys whose values are
    /// unusable.
    static let lastGoodKey = "$lastGood"

    /// The keys that no value can have.
    package static let reservedKeys: Set<String> = [schemaKey, lastGoodKey]

    /// Throws ``SettingsError`` if the key is reserved, or the value is nested too deeply to be stored.
    package func checkStorable(forKey key: String) throws {
        // Comparing the counts is faster.
        if [7, 9].contains(key.utf8.count), Self.reservedKeys.contains(key) { throw SettingsError.reservedKey(key) }
        guard !isNested(within: Self.maximumDepth) else { return }
        throw SettingsError(
            .unstorable,
            fact: "the value is nested deeper than \(Self.maximumDepth) levels",
            consequence: "the value is not stored",
            remedy: "use a value with fewer nested arrays and dictionaries",
            key: key
        )
    }

    /// The kind of a stored value, without its contents.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        // The order of the cases is part of the order in which sets are stored, so it must never change.

        /// ``StoredValue/null``
        case null
        /// ``StoredValue/bool(_:)``
        case bool
        /// ``StoredValue/integer(_:)``
        case integer
        /// ``StoredValue/double(_:)``
        case double
        /// ``StoredValue/string(_:)``
        case string
        /// ``StoredValue/date(_:)``
        case date
        /// ``StoredValue/data(_:)``
        case data
        /// ``StoredValue/array(_:)``
        case array
        /// ``StoredValue/dictionary(_:)``
        case dictionary
    }

    /// The kind of this value.
    package var kind: Kind {
        switch self {
        case .null: .null
        case .bool: .bool
        case .integer: .integer
        case .double: .double
        case .string: .string
        case .date: .date
        case .data: .data
        case .array: .array
        case .dictionary: .dictionary
        }
    }

    /// Converts this value to a type.
    ///
    /// - Parameter type: The type to convert to.
    /// - Returns: The converted value.
    /// - Throws: ``SettingsError`` when this is not a valid value of the type.
    public func `as`<Value: StoredValueConvertible>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(storedValue: self)
    }

    /// The value for a name; `nil` when this is not a dictionary or has no such name.
    public subscript(name: String) -> StoredValue? {
        guard case .dictionary(let values) = self else { return nil }
        return values[name]
    }

    /// The value at an index; `nil` when this is not an array or the index is out of bounds.
    public subscript(index: Int) -> StoredValue? {
        guard case .array(let values) = self, values.indices.contains(index) else { return nil }
        return values[index]
    }
}

extension StoredValue: ExpressibleByNilLiteral {
    /// Creates ``null``.
    public init(nilLiteral: ()) {
        self = .null
    }
}

extension StoredValue: ExpressibleByBooleanLiteral {
    /// Creates ``bool(_:)``.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }
}

extension StoredValue: ExpressibleByIntegerLiteral {
    /// Creates ``integer(_:)``.
    public init(integerLiteral value: Int128) {
        self = .integer(value)
    }
}

extension StoredValue: ExpressibleByFloatLiteral {
    /// Creates ``double(_:)``.
    public init(floatLiteral value: Double) {
        self = .double(value)
    }
}

extension StoredValue: ExpressibleByStringInterpolation {
    /// Creates ``string(_:)``.
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}

extension StoredValue: ExpressibleByArrayLiteral {
    /// Creates ``array(_:)``.
    public init(arrayLiteral elements: StoredValue...) {
        self = .array(elements)
    }
}

extension StoredValue: ExpressibleByDictionaryLiteral {
    /// Creates ``dictionary(_:)``.
    ///
    /// If a name occurs twice, the later entry is used.
    public init(dictionaryLiteral elements: (String, StoredValue)...) {
        self = .dictionary(Dictionary(elements) { _, later in later })
    }
}

extension StoredValue: StoredValueConvertible, CodingLeaf {
    /// Creates the stored value itself.
    public init(storedValue: StoredValue) {
        self = storedValue
    }

    /// Returns the value itself.
    public func storedValue() -> StoredValue {
        self
    }
}

extension StoredValue: CustomStringConvertible {
    /// The value in the form of a literal, for debugging.
    ///
    /// The description contains the stored data, so do not log it. It never traps, unlike Foundation's description of
    /// an infinitely distant date. Contents that are nested deeper than a store accepts are omitted.
    public var description: String {
        description(levels: Self.maximumDepth)
    }

    private func description(levels: Int) -> String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .double(let value): value.storedText
        case .string(let value): value.debugDescription
        case .date(let value): DateText.text(for: value)
        case .data(let value): "\(value.count) bytes"
        case .array where levels == 0: "[…]"
        case .dictionary where levels == 0: "{…}"
        case .array(let values):
            "[" + values.map { $0.description(levels: levels - 1) }.joined(separator: ", ") + "]"
        case .dictionary(let values):
            "{"
                + values.sorted { $0.key < $1.key }
                .map { "\($0.key.debugDescription): \($0.value.description(levels: levels - 1))" }
                .joined(separator: ", ") + "}"
        }
    }
}

// MARK: - Equality
// See Documentation/Decisions/Values-and-JSON.md, "Equality compares the stored bits".

extension StoredValue: Hashable {
    /// Returns whether two values are stored as the same bytes.
    public static func == (left: StoredValue, right: StoredValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left.storedBits == right.storedBits
        case (.string(let left), .string(let right)): left.hasSameScalars(as: right)
        case (.date(let left), .date(let right)): left.storedBits == right.storedBits
        case (.data(let left), .data(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.dictionary(let left), .dictionary(let right)):
            left.count == right.count
                && left.allSatisfy { name, value in
                    guard let index = right.index(forKey: name) else { return false }
                    return right[index].key.hasSameScalars(as: name) && right[index].value == value
                }
        default: false
        }
    }

    /// Hashes the kind and the contents.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        switch self {
        case .null: break
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.storedBits)
        case .string(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value.storedBits)
        case .data(let value): hasher.combine(value)
        case .array(let values): hasher.combine(values)
        case .dictionary(let values): hasher.combine(values)
        }
    }
}

extension Double {
    /// The bits that a store preserves.
    ///
    /// The payload of a NaN is not preserved, so all NaNs are equal.
    var storedBits: UInt64 {
        isNaN ? Double.nan.bitPattern : bitPattern
    }
}

extension Date {
    var storedBits: UInt64 { timeIntervalSinceReferenceDate.storedBits }
}

extension String {
    /// Whether the scalars are the same.
    ///
    /// `==` also holds for strings that are only canonically equivalent.
    func hasSameScalars(as other: String) -> Bool {
        self == other && utf8.elementsEqual(other.utf8)
    }
}

// MARK: - Order

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
        default:
            let kinds = Kind.allCases
            return compare(kinds.firstIndex(of: kind) ?? 0, kinds.firstIndex(of: other.kind) ?? 0)
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

extension UInt64 {
    /// The bits of a floating-point number as an integer with the same order as the numbers, -0.0 before 0.0.
    fileprivate var orderKey: Int64 {
        let bits = Int64(bitPattern: self)
        return bits < 0 ? bits ^ Int64.max : bits
    }
}
