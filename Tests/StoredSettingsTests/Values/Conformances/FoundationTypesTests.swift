// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Foundation types and durations")
struct FoundationTypesTests {
    @Test("an invalid string is rejected without being repeated")
    func invalidText() {
        #expect(settingsError { try Date(storedValue: "2026-02-30") }?.code == .invalidValue)
        #expect(settingsError { try Data(storedValue: "?") }?.code == .invalidValue)
        #expect(settingsError { try URL(storedValue: "") }?.code == .invalidValue)
        #expect(settingsError { try UUID(storedValue: "E621E1F8") }?.code == .invalidValue)
        #expect(settingsError { try Decimal(storedValue: "12abc") }?.code == .invalidValue)
        #expect(settingsError { try Duration(storedValue: "12") }?.code == .invalidValue)
    }

    @Test("a URL is stored as a string, or with its base if it has one")
    func url() throws {
        let base = try #require(URL(string: "https://example.com/a/"))
        let url = try #require(URL(string: "b", relativeTo: base))
        #expect(try base.storedValue() == "https://example.com/a/")
        #expect(try url.storedValue() == ["base": "https://example.com/a/", "relative": "b"])
        let read = try URL(storedValue: url.storedValue())
        #expect(read.baseURL == base)
        #expect(read.relativeString == "b")
    }

    @Test("an error in a URL's dictionary contains its key")
    func urlParts() {
        let missing = settingsError { try URL(storedValue: ["base": "a:b"]) }
        #expect(missing?.fact == "expected the 'base' and 'relative' strings of a URL, found no 'relative'")
        #expect(settingsError { try URL(storedValue: ["base": 1, "relative": "b"]) }?.path == [.key("base")])
        #expect(settingsError { try URL(storedValue: ["base": "", "relative": "b"]) }?.path == [.key("base")])
        #expect(settingsError { try URL(storedValue: ["base": "a:b", "relative": nil]) }?.path == [.key("relative")])
    }

    @Test("a decimal is converted exactly or rejected")
    func decimal() throws {
        let widest = "340282366920938463463374607431768211455"
        #expect(try Decimal(storedValue: .integer(.max)).description == String(Int128.max))
        #expect(try Decimal(storedValue: .integer(.min)).description == String(Int128.min))
        #expect(try Decimal(storedValue: .string(widest)).description == widest)
        for number in [1_234_567_890_123_456.78, 0.123_456_789_012_345_678_91, 0.1 + 0.2] {
            #expect(settingsError { try Decimal(storedValue: .double(number)) }?.remedy == "write it as a string")
        }
        #expect(try Decimal(storedValue: .double(123_456_789_012.345)).description == "123456789012.345")
        #expect(try Decimal(storedValue: 0.1).description == "0.1")
        #expect(try Decimal(storedValue: "-0") == 0)
        #expect(try Decimal(storedValue: "+1.50e2") == 150)
        #expect(try Decimal(storedValue: .double(.nan)).isNaN)
        for lossy in [
            widest + "1", "340282366920938463463374607431768211456", "1e-129", "1e166", "1e99999999999999999999",
        ] {
            #expect(settingsError { try Decimal(storedValue: .string(lossy)) }?.code == .invalidValue)
        }
        #expect(settingsError { try Decimal(storedValue: .double(1e300)) }?.code == .invalidValue)
        #expect(settingsError { try Decimal(storedValue: .double(.infinity)) }?.code == .invalidValue)
    }

    @Test(
        "durations are stored in decimal seconds",
        arguments: [
            (Duration.zero, "0s"), (.seconds(90), "90s"), (.milliseconds(1_500), "1.5s"),
            (.milliseconds(-1_500), "-1.5s"),
            (.nanoseconds(1), "0.000000001s"), (Duration(attoseconds: -1), "-0.000000000000000001s"),
            (Duration(attoseconds: .max), "170141183460469231731.687303715884105727s"),
            (Duration(attoseconds: .min), "-170141183460469231731.687303715884105728s"),
        ]
    )
    func durationText(_ duration: Duration, _ text: String) throws {
        #expect(duration.storedValue() == .string(text))
        #expect(try Duration(storedValue: .string(text)) == duration)
    }

    @Test(
        "durations are read in any unit",
        arguments: [
            ("1ns", Duration.nanoseconds(1)), ("1e-9ns", Duration(attoseconds: 1)), ("1.5us", .nanoseconds(1_500)),
            ("250ms", .milliseconds(250)), ("-2s", .seconds(-2)),
            ("1.5m", .seconds(90)), ("2h", .seconds(7_200)), ("0.5d", .seconds(43_200)), ("1e3s", .seconds(1_000)),
            (".5s", .milliseconds(500)), ("0.000s", .zero), ("0e999999999999999999999s", .zero),
        ]
    )
    func units(_ text: String, _ duration: Duration) throws {
        #expect(try Duration(storedValue: .string(text)) == duration)
    }

    @Test("a number is a duration in seconds")
    func seconds() throws {
        #expect(try Duration(storedValue: -3) == .seconds(-3))
        #expect(try Duration(storedValue: 0.1) == .milliseconds(100))
    }

    @Test(
        "a duration that cannot be represented exactly is rejected",
        arguments: [
            "1e21s", "1e-10ns", "0.0000000000000000001s", "1e999999999999999999999s", "1e-999999999999999999999s", "s",
            "1", "1 s",
            "1.5.5s", "1x", "-", "--1s", "170141183460469231731.687303715884105728s",
            "-170141183460469231731.687303715884105729s", "infs", "",
            "99999999999999999999999999999d",
            // These exponents would be 0 after an overflow.
            "1e18446744073709551616s", "1e-18446744073709551616s",
        ]
    )
    func unrepresentable(_ text: String) throws {
        #expect(settingsError { try Duration(storedValue: .string(text)) }?.code == .invalidValue)
    }

    @Test(
        "a number of seconds beyond the range of a duration is rejected",
        arguments: [1e300, .infinity, .nan, 1e-300, -1e21]
    )
    func unrepresentable(_ seconds: Double) {
        #expect(settingsError { try Duration(storedValue: .double(seconds)) }?.code == .invalidValue)
        #expect(settingsError { try Duration(storedValue: .integer(.max)) }?.code == .invalidValue)
    }

    @Test("Row 14: values have the documented forms")
    func forms() throws {
        let price = try #require(Decimal(string: "12.5"))
        #expect(price.storedValue() == "12.5")
        #expect(Decimal.nan.storedValue() == "NaN")
        #expect(Int128(42).storedValue() == 42)
        #expect(try (1..<10).storedValue() == [1, 10])
        #expect(try (1...10).storedValue() == [1, 10])
        #expect(try ContiguousArray([1, 2]).storedValue() == [1, 2])
        #expect(try Set<Int>(storedValue: [2, 1, 2]) == [1, 2])
        let uuid = try UUID(storedValue: "e621e1f8-c36c-495a-93fc-0c247a3e6e5f")
        #expect(uuid.storedValue() == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    }
}
