// SPDX-License-Identifier: Apache-2.0

/// A type that is stored as a value of another type that can be stored.
///
/// ```swift
/// struct Percentage: StoredRepresentable {
///     var fraction: Double
///
///     init(stored percent: Int) throws {
///         guard 0...100 ~= percent else { throw SettingsError.invalidValue("the percentage is outside 0...100") }
///         fraction = Double(percent) / 100
///     }
///
///     var stored: Int { Int((fraction * 100).rounded()) }
/// }
/// ```
///
/// That one initialiser and one property are all. The other type may be stored indirectly in turn, in chains of any
/// length. These conversions win where the type has raw values or is `Codable` as well.
///
/// They keep the law of ``StoredValueConvertible``: `try Value(stored: value.stored)` is `value` again.
public protocol StoredRepresentable: StoredValueConvertible {
    /// The type that is stored instead: the compiler finds it in the two conversions.
    associatedtype Stored: StoredValueConvertible

    /// Makes a value of what is stored instead of it.
    ///
    /// - Parameter stored: What was stored.
    /// - Throws: ``SettingsError/invalidValue(_:)``, or any other error, when it makes no value of this type.
    init(stored: Stored) throws

    /// What is stored instead of this value.
    ///
    /// Equal values give equal ones. It may throw ``SettingsError/unstorable(_:underlying:)``, or any other error, when
    /// there is none.
    var stored: Stored { get throws }
}

extension StoredRepresentable {
    /// Reads the value that is stored instead of one of this type.
    public init(storedValue: StoredValue) throws {
        self = try .value(in: storedValue)
    }

    /// What the value that is stored instead gives.
    public func storedValue() throws -> StoredValue {
        try stored.storedValue()
    }

    fileprivate static func value(in storedValue: StoredValue) throws -> Self {
        try Self(stored: Stored(storedValue: storedValue))
    }
}

// What follows says the same again, for types that could be stored in some other way: the compiler asks for it.

extension StoredRepresentable where Self: Codable {
    /// Reads the value that is stored instead, and not the coded structure.
    public init(storedValue: StoredValue) throws {
        self = try .value(in: storedValue)
    }

    /// What the value that is stored instead gives, and not the coded structure.
    public func storedValue() throws -> StoredValue {
        try stored.storedValue()
    }
}

extension StoredRepresentable where Self: RawRepresentable, RawValue: StoredValueConvertible {
    /// Reads the value that is stored instead, and not the raw value.
    public init(storedValue: StoredValue) throws {
        self = try .value(in: storedValue)
    }

    /// What the value that is stored instead gives, and not the raw value.
    public func storedValue() throws -> StoredValue {
        try stored.storedValue()
    }
}

extension StoredRepresentable where Self: RawRepresentable & Codable, RawValue: StoredValueConvertible {
    /// Reads the value that is stored instead, and neither the raw value nor the coded structure.
    public init(storedValue: StoredValue) throws {
        self = try .value(in: storedValue)
    }

    /// What the value that is stored instead gives, and neither the raw value nor the coded structure.
    public func storedValue() throws -> StoredValue {
        try stored.storedValue()
    }
}
