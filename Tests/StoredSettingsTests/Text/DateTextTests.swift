// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StoredSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Strings of dates")
struct DateTextTests {
    private static let texts: [(Double, String)] = [
        (0.0, "2001-01-01T00:00:00Z"), (0.5, "2001-01-01T00:00:00.5Z"), (-0.25, "2000-12-31T23:59:59.75Z"),
        (-1, "2000-12-31T23:59:59Z"), (785_941_200, "2025-11-27T13:00:00Z"),
        (785_941_200.1, "2025-11-27T13:00:00.1Z"),
        (-978_307_200, "1970-01-01T00:00:00Z"), (-26_524_800, "2000-02-29T00:00:00Z"),
        (3_129_235_200, "2100-03-01T00:00:00Z"), (252_455_616_000, "+010001-01-01T00:00:00Z"),
        (252_423_993_600, "+010000-01-01T00:00:00Z"), (252_423_993_599, "9999-12-31T23:59:59Z"),
        (-63_113_904_000, "0001-01-01T00:00:00Z"), (-63_145_526_400, "0000-01-01T00:00:00Z"),
        (-63_145_526_401, "-000001-12-31T23:59:59Z"),
        (-63_113_904_000.001, "0000-12-31T23:59:59.999Z"),
        (-0.0, "-0.0 s since 2001-01-01T00:00:00Z"), (.infinity, "inf s since 2001-01-01T00:00:00Z"),
        (.nan, "nan s since 2001-01-01T00:00:00Z"), (-9e15, "-9000000000000000.0 s since 2001-01-01T00:00:00Z"),
    ]

    @Test(
        "dates are written as ISO 8601 with the necessary digits",
        arguments: texts
    )
    func written(_ seconds: Double, _ text: String) throws {
        #expect(DateText.text(for: Date(timeIntervalSinceReferenceDate: seconds)) == text)
        #expect(try seconds.isExactly(#require(DateText.date(from: text)).timeIntervalSinceReferenceDate))
    }

    @Test(
        "a fraction of nothing but zeros changes nothing, before 2001 either",
        arguments: [(-1, "2000-12-31T23:59:59"), (0, "2001-01-01T00:00:00"), (-978_307_200, "1970-01-01T00:00:00")]
    )
    func zeroFraction(seconds: Double, text: String) throws {
        for fraction in [".0", ".000", ",000000"] {
            let date = try #require(DateText.date(from: text + fraction + "Z"))
            #expect(date.timeIntervalSinceReferenceDate == seconds)
        }
        let half = try #require(DateText.date(from: text + ".50Z"))
        #expect(half.timeIntervalSinceReferenceDate == seconds + 0.5)
    }

    @Test(
        "dates are read in the usual spellings",
        arguments: [
            "2026-11-21T13:00:00Z", "2026-11-21t13:00:00z", "2026-11-21 13:00:00Z", "2026-11-21T13:00Z",
            "2026-11-21T14:00:00+01:00",
            "2026-11-21T14:00+0100", "2026-11-21T14:00+01", "2026-11-21T08:30:00-04:30", "2026-11-22T12:59:00+23:59",
            "2026-11-21T13:00:00.000Z", "2026-11-21T13:00:00,0Z", "+002026-11-21T13:00:00Z",
            "816958800 s since 2001-01-01T00:00:00Z",
        ]
    )
    func read(_ text: String) {
        #expect(DateText.date(from: text)?.timeIntervalSinceReferenceDate == 816_958_800)
    }

    @Test("a date without a time is midnight, and 24:00 is midnight of the next day")
    func midnight() {
        #expect(DateText.date(from: "2001-01-02")?.timeIntervalSinceReferenceDate == 86_400)
        #expect(DateText.date(from: "2001-01-01T24:00:00Z")?.timeIntervalSinceReferenceDate == 86_400)
        #expect(DateText.date(from: "-000001-12-31")?.timeIntervalSinceReferenceDate == -63_145_612_800)
    }

    @Test(
        "an invalid date is rejected",
        arguments: [
            "", "T", "x", "2026", "2026-11", "2026-02-30", "2025-02-29", "2100-02-29", "2026-13-01", "2026-00-01",
            "2026-01-00",
            "2026-04-31", "2026-11-21T", "2026-11-21T13", "2026-11-21T13:00:00", "2026-11-21T24:00:01Z",
            "2026-11-21T24:00:00.1Z", "2026-11-21T24:30:00Z", "2026-11-21T24:01Z",
            "2026-11-21T23:59:60Z", "2026-11-21T23:60Z", "2026-11-21T25:00Z", "2026-11-21T13:00:00.Z",
            "2026-11-21T13:00.5Z",
            "2026-11-21T13:00:00Zx", "2026-11-21T13:00:00+", "2026-11-21T13:00:00+1", "2026-11-21T13:00:00+01:",
            "2026-11-21T13:00+24:00",
            "2026-11-21T13:00+01:60", "26-11-21", "12026-11-21", "+9999999999-01-01", "+999-01-01", "2026-1-1",
            "2026-11-21Z", " 2026-11-21",
            "2026-11-21 ", "２０２６-11-21", "2026-11-21T13:00:00Z\0", " s since 2001-01-01T00:00:00Z",
            "x s since 2001-01-01T00:00:00Z",
            "0x10 s since 2001-01-01T00:00:00Z", "infinity s since 2001-01-01T00:00:00Z",
            "1\u{301} s since 2001-01-01T00:00:00Z",
        ]
    )
    func rejected(_ text: String) {
        #expect(DateText.date(from: text) == nil)
    }

    @Test("two thousand years of days are consecutive")
    func calendar() throws {
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var days = try #require(CalendarDay(year: -400, month: 1, day: 1)).daysSince2001
        for year in -400...1_600 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for month in 1...12 {
                let length = lengths[month - 1] + (isLeap && month == 2 ? 1 : 0)
                let first = CalendarDay(daysSince2001: days)
                guard first == CalendarDay(year: year, month: month, day: 1), first.daysSince2001 == days else {
                    Issue.record("\(year)-\(month) is wrong")
                    return
                }
                #expect(CalendarDay(year: year, month: month, day: length + 1) == nil)
                days += length
            }
        }
    }

    @Test("truncated and mutated strings are read or rejected")
    func mutations() {
        var generator = SeededGenerator(seed: 1)
        let alphabet = Array("0123456789+-:.,TZtz e\0é😀".unicodeScalars)
        let texts = [
            "2026-11-21T13:00:00.123+01:00", "-000001-12-31T23:59:59Z", "-1.5e300 s since 2001-01-01T00:00:00Z",
        ]
        for text in texts {
            for index in text.unicodeScalars.indices {
                _ = DateText.date(from: String(text.unicodeScalars[..<index]))
                for _ in 0..<40 {
                    var scalars = text.unicodeScalars
                    scalars.replaceSubrange(index...index, with: [alphabet.randomElement(using: &generator) ?? "0"])
                    guard let date = DateText.date(from: String(scalars)) else { continue }
                    #expect(DateText.date(from: DateText.text(for: date))?.isExactly(date) == true)
                }
            }
        }
        #expect(DateText.date(from: "2026-11-21T13:00:00." + String(repeating: "9", count: 100_000) + "Z") != nil)
        #expect(DateText.date(from: String(repeating: "9", count: 100_000)) == nil)
    }
}
