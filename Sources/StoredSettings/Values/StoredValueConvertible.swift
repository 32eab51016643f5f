// SPDX-License-Identifier: Apache-2.0

/// A type whose values can be stored.
///
/// An enum with raw values, another `RawRepresentable` type or a `Codable` type needs only the conformance:
///
/// ```swift
/// enum LogLevel: String, StoredValueConvertible { case debug, info, warning, error }
/// struct Limits: Codable, StoredValueConvertible { var perSecond = 100 }
/// ```
///
/// A type that has raw values and is `Codable` is stored as its raw value. A setting takes the members that a structure lacks from
/// lower sources and its default: see <doc:StoringYourOwnTypes>.
///
/// For any other type, implement the two conversions. They must satisfy one law:
/// `try Value(storedValue: value.storedValue())` equals `value`.
///
/// ```swift
/// struct Percentage: StoredValueConvertible {
///     var fraction: Double
///
///     init(storedValue: StoredValue) throws {
///         fraction = try Double(storedValue: storedValue) / 100
///     }
///
///     func storedValue() throws -> StoredValue {
///         .double(fraction * 100)
///     }
/// }
/// ```
///
/// JSON can represent neither dates nor bytes nor NaN: a settings file holds strings instead. A conversion should
/// accept that string as well as the value itself, as the conversions of this library do. Conversions run on the thread
/// that reads or writes the setting, never under a lock of this library.
public protocol StoredValueConvertible: Sendable {
    /// Creates a value from a stored value.
    ///
    /// - Parameter storedValue: The value in the store.
    /// - Throws: ``SettingsError`` when the stored value is not valid for this type:
    ///   ``SettingsError/typeMismatch(expected:found:)`` for a wrong kind, ``SettingsError/invalidValue(_:)`` for the
    ///   right kind with invalid contents.
    init(storedValue: StoredValue) throws

    /// Returns the stored value for this value.
    ///
    /// - Returns: The value in a form that a store can hold. Equal values must have equal stored values.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when this value has no stored form.
    func storedValue() throws -> StoredValue
}
