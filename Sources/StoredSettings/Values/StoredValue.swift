// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a store can hold: the closed set of shapes that every setting is converted to and from.
///
/// The set is closed on purpose. A store, a bridge or a migration that switches over a stored value has handled
/// everything there is.
///
/// Two stored values are equal when they would be stored as the same bytes. So `.double(0.0)` differs from
/// `.double(-0.0)`, a NaN equals itself, and two spellings of `é` that Swift's `String` calls equal are different
/// stored values: assigning one over the other is a change, and it is kept.
///
/// A store takes values in which at most 127 arrays and dictionaries are nested in one another, and refuses deeper ones with
/// ``SettingsError/Code/unstorable``. Comparing, hashing and describing a value is safe at any depth. But Swift frees nested
/// arrays and dictionaries by recursion, about 150 bytes of stack a level: the last reference to a value of more than about
/// 3,000 levels must not be released on a thread with a stack of 512 KB, nor one of more than 50,000 on a stack of 8 MB.
///
/// ```swift
/// let value: StoredValue = ["retries": 3, "hosts": ["a.example", "b.example"]]
/// let retries = try value["retries"]?.as(Int.self)
/// ```
public enum StoredValue: Sendable {
    /// A stored nothing: what `nil` becomes where `nil` is a value of its own. Absence of a key is not this.
    case null
    /// A truth value.
    case bool(Bool)
    /// An integer. Every store holds all of `Int64` and `UInt64` exactly, and refuses a wider one that it cannot hold.
    case integer(Int128)
    /// A floating-point number, infinities and NaN included.
    case double(Double)
    /// A string, kept scalar by scalar.
    case string(String)
    /// A point in time, to the last bit of its seconds.
    case date(Date)
    /// Bytes.
    case data(Data)
    /// A list, in order.
    case array([StoredValue])
    /// Named values. The names are in no order.
    case dictionary([String: StoredValue])
}

extension StoredValue {
    /// How many arrays and dictionaries may be nested in one another in what is read, written or coded.
    ///
    /// More than settings need, and few enough that what recurses over such a value is safe on the smallest stacks that
    /// threads have.
    package static let maximumDepth = 127

    /// Whether no more than so many arrays and dictionaries are nested in one another.
    func isNested(within levels: Int) -> Bool {
        switch self {
        case .array(let values): levels > 0 && values.allSatisfy { $0.isNested(within: levels - 1) }
        case .dictionary(let values): levels > 0 && values.values.allSatisfy { $0.isNested(within: levels - 1) }
        default: true
        }
    }

    /// Throws ``SettingsError`` if the value is nested too deep to be stored under a key.
    func checkDepth(forKey key: String) throws {
        guard !isNested(within: Self.maximumDepth) else { return }
        var error = SettingsError.unstorable("the value is nested deeper than \(Self.maximumDepth) levels")
        error.key = key
        throw error
    }

    /// The name of a stored value's shape, without its contents.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
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

    /// The shape of this value.
    public var kind: Kind {
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

    /// This value read as a type of yours.
    ///
    /// - Parameter type: The type to read.
    /// - Returns: The converted value.
    /// - Throws: ``SettingsError`` when the value has not got the shape that the type needs.
    public func `as`<Value: StoredValueConvertible>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(storedValue: self)
    }

    /// The value under a name, when this is a dictionary that has one.
    public subscript(name: String) -> StoredValue? {
        guard case .dictionary(let values) = self else { return nil }
        return values[name]
    }

    /// The value at a position, when this is an array that reaches so far.
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
    /// Of two entries with one name the later stays.
    public init(dictionaryLiteral elements: (String, StoredValue)...) {
        self = .dictionary(Dictionary(elements) { _, later in later })
    }
}

extension StoredValue: StoredValueConvertible {
    /// The stored value itself, whatever it is.
    public init(storedValue: StoredValue) {
        self = storedValue
    }

    /// The value itself.
    public func storedValue() -> StoredValue {
        self
    }
}

extension StoredValue: CustomStringConvertible {
    /// The value as a literal would spell it, for debugging.
    ///
    /// It holds the contents, so it is not for logs. Any value has one, where Foundation's own description of a date
    /// that is infinitely far away traps. What is nested deeper than a store takes is left out.
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
        case .array(let values): "[" + values.map { $0.description(levels: levels - 1) }.joined(separator: ", ") + "]"
        case .dictionary(let values):
            "{"
                + values.sorted { $0.key < $1.key }
                .map { "\($0.key.debugDescription): \($0.value.description(levels: levels - 1))" }
                .joined(separator: ", ") + "}"
        }
    }
}
