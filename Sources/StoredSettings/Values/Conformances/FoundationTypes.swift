// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data: StoredValueConvertible {
    /// Reads bytes, or their base64 text.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .data(let data):
            self = data
        case .string(let text):
            guard let data = Data(base64Encoded: text) else {
                throw SettingsError.invalidValue("the text is not base64")
            }
            self = data
        default:
            throw SettingsError.typeMismatch(expected: "bytes as base64 text", found: storedValue)
        }
    }

    /// ``StoredValue/data(_:)``.
    public func storedValue() -> StoredValue {
        .data(self)
    }
}

extension Date: StoredValueConvertible {
    /// Reads a date, or the text of one: ISO 8601 with an offset, such as `2026-11-21T13:00:00Z`.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .date(let date):
            self = date
        case .string(let text):
            guard let date = DateText.date(from: text) else {
                throw SettingsError.invalidValue("the text is not a date like 2026-11-21T13:00:00Z")
            }
            self = date
        default:
            throw SettingsError.typeMismatch(expected: "a date", found: storedValue)
        }
    }

    /// ``StoredValue/date(_:)``.
    public func storedValue() -> StoredValue {
        .date(self)
    }
}

extension URL: StoredValueConvertible {
    /// Reads the text of a URL, or a dictionary of `base` and `relative` text.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .string(let text):
            guard let url = URL(string: text) else { throw Self.invalidText }
            self = url
        case .dictionary:
            let base = try Self.text(under: "base", of: storedValue)
            let relative = try Self.text(under: "relative", of: storedValue)
            let baseURL = try SettingsError.at(.key("base")) { try URL(storedValue: .string(base)) }
            self = try SettingsError.at(.key("relative")) {
                guard let url = URL(string: relative, relativeTo: baseURL) else { throw Self.invalidText }
                return url
            }
        default:
            throw SettingsError.typeMismatch(expected: "a URL", found: storedValue)
        }
    }

    /// The text of the URL, or where it is relative to another one, a dictionary of `base` and `relative` text.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` for a URL whose text is not read as itself again.
    public func storedValue() throws -> StoredValue {
        let storedValue: StoredValue =
            if let baseURL {
                ["base": .string(baseURL.absoluteString), "relative": .string(relativeString)]
            } else {
                .string(absoluteString)
            }
        // Foundation makes URLs in more ways than from text. One that would come back as another is not kept at all.
        guard let again = try readable(storedValue), again == self else {
            throw SettingsError.unstorable("the text of the URL does not read as the same URL again")
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
            throw SettingsError.invalidValue("expected a URL's base and relative text, found no '\(name)'")
        }
        return try SettingsError.at(.key(name)) { try String(storedValue: value) }
    }

    private static var invalidText: SettingsError { .invalidValue("the text is not a URL") }
}

extension UUID: StoredValueConvertible {
    /// Reads the text of a UUID, in capital or small letters.
    public init(storedValue: StoredValue) throws {
        guard case .string(let text) = storedValue else {
            throw SettingsError.typeMismatch(expected: "the text of a UUID", found: storedValue)
        }
        guard let uuid = UUID(uuidString: text) else {
            throw SettingsError.invalidValue("the text is not a UUID")
        }
        self = uuid
    }

    /// The text of the UUID, in capital letters.
    public func storedValue() -> StoredValue {
        .string(uuidString)
    }
}

extension Decimal: StoredValueConvertible {
    /// Reads decimal text, or a number, exactly; what a `Decimal` has not the digits for is refused, not rounded.
    ///
    /// A number with a fraction is taken as its shortest text, so 0.1 is a tenth.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .string("NaN"), .string("nan"):
            self = .nan
        case .string(let text):
            self = try Self.exactly(text)
        case .integer(let value):
            self = try Self.exactly(String(value))
        case .double(let value):
            self = value.isNaN ? .nan : try Self.exactly(value.description)
        default:
            throw SettingsError.typeMismatch(expected: "a decimal number", found: storedValue)
        }
    }

    /// The decimal text, since a JSON number is no decimal to most of those who read one.
    ///
    /// `NaN` for no number.
    public func storedValue() -> StoredValue {
        .string(description)
    }

    private static func exactly(_ text: String) throws -> Decimal {
        // Foundation takes the number off the front of any text, and rounds what is too long. This takes it whole.
        guard let wanted = DecimalText(text) else {
            throw SettingsError.invalidValue("the text is not a decimal number")
        }
        guard let value = Decimal(string: text), DecimalText(value.description) == wanted else {
            throw SettingsError.invalidValue(
                "the number has more digits than the 38 of a decimal, or is out of its range"
            )
        }
        return value
    }
}
