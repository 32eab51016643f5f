// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Testing

@Suite("JSONWriter")
struct JSONWriterTests {
    private func compact(_ value: StoredValue) throws -> String {
        String(decoding: try JSONWriter.compactText(of: value), as: UTF8.self)
    }

    @Test("a file is indented and sorted, and ends with a newline")
    func indented() throws {
        let entries: [String: StoredValue] = [
            "b": [1, [], [:], [2.5, nil]], "a": ["z": true, "A": "x", "a.b": [:]], "": false, "B": [["n": 1]],
        ]
        let text = """
            {
              "": false,
              "B": [
                {
                  "n": 1
                }
              ],
              "a": {
                "A": "x",
                "a.b": {},
                "z": true
              },
              "b": [
                1,
                [],
                {},
                [
                  2.5,
                  null
                ]
              ]
            }

            """
        #expect(String(decoding: try JSONWriter.prettyText(of: .dictionary(entries)), as: UTF8.self) == text)
        #expect(String(decoding: try JSONWriter.prettyText(of: [:]), as: UTF8.self) == "{}\n")
        #expect(
            try compact(.dictionary(entries["a"].map { ["a": $0] } ?? [:])) == #"{"a":{"A":"x","a.b":{},"z":true}}"#
        )
    }

    @Test("names are sorted by their Unicode scalars")
    func order() throws {
        let names = ["", "A", "B", "a", "a.b", "aa", "b", "e\u{301}", "f", "\u{e9}a", "\u{ffff}", "\u{1f600}"]
        let value = StoredValue.dictionary(Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }))
        #expect(try compact(value) == "{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}")
    }

    @Test("two names are sorted by their Unicode scalars, even if their normalized forms have another order")
    func orderOfTwo() throws {
        let names = ["e\u{301}", "z"]
        #expect(names.sorted() != names)
        #expect(try compact(.dictionary([names[0]: 1, names[1]: 2])) == "{\"\(names[0])\":1,\"z\":2}")
    }

    static let leaves: [(StoredValue, String)] = [
        (.null, "null"),
        (true, "true"),
        (false, "false"),
        (.integer(.min), "-170141183460469231731687303715884105728"),
        (.integer(.max), "170141183460469231731687303715884105727"),
        (.double(1), "1.0"),
        (.double(-0.0), "-0.0"),
        (.double(0.1), "0.1"),
        (.double(1e300), "1e+300"),
        (.double(.leastNonzeroMagnitude), "5e-324"),
        (.double(.nan), #""nan""#),
        (.double(-.nan), #""nan""#),
        (.double(.infinity), #""inf""#),
        (.double(-.infinity), #""-inf""#),
        (.date(Date(timeIntervalSinceReferenceDate: 1.25)), #""2001-01-01T00:00:01.25Z""#),
        (.data(Data()), #""""#),
        (.data(Data([0xFB, 0xFF, 0x00, 0x01])), #""+/8AAQ==""#),
        ("\"\\/\u{8}\u{c}\n\r\t\0\u{1f}", #""\"\\/\b\f\n\r\t\u0000\u001F""#),
        ("\u{7f}\u{2028}\u{2029}\u{feff}é😀", "\"\u{7f}\u{2028}\u{2029}\u{feff}é😀\""),
    ]

    @Test("a value is written as JSON", arguments: leaves)
    func leaf(value: StoredValue, text: String) throws {
        // Compared as UTF-8, because equal strings may differ in their scalars.
        #expect(try JSONWriter.compactText(of: value) == Array(text.utf8))
    }
}
