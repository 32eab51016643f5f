// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StoredValue {
    /// This value in the form in which it is read back from JSON, which has no dates, bytes, infinities or NaN: those
    /// are strings there.
    package var storedAsJSON: StoredValue {
        switch self {
        case .null, .bool, .integer, .string: self
        case .double(let value): value.isFinite ? self : .string(value.storedText)
        case .date(let value): .string(DateText.text(for: value))
        case .data(let value): .string(value.base64EncodedString())
        case .array(let values): .array(values.map(\.storedAsJSON))
        case .dictionary(let values): .dictionary(values.mapValues(\.storedAsJSON))
        }
    }

    /// Whether the value certainly has the same form in JSON.
    var isStoredAsItself: Bool {
        switch self {
        case .null, .bool, .integer, .string: true
        case .double(let value): value.isFinite
        case .date, .data, .array, .dictionary: false
        }
    }
}
