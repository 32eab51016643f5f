// SPDX-License-Identifier: Apache-2.0

/// A type that is stored as a value of another storable type.
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
/// The initializer and the property are the only requirements. The other type may itself be a `StoredRepresentable`, in
/// chains of any length. These conversions take precedence if the type also has raw values or is `Codable`.
///
/// They must satisfy the law of ``StoredValueConvertible``: `try Value(stored: value.stored)` equals `value`.
public protocol StoredRepresentable: StoredValueConvertible {
    /// The type that is stored instead. The compiler infers it from the two conversions.
    associatedtype Stored: StoredValueConvertible

    /// Creates a value from the value that is stored instead of it.
    ///
    /// - Parameter stored: The value that was stored.
    /// - Throws: ``SettingsError/invalidValue(_:)``, or any other error, when `stored` is not a valid value of this
    ///   type.
    init(stored: Stored) throws

    /// The value that is stored instead of this value.
    ///
    /// Equal values must have equal stored values. The getter may throw ``SettingsError/unstorable(_:underlying:)``, or
    /// any other error, when there is no such value.
    var stored: Stored { get throws }
}

extension StoredRepresentable {
    /// Creates a value from the stored value of the other type.
    public init(storedValue: StoredValue) throws {
        self = try .value(in: storedValue)
    }

    /// Returns the stored value of the other type.
    public func storedValue() throws -> StoredValue {
        try stored.storedValue()
    }

    fileprivate static func value(in storedValue: StoredValue) throws -> Self {
        let stored = try SettingsError.forwarding(Stored.self, as: Self.self) { try Stored(storedValue: storedValue) }
        return try Self(stored: stored)
    }
}

// These extensions repeat the one above for types that could also be stored in another way. Without them, the compiler
// reports an ambiguity.

extension StoredRepresentable where Self: Codable {
    /// Creates a value from the stored value of the other type, ignoring the `Codable` conformance.
    public init(storedValue: StoredValue) throws {
        self = try .value(in: storedValue)
    }

    /// Returns the stored value of the other type, ignoring the `Codable` conformance.
    public func storedValue() throws -> StoredValue {
        try stored.storedValue()
    }
}

extension StoredRepresentable where Self: RawRepresentable, RawValue: StoredValueConvertible {
    /// Creates a value from the stored value of the other type, ignoring the raw value.
    public init(storedValue: StoredValue) throws {
        self = try .value(in: storedValue)
    }

    /// Returns the stored value of the other type, ignoring the raw value.
    public func storedValue() throws -> StoredValue {
        try stored.storedValue()
    }
}

extension StoredRepresentable where Self: RawRepresentable & Codable, RawValue: StoredValueConvertible {
    /// Creates a value from the stored value of the other type, ignoring the raw value and the `Codable` conformance.
    public init(storedValue: StoredValue) throws {
        self = try .value(in: storedValue)
    }

    /// Returns the stored value of the other type, ignoring the raw value and the `Codable` conformance.
    public func storedValue() throws -> StoredValue {
        try stored.storedValue()
    }
}
