// SPDX-License-Identifier: Apache-2.0

extension FixedWidthInteger {
    /// Reads an integer that fits, whether it is stored as one or as a number without a fraction.
    fileprivate static func exactly(_ storedValue: StoredValue) throws -> Self {
        let result: Self?
        switch storedValue {
        case .integer(let value): result = Self(exactly: value)
        case .double(let value) where value.rounded(.towardZero) == value && value.isFinite:
            result = Self(exactly: value)
        default: throw SettingsError.typeMismatch(expected: "an integer", found: storedValue)
        }
        guard let result else { throw outOfRange }
        return result
    }

    /// The same, and decimal text too, for types that are wider than what every store can hold.
    fileprivate static func exactlyOrText(_ storedValue: StoredValue) throws -> Self {
        guard case .string(let text) = storedValue else { return try exactly(storedValue) }
        guard let decimal = DecimalText(text), decimal.exponent >= 0 else {
            throw SettingsError.typeMismatch(expected: "an integer", found: storedValue)
        }
        guard let result = Self(text) else { throw outOfRange }
        return result
    }

    private static var outOfRange: SettingsError {
        .invalidValue("the integer is outside \(min)...\(max)")
    }
}

extension Int: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension Int8: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension Int16: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension Int32: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension Int64: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension UInt: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension UInt8: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension UInt16: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension UInt32: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension UInt64: StoredValueConvertible {
    /// Reads an integer that fits.
    public init(storedValue: StoredValue) throws {
        self = try .exactly(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(Int128(self))
    }
}

extension Int128: StoredValueConvertible {
    /// Reads an integer, or the decimal text of one.
    public init(storedValue: StoredValue) throws {
        self = try .exactlyOrText(storedValue)
    }

    /// ``StoredValue/integer(_:)``.
    public func storedValue() -> StoredValue {
        .integer(self)
    }
}

extension UInt128: StoredValueConvertible {
    /// Reads an integer that is not negative, or the decimal text of one.
    public init(storedValue: StoredValue) throws {
        self = try .exactlyOrText(storedValue)
    }

    /// ``StoredValue/integer(_:)``, or the decimal text of what is too wide for it.
    public func storedValue() -> StoredValue {
        Int128(exactly: self).map(StoredValue.integer) ?? .string(String(self))
    }
}
