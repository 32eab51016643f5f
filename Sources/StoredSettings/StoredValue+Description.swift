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
    /// that is infinitely far away traps. What is nested deeper than a store takes is left out.
    public var description: String {
        description(levels: Self.maximumDepth)
    }

    private func description(levels: Int) -> String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .double(let value): value.storedText
        case .string(let value): value.debugDescription
        case .date(let value): DateText.text(for: value)
        case .data(let value): "\(value.count) bytes"
        case .array where levels == 0: "[…]"
        case .dictionary where levels == 0: "{…}"
        case .array(let values): "[" + values.map { $0.description(levels: levels - 1) }.joined(separator: ", ") + "]"
        case .dictionary(let values):
            "{"
                + values.sorted { $0.key < $1.key }
                .map { "\($0.key.debugDescription): \($0.value.description(levels: levels - 1))" }
                .joined(separator: ", ") + "}"
        }
    }
}
