// SPDX-License-Identifier: Apache-2.0

extension Bool: StoredValueConvertible {
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

extension String: StoredValueConvertible {
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

extension Character: StoredValueConvertible {
    /// Reads a string of one character.
    public init(storedValue: StoredValue) throws {
        guard case .string(let text) = storedValue else {
            throw SettingsError.typeMismatch(expected: "a string of one character", found: storedValue)
        }
        guard let character = text.first, text.index(after: text.startIndex) == text.endIndex else {
            throw SettingsError.invalidValue("the string is not one character")
        }
        self = character
    }

    /// Returns ``StoredValue/string(_:)``.
    public func storedValue() -> StoredValue {
        .string(String(self))
    }
}

extension Duration: StoredValueConvertible {
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
