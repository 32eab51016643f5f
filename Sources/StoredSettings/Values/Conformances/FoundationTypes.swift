// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data: StoredValueConvertible, CodingLeaf {
    /// Reads bytes, or a base64 string.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .data(let data):
            self = data
        case .string(let text):
            guard let data = Data(base64Encoded: text) else {
                throw SettingsError.invalidValue("the string is not valid base64")
            }
            self = data
        default:
            throw SettingsError.typeMismatch(expected: "bytes as a base64 string", found: storedValue)
        }
    }

    /// Returns ``StoredValue/data(_:)``.
    public func storedValue() -> StoredValue {
        .data(self)
    }
}

extension Date: StoredValueConvertible, CodingLeaf {
    /// Reads a date, or an ISO 8601 string with an offset, such as `2026-11-21T13:00:00Z`.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .date(let date):
            self = date
        case .string(let text):
            guard let date = DateText.date(from: text) else {
                throw SettingsError.invalidValue("the string is not a date such as 2026-11-21T13:00:00Z")
            }
            self = date
        default:
            throw SettingsError.typeMismatch(expected: "a date", found: storedValue)
        }
    }

    /// Returns ``StoredValue/date(_:)``.
    public func storedValue() -> StoredValue {
        .date(self)
    }
}

extension URL: StoredValueConvertible, CodingLeaf {
    /// Reads a URL string, or a dictionary of the strings `base` and `relative`.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .string(let text):
            guard let url = URL(string: text) else { throw Self.invalidString }
            self = url
        case .dictionary:
            let base = try Self.text(under: "base", of: storedValue)
            let relative = try Self.text(under: "relative", of: storedValue)
            let baseURL = try SettingsError.at(.key("base")) { try URL(storedValue: .string(base)) }
            self = try SettingsError.at(.key("relative")) {
                guard let url = URL(string: relative, relativeTo: baseURL) else { throw Self.invalidString }
                return url
            }
        default:
            throw SettingsError.typeMismatch(expected: "a URL", found: storedValue)
        }
    }

    /// Returns the URL string, or a dictionary of the strings `base` and `relative` for a relative URL.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when reading the string would not result in
    ///   the same URL.
    public func storedValue() throws -> StoredValue {
        let storedValue: StoredValue =
            if let baseURL {
                ["base": .string(baseURL.absoluteString), "relative": .string(relativeString)]
            } else {
                .string(absoluteString)
            }
        // Foundation can create URLs that no string represents. Such a URL is rejected, because it would change when
        // read.
        guard let again = try readable(storedValue), again == self else {
            throw SettingsError.unstorable("the string for the URL does not convert back to the same URL")
        }
        return storedValue
    }

    private func readable(_ storedValue: StoredValue) throws -> URL? {
        do {
            return try URL(storedValue: storedValue)
        } catch is SettingsError {
            return nil
        }
    }

    private static func text(under name: String, of storedValue: StoredValue) throws -> String {
        guard let value = storedValue[name] else {
            throw SettingsError.invalidValue(
                "expected the 'base' and 'relative' strings of a URL, found no '\(name)'"
            )
        }
        return try SettingsError.at(.key(name)) { try String(storedValue: value) }
    }

    private static var invalidString: SettingsError { .invalidValue("the string is not a valid URL") }
}

extension UUID: StoredValueConvertible, CodingLeaf {
    /// Reads a UUID string, in uppercase or lowercase.
    public init(storedValue: StoredValue) throws {
        guard case .string(let text) = storedValue else {
            throw SettingsError.typeMismatch(expected: "a UUID string", found: storedValue)
        }
        guard let uuid = UUID(uuidString: text) else {
            throw SettingsError.invalidValue("the string is not a valid UUID")
        }
        self = uuid
    }

    /// Returns the UUID string, in uppercase.
    public func storedValue() -> StoredValue {
        .string(uuidString)
    }
}

extension Decimal: StoredValueConvertible, CodingLeaf {
    /// Reads a decimal string, or a number, exactly.
    ///
    /// A number that a `Decimal` cannot represent is rejected, not rounded. A number with a fraction is read by its
    /// shortest description, so 0.1 is exactly one tenth. One with more than 15 digits is rejected: a reader of JSON may have rounded it.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .string("NaN"), .string("nan"):
            self = .nan
        case .string(let text):
            self = try Self.exactly(text)
        case .integer(let value):
            self = try Self.exactly(String(value))
        case .double(let value):
            self = value.isNaN ? .nan : try Self.exactly(value)
        default:
            throw SettingsError.typeMismatch(expected: "a decimal number", found: storedValue)
        }
    }

    /// Returns the decimal string, because most readers of JSON round its numbers to binary fractions.
    ///
    /// The string is `NaN` if this is not a number.
    public func storedValue() -> StoredValue {
        .string(description)
    }

    private static func exactly(_ number: Double) throws -> Decimal {
        if let text = DecimalText(number.description), text.digits.count > 15 {
            var error = SettingsError.invalidValue("the number has more than 15 digits, so it may be a rounded one")
            error.remedy = "write it as a string"
            throw error
        }
        return try exactly(number.description)
    }

    private static func exactly(_ text: String) throws -> Decimal {
        // Foundation parses the longest valid prefix of a string and rounds. Here the whole string must be an exact
        // number.
        guard let wanted = DecimalText(text) else {
            throw SettingsError.invalidValue("the string is not a decimal number")
        }
        guard let value = Decimal(string: text), DecimalText(value.description) == wanted else {
            throw SettingsError.invalidValue(
                "the number has more than the 38 digits of a decimal, or is outside its range"
            )
        }
        return value
    }
}
