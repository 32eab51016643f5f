// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StoredValue: CustomStringConvertible {
    /// The value as a literal would spell it, for debugging.
    ///
    /// It holds the contents, so it is not for logs. Any value has one, where Foundation's own description of a date
    /// that is infinitely far away traps.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .double(let value): value.storedText
        case .string(let value): value.debugDescription
        case .date(let value): DateText.text(for: value)
        case .data(let value): "\(value.count) bytes"
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .dictionary(let values):
            "{"
                + values.sorted { $0.key < $1.key }
                .map { "\($0.key.debugDescription): \($0.value)" }
                .joined(separator: ", ") + "}"
        }
    }
}
