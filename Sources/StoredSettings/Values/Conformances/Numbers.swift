// SPDX-License-Identifier: Apache-2.0

extension FixedWidthInteger {
    /// Reads an integer in the range of the type, stored as an integer or as a double that is certainly one.
    fileprivate static func exactly(_ storedValue: StoredValue) throws -> Self {
        let result: Self?
        switch storedValue {
        case .integer(let value): result = Self(exactly: value)
        case .double(let value) where value.rounded(.towardZero) == value && value.isFinite:
            // From 2^53 on, the double may be another integer that was rounded.
            guard value.magnitude < 0x1p53 else { throw inexact }
            result = Self(exactly: value)
        default: throw SettingsError.typeMismatch(expected: "an integer", found: storedValue)
        }
        guard let result else { throw outOfRange }
        return result
    }

    /// Reads an integer like `exactly`, or a decimal string, for types that are wider than some stores support.
    fileprivate static func exactlyOrText(_ storedValue: StoredValue) throws -> Self {
        guard case .string(let text) = storedValue else { return try exactly(storedValue) }
        guard DecimalText(text) != nil, !text.contains(where: { ".eE".contains($0) }) else {
            throw SettingsError.typeMismatch(expected: "an integer", found: storedValue)
        }
        guard let result = Self(text) else { throw outOfRange }
        return result
    }

    private static var outOfRange: SettingsError {
        .invalidValue("the integer is outside \(min)...\(max)")
    }

    private static var inexact: SettingsError {
        .invalidValue("the number may be a rounded integer; write all its digits, without a point and an exponent")
    }
}

extension StoredValueConvertible where Self: FixedWidthInteger & Codable {
    /// Reads an integer in the range of the type.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// Returns ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension Int: StoredValueConvertible {}
extension Int8: StoredValueConvertible {}
extension Int16: StoredValueConvertible {}
extension Int32: StoredValueConvertible {}
extension Int64: StoredValueConvertible {}
extension UInt: StoredValueConvertible {}
extension UInt8: StoredValueConvertible {}
extension UInt16: StoredValueConvertible {}
extension UInt32: StoredValueConvertible {}
extension UInt64: StoredValueConvertible {}

extension Int128: StoredValueConvertible {
    /// Reads an integer, or a decimal string.
    public init(storedValue: StoredValue) throws {
        self = try .exactlyOrText(storedValue)
    }

    /// Returns ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(self)
    }
}

extension UInt128: StoredValueConvertible {
    /// Reads an integer in the range of the type, or a decimal string.
    public init(storedValue: StoredValue) throws {
        self = try .exactlyOrText(storedValue)
    }

    /// Returns ``StoredValue/integer(_:)``, or a decimal string for a value above `Int128.max`.
    public func storedValue() -> StoredValue {
        Int128(exactly: self).map(StoredValue.integer) ?? .string(String(self))
    }
}

extension Double: StoredValueConvertible {
    /// Reads a number, or one of the strings `nan`, `inf` and `-inf`.
    ///
    /// A file holds these strings for the numbers that JSON lacks. An integer is rounded to the nearest representable
    /// number.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .double(let value):
            self = value
        case .integer(let value):
            self = Double(value)
        case .string(let text):
            guard let value = Double(nonFiniteText: text) else { fallthrough }
            self = value
        default:
            throw SettingsError.typeMismatch(expected: "a number", found: storedValue)
        }
    }

    /// Returns ``StoredValue/double(_:)``.
    public func storedValue() -> StoredValue {
        .double(self)
    }
}

extension Float: StoredValueConvertible {
    /// Reads a number like a `Double`, and rounds it to the nearest `Float`.
    public init(storedValue: StoredValue) throws {
        let wide = try Double(storedValue: storedValue)
        let value = Float(wide)
        guard value.isFinite || !wide.isFinite else {
            throw SettingsError.invalidValue("the number is outside ±\(Float.greatestFiniteMagnitude)")
        }
        self = value
    }

    /// Returns ``StoredValue/double(_:)`` with the shortest decimal description, so that a file contains 0.1 for 0.1.
    public func storedValue() -> StoredValue {
        // `Double(self)` of 0.1 would be written as 0.10000000149011612.
        if let shortest = Double(description), Float(shortest).bitPattern == bitPattern { return .double(shortest) }
        return .double(Double(self))
    }
}
