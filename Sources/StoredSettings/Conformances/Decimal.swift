// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
