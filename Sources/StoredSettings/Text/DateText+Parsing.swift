// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DateText {
    /// Parses a date string: the output of ``text(for:)``, and the variants that people write by hand.
    ///
    /// The letters may be lowercase, and a space may replace the T. The offset may have any form (`+01:00`, `+0100`,
    /// `+01`). The seconds may be omitted, and a day alone is its midnight in UTC. A time without an offset is
    /// rejected, because it is ambiguous.
    static func date(from text: String) -> Date? {
        if text.hasSuffix(suffix) {
            return Double(storedText: String(text.dropLast(suffix.count)))
                .map(Date.init(timeIntervalSinceReferenceDate:))
        }
        var scanner = Scanner(bytes: Array(text.utf8)[...])
        guard let day = scanner.day() else { return nil }
        var seconds = day.daysSince2001 * 86_400
        var fraction: [UInt8] = []
        if !scanner.bytes.isEmpty {
            guard scanner.take("T", "t", " "), let time = scanner.time(), let offset = scanner.offset() else {
                return nil
            }
            seconds += time.seconds - offset
            fraction = time.fraction
        }
        guard scanner.bytes.isEmpty else { return nil }
        return Double(decimalText(seconds: seconds, fraction: fraction)).map(Date.init(timeIntervalSinceReferenceDate:))
    }

    /// Returns the sum of whole seconds and a fraction as one decimal.
    private static func decimalText(seconds: Int, fraction: [UInt8]) -> String {
        guard seconds < 0, fraction.contains(where: { $0 != 0 }) else { return "\(seconds).\(fraction.digitText)0" }
        return "-\(-(seconds + 1)).\(complement(of: fraction).digitText)"
    }
}

private struct Scanner {
    var bytes: ArraySlice<UInt8>

    mutating func day() -> CalendarDay? {
        let isExpanded = bytes.first == UInt8(ascii: "+") || bytes.first == UInt8(ascii: "-")
        let sign = bytes.first == UInt8(ascii: "-") ? -1 : 1
        if isExpanded { bytes.removeFirst() }
        let digits = bytes.removeDigits()
        guard isExpanded ? 4...9 ~= digits.count : digits.count == 4, let year: Int = digits.number(),
            take("-"), let month = twoDigits(), take("-"), let day = twoDigits()
        else { return nil }
        return CalendarDay(year: sign * year, month: month, day: day)
    }

    mutating func time() -> (seconds: Int, fraction: [UInt8])? {
        guard let hour = twoDigits(), take(":"), let minute = twoDigits() else { return nil }
        var second = 0
        var fraction: [UInt8] = []
        if take(":") {
            guard let digits = twoDigits() else { return nil }
            second = digits
            if take(".", ",") {
                fraction = bytes.removeDigits()
                guard !fraction.isEmpty else { return nil }
            }
        }
        // 24:00 is the midnight at the end of the day. A Date cannot represent a leap second.
        let isEndOfDay = hour == 24 && minute == 0 && second == 0 && fraction.allSatisfy { $0 == 0 }
        guard hour < 24 || isEndOfDay, minute < 60, second < 60 else { return nil }
        return (hour * 3_600 + minute * 60 + second, fraction)
    }

    mutating func offset() -> Int? {
        if take("Z", "z") { return 0 }
        let sign = bytes.first == UInt8(ascii: "-") ? -1 : 1
        guard take("+", "-"), let hours = twoDigits() else { return nil }
        var minutes = 0
        if take(":") || !bytes.isEmpty {
            guard let digits = twoDigits() else { return nil }
            minutes = digits
        }
        guard hours < 24, minutes < 60 else { return nil }
        return sign * (hours * 3_600 + minutes * 60)
    }

    mutating func take(_ characters: Unicode.Scalar...) -> Bool {
        guard let byte = bytes.first, characters.contains(Unicode.Scalar(byte)) else { return false }
        bytes.removeFirst()
        return true
    }

    private mutating func twoDigits() -> Int? {
        var digits = bytes.prefix(2)
        let numbers = digits.removeDigits()
        guard numbers.count == 2 else { return nil }
        bytes.removeFirst(2)
        return numbers.number()
    }
}
