// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
