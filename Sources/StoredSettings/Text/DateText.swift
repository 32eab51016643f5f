// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The string format of dates: ISO 8601 in UTC, with enough digits to restore every bit.
///
/// A date is a `Double` of seconds, and its shortest decimal description distinguishes it from its neighbors. That
/// decimal is converted to the calendar and back digit by digit, never in binary arithmetic, so nothing is rounded. A
/// date that the calendar cannot represent (NaN, infinite, hundreds of millions of years away, minus zero) is written
/// as a number of seconds.
enum DateText {
    static let suffix = " s since 2001-01-01T00:00:00Z"

    /// The limit of dates that have a calendar form, in seconds: about 285 million years.
    ///
    /// Beyond it, a `Double` cannot represent every second.
    static let limit = 9e15

    /// Returns the string for a date.
    static func text(for date: Date) -> String {
        let interval = date.timeIntervalSinceReferenceDate
        guard interval.magnitude < limit, !(interval.sign == .minus && interval.isZero),
            let decimal = DecimalText(interval.description), let whole = Int("0" + decimal.parts.whole.digitText)
        else { return interval.storedText + suffix }

        let fraction = decimal.parts.fraction
        guard decimal.isNegative else { return calendarText(seconds: whole, fraction: fraction) }
        // The calendar counts forward before 2001 too: round the second down, and add the complement of the fraction.
        return fraction.isEmpty
            ? calendarText(seconds: -whole, fraction: [])
            : calendarText(seconds: -whole - 1, fraction: complement(of: fraction))
    }

    private static func calendarText(seconds: Int, fraction: [UInt8]) -> String {
        let (days, second) = seconds.dividedDown(by: 86_400)
        let day = CalendarDay(daysSince2001: days)
        let time = [second / 3_600, second / 60 % 60, second % 60].map { $0.digits(2) }.joined(separator: ":")
        let tail = fraction.isEmpty ? "" : "." + fraction.digitText
        return "\(yearText(day.year))-\(day.month.digits(2))-\(day.day.digits(2))T\(time)\(tail)Z"
    }

    private static func yearText(_ year: Int) -> String {
        guard !(0...9_999 ~= year) else { return year.digits(4) }
        return (year < 0 ? "-" : "+") + abs(year).digits(6)
    }

    /// Returns the digits of one minus a fraction that is not zero.
    static func complement(of fraction: [UInt8]) -> [UInt8] {
        var complement = fraction.map { 9 - $0 }
        var index = complement.count - 1
        while index >= 0, complement[index] == 9 {
            complement[index] = 0
            index -= 1
        }
        if index >= 0 { complement[index] += 1 }
        return complement
    }
}

/// A day of the proleptic Gregorian calendar, which has a year 0.
struct CalendarDay: Equatable {
    let year: Int
    let month: Int
    let day: Int

    // Years begin in March here, so that the leap day is the last day of a year. Days are counted from 1 March of year
    // 0.
    private static let dayOf2001 = 730_791

    init(daysSince2001 days: Int) {
        let (era, dayOfEra) = (days + Self.dayOf2001).dividedDown(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    /// Creates a day; `nil` when the calendar has no such day.
    init?(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
        guard 1...12 ~= month, 1...31 ~= day, abs(year) < 1_000_000_000,
            CalendarDay(daysSince2001: daysSince2001) == self
        else { return nil }
    }

    var daysSince2001: Int {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).dividedDown(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - Self.dayOf2001
    }
}

extension Int {
    /// Returns the quotient, rounded down, and the nonnegative remainder, for a positive divisor.
    fileprivate func dividedDown(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

// MARK: - Parsing

extension DateText {
    /// The form of a date, whose numbers may be out of range.
    ///
    /// It is immutable, so `unsafe` hides no race.
    nonisolated(unsafe) private static let form =
        #/
        (?<year>[0-9]{4}|[+\-][0-9]{4,9})-(?<month>[0-9]{2})-(?<day>[0-9]{2})
        (?:[Tt\ ](?<hour>[0-9]{2}):(?<minute>[0-9]{2})(?::(?<second>[0-9]{2})(?:[.,](?<fraction>[0-9]+))?)?
        (?:[Zz]|(?<sign>[+\-])(?<offsetHour>[0-9]{2})(?::?(?<offsetMinute>[0-9]{2}))?))?
        /#

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
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        guard let match = text.wholeMatch(of: form)?.output,
            let day = CalendarDay(year: number(match.year), month: number(match.month), day: number(match.day))
        else { return nil }
        let (hour, minute, second) = (number(match.hour), number(match.minute), number(match.second))
        var fractionText = Array((match.fraction ?? "").utf8)[...]
        let fraction = fractionText.removeDigits()
        // 24:00 is the midnight at the end of the day. A Date cannot represent a leap second.
        let isEndOfDay = hour == 24 && minute == 0 && second == 0 && fraction.allSatisfy { $0 == 0 }
        let (offsetHour, offsetMinute) = (number(match.offsetHour), number(match.offsetMinute))
        guard hour < 24 || isEndOfDay, minute < 60, second < 60, offsetHour < 24, offsetMinute < 60 else {
            return nil
        }
        let offset = (match.sign == "-" ? -1 : 1) * (offsetHour * 3_600 + offsetMinute * 60)
        let seconds = day.daysSince2001 * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Double(decimalText(seconds: seconds, fraction: fraction))
            .map(Date.init(timeIntervalSinceReferenceDate:))
    }

    /// Returns the sum of whole seconds and a fraction as one decimal.
    private static func decimalText(seconds: Int, fraction: [UInt8]) -> String {
        guard seconds < 0, fraction.contains(where: { $0 != 0 }) else { return "\(seconds).\(fraction.digitText)0" }
        return "-\(-(seconds + 1)).\(complement(of: fraction).digitText)"
    }
}
