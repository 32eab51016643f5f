// SPDX-License-Identifier: Apache-2.0

/// A type whose values can be stored.
///
/// Declaring the conformance is all that an enum with raw values, another `RawRepresentable` type or a `Codable` type
/// needs:
///
/// ```swift
/// enum LogLevel: String, StoredValueConvertible { case debug, info, warning, error }
/// struct Limits: Codable, StoredValueConvertible { var perSecond = 100 }
/// ```
///
/// A type that is both is stored by its raw value. For any other type, write the two conversions. They keep one law:
/// `try Value(storedValue: value.storedValue())` is `value` again.
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
/// JSON has neither dates nor bytes nor NaN, so a conversion accepts the text that a file holds in their place as well
/// as the value itself; the conversions of this library do. Conversions run on whichever thread reads or writes the
/// setting, never under a lock of this library.
public protocol StoredValueConvertible: Sendable {
    /// Reads a value from what is stored.
    ///
    /// - Parameter storedValue: What the store holds.
    /// - Throws: ``SettingsError`` when the stored value is not one of this type: ``SettingsError/typeMismatch(expected:found:)``
    ///   for a wrong kind, ``SettingsError/invalidValue(_:)`` for a right kind with contents that do not fit.
    init(storedValue: StoredValue) throws

    /// Gives what is to be stored for this value.
    ///
    /// - Returns: The value in a form that a store can hold. Equal values give equal stored values.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when this value has no stored form.
    func storedValue() throws -> StoredValue
}
