// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

@Suite("JSONReader")
struct JSONReaderTests {
    static let values: [(String, StoredValue)] = [
        ("null", .null),
        ("true", true),
        (" \t\r\nfalse \n", false),
        ("\u{feff}1", 1),
        ("0", 0),
        ("-1", -1),
        ("-0", .double(-0.0)),
        ("-0.0", .double(-0.0)),
        ("0.0", .double(0)),
        ("9999999999999999999", .integer(9_999_999_999_999_999_999)),
        ("10000000000000000000", .integer(10_000_000_000_000_000_000)),
        ("18446744073709551616", .integer(Int128(UInt64.max) + 1)),
        ("-9223372036854775808", .integer(Int128(Int64.min))),
        ("170141183460469231731687303715884105727", .integer(.max)),
        ("-170141183460469231731687303715884105728", .integer(.min)),
        ("1.0", .double(1)),
        ("1e5", .double(100_000)),
        ("1E+05", .double(100_000)),
        ("0.1", .double(0.1)),
        ("-12.5e-1", .double(-1.25)),
        ("0.000000000000000000000000000001", .double(1e-30)),
        ("123456789012345678901234567890.5", .double(123_456_789_012_345_678_901_234_567_890.5)),
        ("1e0000000000000000000000000002", .double(100)),
        ("9007199254740993.0", .double(9_007_199_254_740_992)),
        ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
        ("5e-324", .double(.leastNonzeroMagnitude)),
        ("1e-400", .double(0)),
        ("-1e-99999999999999999999", .double(-0.0)),
        ("0e99999999999", .double(0)),
        // Exponents around 2^64, which would be small after an overflow.
        ("0e18446744073709551616", .double(0)),
        ("0e18446744073709551617", .double(0)),
        ("1e-18446744073709551615", .double(0)),
        ("1e-18446744073709551616", .double(0)),
        ("1e-18446744073709551618", .double(0)),
        ("-2.5e-18446744073709551617", .double(-0.0)),
        ("1.25e-9223372036854775807", .double(0)),
        ("1e-4294967297", .double(0)),
        ("1e-999999999", .double(0)),
        ("1e-1000000000", .double(0)),
        ("1e00000000000000000000", .double(1)),
        ("1e-00000000000000000002", .double(0.01)),
        // Twenty digits, which would be few after an overflow.
        ("1844674407370955161.7", .double(1_844_674_407_370_955_161.7)),
        ("18446744073709551617e-1", .double(1_844_674_407_370_955_161.7)),
        (#""""#, ""),
        (#""a""#, "a"),
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (#""\u0041\u00e9\u20AC\uD83d\uDe00\u0000""#, "A\u{e9}\u{20ac}\u{1f600}\0"),
        (#""é\né 😀\u{7f}""#.replacing("\\u{7f}", with: "\u{7f}"), "é\né 😀\u{7f}"),
        ("\"\u{feff}\u{2028}\u{10ffff}\"", "\u{feff}\u{2028}\u{10ffff}"),
        (#""\udbff\udfff""#, "\u{10ffff}"),
        ("[]", []),
        ("[ ]", []),
        ("{ }", [:]),
        ("[1,[],[[2]],{}]", [1, [], [[2]], [:]]),
        (#"{"a":{"b":[{"c":1},2]},"d":3,"":4}"#, ["a": ["b": [["c": 1], 2]], "d": 3, "": 4]),
        (#"{"a":{"a":1},"b":{"a":2}}"#, ["a": ["a": 1], "b": ["a": 2]]),
    ]

    @Test("valid JSON is read as its value", arguments: values)
    func reads(text: String, value: StoredValue) throws {
        #expect(try JSONReader.read(Array(text.utf8)) == value)
    }

    @Test(
        "a number beyond the range of a double is an error, however many digits its exponent has",
        arguments: [
            "1e309", "1e999999999", "1e1000000000", "1e4294967297", "1e9223372036854775808",
            "1e18446744073709551615", "1e18446744073709551616", "1e18446744073709551618", "-2.5e+18446744073709551617",
            "1e36893488147419103232", "1e00000000000000000400",
        ]
    )
    func exponents(text: String) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.read(Array(" \(text)".utf8)) }
        #expect(error?.offset == 1)
    }

    @Test("an object is read as its entries, and any other value is rejected")
    func objects() throws {
        #expect(try JSONReader.readObject(Array("\u{feff} {\"a\": 1} \n".utf8)) == ["a": 1])
        for text in ["[1]", "1", "\"a\"", "null", "x"] {
            let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.readObject(Array("\n \(text)".utf8)) }
            #expect(error?.problem == "expected '{', because the file must contain one object")
            #expect(error?.line == 2 && error?.column == 2 && error?.offset == 2)
        }
    }

    @Test("a number with a fraction is read as the closest double")
    func rounding() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<20_000 {
            let digits = UInt64.random(in: 0...(.max), using: &random) >> UInt64.random(in: 0..<64, using: &random)
            let text =
                "\(digits).\(UInt16.random(in: 0...999, using: &random))e\(Int.random(in: -40...40, using: &random))"
            let number = try JSONReader.read(Array(text.utf8))
            if number != .double(try #require(Double(text))) { Issue.record("\(text) is read as \(number)") }
        }
    }

    @Test("the maximum nesting is read, and one more level is an error")
    func depth() throws {
        let limit = JSONReader.maximumDepth
        for (left, right) in [("[", "]"), (#"{"a":"#, "}")] {
            func text(_ depth: Int) -> [UInt8] {
                let inside = left == "[" ? "" : "1"
                return Array(
                    (String(repeating: left, count: depth) + inside + String(repeating: right, count: depth)).utf8
                )
            }
            var value = try JSONReader.read(text(limit))
            for _ in 1..<limit { value = try #require(value[0] ?? value["a"]) }
            #expect(value == (left == "[" ? [] : ["a": 1]))

            for tooDeep in [limit + 1, 200_000] {
                let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.read(text(tooDeep)) }
                #expect(error?.problem == "the nesting is deeper than 128 levels")
                #expect(error?.offset == limit * left.utf8.count)
            }
        }
    }
}
