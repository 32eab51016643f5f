// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Formats numbers for people.
enum Format {
    /// A number with at least three significant digits.
    static func number(_ number: Double) -> String {
        let digits = number < 10 ? 2 : number < 100 ? 1 : 0
        return String(format: "%.\(digits)f", number)
    }

    /// A count with thousands separators.
    static func count(_ count: Int) -> String {
        let digits = Array(String(count))
        let groups = stride(from: digits.count, to: 0, by: -3).map { String(digits[max(0, $0 - 3)..<$0]) }
        return groups.reversed().joined(separator: ",")
    }
}
