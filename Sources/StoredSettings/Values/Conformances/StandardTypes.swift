// SPDX-License-Identifier: Apache-2.0

extension Bool: StoredValueConvertible, CodingLeaf {
    /// Reads a Boolean; numbers and strings are rejected.
    public init(storedValue: StoredValue) throws {
        guard case .bool(let value) = storedValue else {
            throw SettingsError.typeMismatch(expected: "a Boolean", found: storedValue)
        }
        self = value
    }

    /// Returns ``StoredValue/bool(_:)``.
    public func storedValue() -> StoredValue {
        .bool(self)
    }
}

extension String: StoredValueConvertible, CodingLeaf {
    /// Reads a string.
    public init(storedValue: StoredValue) throws {
        guard case .string(let text) = storedValue else {
            throw SettingsError.typeMismatch(expected: "a string", found: storedValue)
        }
        self = text
    }

    /// Returns ``StoredValue/string(_:)``.
    public func storedValue() -> StoredValue {
        .string(self)
    }
}

extension Duration: StoredValueConvertible, CodingLeaf {
    /// Reads a number with a unit, such as `1.5s`, or a number of seconds.
    ///
    /// The units are `ns`, `us`, `ms`, `s`, `m`, `h` and `d`, for days of 24 hours. The duration is never rounded: a
    /// finer resolution than an attosecond is rejected.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .string(let text):
            self = try DurationText.duration(from: text)
        case .integer(let value):
            self = try DurationText.duration(secondsText: String(value))
        case .double(let value):
            self = try DurationText.duration(secondsText: value.description)
        default:
            throw SettingsError.typeMismatch(expected: "a duration such as 1.5s", found: storedValue)
        }
    }

    /// Returns the exact number of seconds as a string, such as `1.5s`.
    public func storedValue() -> StoredValue {
        .string(DurationText.text(for: self))
    }
}

extension Range: StoredValueConvertible where Bound: StoredValueConvertible {
    /// Reads an array of the lower and the upper bound.
    public init(storedValue: StoredValue) throws {
        let bounds = try storedValue.bounds(as: Bound.self)
        self = bounds.lower..<bounds.upper
    }

    /// Returns ``StoredValue/array(_:)`` of the lower and the upper bound.
    public func storedValue() throws -> StoredValue {
        .array(try [lowerBound, upperBound].storedElements { try $0.storedValue() })
    }
}

extension ClosedRange: StoredValueConvertible where Bound: StoredValueConvertible {
    /// Reads an array of the lower and the upper bound.
    public init(storedValue: StoredValue) throws {
        let bounds = try storedValue.bounds(as: Bound.self)
        self = bounds.lower...bounds.upper
    }

    /// Returns ``StoredValue/array(_:)`` of the lower and the upper bound.
    public func storedValue() throws -> StoredValue {
        .array(try [lowerBound, upperBound].storedElements { try $0.storedValue() })
    }
}

extension StoredValue {
    /// Returns two valid bounds of a range.
    fileprivate func bounds<Bound>(as type: Bound.Type) throws -> (lower: Bound, upper: Bound)
    where Bound: StoredValueConvertible & Comparable {
        guard case .array(let values) = self else {
            throw SettingsError.typeMismatch(expected: "an array of two bounds", found: self)
        }
        guard values.count == 2 else {
            throw SettingsError.invalidValue("expected an array of two bounds, found \(values.count) elements")
        }
        let bounds = try elements { try Bound(storedValue: $0) }
        guard bounds[0] <= bounds[1] else {
            throw SettingsError.invalidValue("the lower bound is above the upper bound")
        }
        return (bounds[0], bounds[1])
    }
}

// MARK: - Numbers

extension FixedWidthInteger {
    /// Reads an integer in the range of the type, stored as an integer or as a double that is certainly one.
    ///
    /// A type that is wider than some stores support reads a decimal string as well.
    fileprivate static func exactly(_ storedValue: StoredValue) throws -> Self {
        let result: Self?
        switch storedValue {
        case .integer(let value): result = Self(exactly: value)
        case .double(let value) where value.rounded(.towardZero) == value && value.isFinite:
            // From 2^53 on, the double may be another integer that was rounded.
            guard value.magnitude < 0x1p53 else { throw inexact }
            result = Self(exactly: value)
        case .string(let text) where bitWidth > 64 && text.isInteger: result = Self(text)
        default: throw SettingsError.typeMismatch(expected: "an integer", found: storedValue)
        }
        guard let result else { throw outOfRange }
        return result
    }

    private static var outOfRange: SettingsError {
        .invalidValue("the integer is outside \(min)...\(max)")
    }

    private static var inexact: SettingsError {
        .invalidValue("the number may be a rounded integer; write all its digits, without a point and an exponent")
    }
}

extension String {
    /// Whether the string is the digits of an integer, with or without a sign.
    fileprivate var isInteger: Bool { DecimalText(self) != nil && !contains { ".eE".contains($0) } }
}

extension StoredValueConvertible where Self: FixedWidthInteger & Codable {
    /// Reads an integer in the range of the type; `Int128` and `UInt128` also read a decimal string.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// Returns ``StoredValue/integer(_:)``, or a decimal string for a value above `Int128.max`.
    public func storedValue() -> StoredValue {
        if let integer = Int128(exactly: self) { .integer(integer) } else { .string(String(self)) }
    }
}

extension Int: StoredValueConvertible, CodingLeaf {}
extension Int8: StoredValueConvertible, CodingLeaf {}
extension Int16: StoredValueConvertible, CodingLeaf {}
extension Int32: StoredValueConvertible, CodingLeaf {}
extension Int64: StoredValueConvertible, CodingLeaf {}
extension UInt: StoredValueConvertible, CodingLeaf {}
extension UInt8: StoredValueConvertible, CodingLeaf {}
extension UInt16: StoredValueConvertible, CodingLeaf {}
extension UInt32: StoredValueConvertible, CodingLeaf {}
extension UInt64: StoredValueConvertible, CodingLeaf {}

extension Int128: StoredValueConvertible, CodingLeaf {}
extension UInt128: StoredValueConvertible, CodingLeaf {}

extension Double: StoredValueConvertible, CodingLeaf {
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

extension Float: StoredValueConvertible, CodingLeaf {
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
