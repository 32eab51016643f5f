// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

/// JSON that RFC 8259 accepts, rejects and leaves to the implementation, compared with Foundation.
@Suite("JSON conformance")
struct JSONConformanceTests {
    static let accepted: [String] = [
        "[]", "[[]   ]", "[\"\"]", "[\"a\"]", "[false]", "[null, 1, \"1\", {}]", "[null]", "[1\n]", " [1]", "[2] ",
        "[1,null,2]",
        "[123e65]", "[0e+1]", "[0e1]", "[ 4]", "[-0.000000000000000000000000001]", "[20e1]", "[-0]", "[-123]", "[-1]",
        "[-0.0]",
        "[1E22]", "[1E-2]", "[1E+2]", "[123e45]", "[123.456e78]", "[1e-2]", "[1e+2]", "[123]", "[123.456789]",
        "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", "{}", "{\"\":0}", "{\"foo\\u0000bar\": 42}",
        "{ \"min\": -1.0e+28, \"max\": 1.0e+28 }",
        "{\"a\":[]}", "{\n\"a\": \"b\"\n}", "[\"\\u0060\\u012a\\u12AB\"]", "[\"\\uD801\\udc37\"]",
        "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\\u0000\"]", "[\"a/*b*/c/*d//e\"]", "[\"\\\\a\"]",
        "[\"\\uDBFF\\uDFFF\"]",
        "[\"\\uFFFF\"]", "[\"\u{ffff}\"]", "[\"\\u0000\"]", "[\"π\"]", "[\"\u{1bfff}\"]", "[\"asd \"]", "\" \"",
        "[\"\u{2028}\"]",
        "[\"\\u005C\"]", "[\"\u{7f}\"]", "false", "42", "-0.1", "null", "\"asd\"", "true", "\"\"", "[\"a\"]\n", " [] ",
    ]

    static let rejected: [String] = [
        "", " ", "[1 true]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\"]]", "[\"x\"", "[x", "[3[4]]",
        "[1:2]", "[,]",
        "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[*]", "[\"\"", "[1,", "[{}", "[fals]", "[nul]", "[tru]",
        "[++1234]", "[+1]",
        "[+Inf]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]", "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]",
        "[0E+]",
        "[0E]", "[0e+]", "[1.0e+]", "[1.0e-]", "[1.0e]", "[1 000.0]", "[1eE2]", "[2.e+3]", "[9.e+]", "[Inf]", "[NaN]",
        "[\u{ff11}]",
        "[1+2]", "[0x1]", "[0x42]", "[Infinity]", "[0e+-1]", "[-123.123foo]", "[-Infinity]", "[-foo]", "[- 1]",
        "[-012]", "[-.123]",
        "[1ea]", "[1.]", "[.123]", "[1.2a-3]", "[012]", "{\"x\", null}", "{\"x\"::\"b\"}", "{\"a\":\"a\" 123}",
        "{key: 'value'}",
        "{[: \"x\"}", "{\"a\" b}", "{:\"b\"}", "{\"a\" \"b\"}", "{\"a\":", "{\"a\"", "{1:1}", "{null:null,null:null}",
        "{\"id\":0,,,,,}", "{'a':0}", "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}//",
        "{\"a\":\"b\",,\"c\":\"d\"}", "{a: \"b\"}",
        "{\"a\":\"a", "{ \"foo\" : \"bar\", \"a\" }", "{\"a\":\"b\"}#", "[\"\\uD800\\\"]", "[\"\\uD800\\u\"]",
        "[\"\\uD800\\u1x\"]", "[é]",
        "[\"\\x00\"]", "[\"\\\\\\\"]", "[\"\\\t\"]", "[\"\\🌀\"]", "[\"\\\"]", "[\"\\u00A\"]", "[\"\\a\"]",
        "[\"\\uqqqq\"]", "[\\u0020\"asd\"]",
        "[\\n]", "\"", "['single quote']", "abc", "[\"\\", "[\"a\0a\"]", "[\"new\nline\"]", "[\"\t\"]", "\"\\UA66D\"",
        "\"\"x",
        "<.>", "[<null>]", "[1]x", "[1]]", "[\"asd]", "aå", "[True]", "1]", "{\"x\": true,", "[][]", "]", "{}}",
        "{\"\":", "{\"a\":/*b*/1}",
        "{\"a\": true} \"x\"", "[", "[\u{c}]", "[\u{2060}]", "[\u{a0}]", "{", "[\"a", "{\"a", "1 2", "nulll", "tru",
        "\u{2060}",
    ]

    /// JSON that Foundation may treat differently: it keeps one of two equal names and accepts trailing commas, for example.
    static let differing: [(text: String, isAccepted: Bool)] = [
        ("{\"a\":1,\"a\":2}", false),
        ("[\"\",]", false),
        ("[1,]", false),
        ("{\"id\":0,}", false),
        ("[1e400]", false),
        ("[100000000000000000000000000000000000000000]", false),
        ("[\"\\uD800\"]", false),
        ("[\"\\uDFAA\\uD800\"]", false),
        ("[\"\\uD888\\u1234\"]", false),
        ("\u{feff}{}", true),
        ("[1e-400]", true),
        ("[-170141183460469231731687303715884105728]", true),
    ]

    private func isAccepted(_ text: String) -> Bool {
        do {
            _ = try JSONReader.read(Array(text.utf8))
            return true
        } catch {
            return false
        }
    }

    @Test("valid JSON is accepted, as it is by Foundation", arguments: accepted)
    func accepts(text: String) {
        #expect(isAccepted(text))
        #expect(throws: Never.self) {
            try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        }
    }

    @Test("invalid JSON is rejected, as it is by Foundation", arguments: rejected)
    func rejects(text: String) {
        #expect(!isAccepted(text))
        #expect(throws: (any Error).self) {
            try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        }
    }

    @Test("where Foundation may differ, no accepted JSON loses data", arguments: differing)
    func differs(text: String, isAccepted: Bool) {
        #expect(self.isAccepted(text) == isAccepted)
    }

    @Test("Foundation reads the JSON that is written", arguments: 0..<3)
    func foundationReads(seed: UInt64) throws {
        var random = SeededGenerator(seed: 2_000 + seed)
        for _ in 0..<100 {
            let names = random.entries(depth: 0)
            let strings = names.mapValues { value in if case .string(let text) = value { text } else { "" } }
            let text = try JSONWriter.prettyText(of: .dictionary(strings.mapValues(StoredValue.string)))
            let decoded = try JSONDecoder().decode([String: String].self, from: Data(text))
            if decoded != strings { Issue.record("Foundation reads different strings: \(strings)") }
        }
    }
}
