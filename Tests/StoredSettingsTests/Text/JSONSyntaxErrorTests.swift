// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

@Suite("JSONSyntaxError")
struct JSONSyntaxErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let bytes: [UInt8]
        let line: Int
        let column: Int
        let problem: String

        init(_ text: String, _ line: Int, _ column: Int, _ problem: String) {
            self.init(Array(text.utf8), line, column, problem)
        }

        init(_ bytes: [UInt8], _ line: Int, _ column: Int, _ problem: String) {
            self.bytes = bytes
            self.line = line
            self.column = column
            self.problem = problem
        }

        var testDescription: String { String(decoding: bytes, as: UTF8.self).debugDescription }
    }

    private static let longName = String(repeating: "n", count: 101)

    static let structure: [Case] = [
        Case("", 1, 1, "the file is empty"),
        Case(" \n\t\r\n", 1, 1, "the file is empty"),
        Case("\u{feff}", 1, 1, "the file is empty"),
        Case("\u{feff}\u{feff}{}", 1, 1, "expected a value"),
        Case("{", 1, 2, "unexpected end of input"),
        Case("{\"a\":1\n", 2, 1, "unexpected end of input"),
        Case("{a: 1}", 1, 2, "expected '}' or a name in double quotes after '{'"),
        Case("{1: 1}", 1, 2, "expected '}' or a name in double quotes after '{'"),
        Case("{\"a\" 1}", 1, 6, "expected ':' after a name"),
        Case("{\"a\": 1,}", 1, 9, "expected a name in double quotes after ','"),
        Case("{\"a\":\n  1\n  \"b\": 2}", 3, 3, "expected ',' or '}' after a value"),
        Case("{\"a\":\r  1\r  \"b\": 2}", 3, 3, "expected ',' or '}' after a value"),
        Case("{\"a\":\r\n  1\r\n  \"b\": 2}", 3, 3, "expected ',' or '}' after a value"),
        Case("{\"é😀e\u{301}\": 1 x", 1, 12, "expected ',' or '}' after a value"),
        Case("\u{feff}{\"a\": 1 x", 1, 9, "expected ',' or '}' after a value"),
        Case("[1, 2}", 1, 6, "expected ',' or ']' after a value"),
        Case("{\"a\": 1]", 1, 8, "expected ',' or '}' after a value"),
        Case("[1,]", 1, 4, "expected a value after ','"),
        Case("[,1]", 1, 2, "expected a value"),
        Case("{\"a\": }", 1, 7, "expected a value"),
        Case("{\"a\": True}", 1, 7, "expected a value"),
        Case("{\"a\": nul}", 1, 7, "expected a value"),
        Case("{\"a\": truex}", 1, 11, "expected ',' or '}' after a value"),
        Case("{\"a\": 'b'}", 1, 7, "expected a value"),
        Case("{} {}", 1, 4, "unexpected characters after the value"),
        Case("{}\0", 1, 3, "unexpected characters after the value"),
        Case("{\"a\": 1} // why", 1, 10, "unexpected characters after the value"),
        Case("{ // why\n}", 1, 3, "expected '}' or a name in double quotes after '{'"),
        Case("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", 3, 2, "an object contains the name 'a' twice"),
        Case("[{\"x\": {\"\\u0061\": 1, \"a\": 1}}]", 1, 22, "an object contains a name twice"),
        Case("{\"\u{e9}\": 1, \"e\u{301}\": 1}", 1, 10, "an object contains the name '\u{e9}' twice"),
        Case("{\"\(longName)\": 1, \"\(longName)\": 1}", 1, 110, "an object contains a name twice"),
    ]

    private static let encoding = "the file is not in UTF-8, perhaps in UTF-16; save it in UTF-8"

    static let encodings: [Case] = [
        Case([0xFF, 0xFE, 0x7B, 0, 0x7D, 0], 1, 1, encoding), Case([0xFE, 0xFF, 0, 0x7B, 0, 0x7D], 1, 1, encoding),
        Case([0x7B, 0, 0x7D, 0], 1, 1, encoding), Case([0, 0x7B, 0, 0x7D], 1, 1, encoding),
        Case([0, 0, 0, 0], 1, 1, "the file begins with null characters instead of text"),
    ]

    static let strings: [Case] = [
        Case("\"a", 1, 3, "unexpected end of input in a string"),
        Case("\"a\\", 1, 4, "unexpected end of input in a string"),
        Case("\"a\\u12", 1, 7, "unexpected end of input in a string"),
        Case("\"\\ud83d", 1, 8, "unexpected end of input in a string"),
        Case("\"\\ud83d\\", 1, 9, "unexpected end of input in a string"),
        Case("[\"a\nb\"]", 1, 4, "a string contains a line break; is its closing quotation mark missing?"),
        Case("[\"\\t\rb\"]", 1, 5, "a string contains a line break; is its closing quotation mark missing?"),
        Case("[\"a\tb\"]", 1, 4, "a string contains a control character that is not escaped"),
        Case("[\"a\0b\"]", 1, 4, "a string contains a control character that is not escaped"),
        Case("[\"\\n\u{1f}\"]", 1, 5, "a string contains a control character that is not escaped"),
        Case("[\"ab\\x41\"]", 1, 5, "a '\\' does not begin a valid escape"),
        Case("[\"\\u00g0\"]", 1, 7, "expected four hexadecimal digits after '\\u'"),
        Case("[\"\\ud83d\"]", 1, 3, "a '\\u' escape is an unpaired surrogate"),
        Case("[\"a\\ud83dx\"]", 1, 4, "a '\\u' escape is an unpaired surrogate"),
        Case("[\"\\ud83d\\n\"]", 1, 3, "a '\\u' escape is an unpaired surrogate"),
        Case("[\"\\ud83d\\ud83d\"]", 1, 3, "a '\\u' escape is an unpaired surrogate"),
        Case("[\"\\ud83d\\u0041\"]", 1, 3, "a '\\u' escape is an unpaired surrogate"),
        Case("[\"\\ude00\\ud83d\"]", 1, 3, "a '\\u' escape is an unpaired surrogate"),
    ]

    static let numbers: [Case] = [
        Case("[-]", 1, 3, "expected a digit after '-'"),
        Case("[+1]", 1, 2, "expected a value"),
        Case("[.5]", 1, 2, "expected a value"),
        Case("[01]", 1, 2, "a number has a leading zero"),
        Case("[-012.5]", 1, 3, "a number has a leading zero"),
        Case("[00]", 1, 2, "a number has a leading zero"),
        Case("[1.]", 1, 4, "expected a digit after '.'"),
        Case("[1.e5]", 1, 4, "expected a digit after '.'"),
        Case("[1e]", 1, 4, "expected a digit in an exponent"),
        Case("[1e+]", 1, 5, "expected a digit in an exponent"),
        Case("[1e5.2]", 1, 5, "expected ',' or ']' after a value"),
        Case("[0x10]", 1, 3, "expected ',' or ']' after a value"),
        Case("[NaN]", 1, 2, "expected a value"),
        Case("[-Infinity]", 1, 3, "expected a digit after '-'"),
        Case("-", 1, 2, "unexpected end of input"),
        Case(
            "[170141183460469231731687303715884105728]",
            1,
            2,
            "an integer is too large to be stored exactly; write it as a string"
        ),
        Case(
            "[-170141183460469231731687303715884105729]",
            1,
            2,
            "an integer is too large to be stored exactly; write it as a string"
        ),
        Case(
            "[1" + String(repeating: "0", count: 10_000) + "]",
            1,
            2,
            "an integer is too large to be stored exactly; write it as a string"
        ),
        Case("[ 1e309]", 1, 3, "a number is too large to be stored; write it as a string"),
        Case("[-1.5e99999999999999999999]", 1, 2, "a number is too large to be stored; write it as a string"),
    ]

    @Test("an error contains the position and the problem", arguments: structure + encodings + strings + numbers)
    func positions(example: Case) throws {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.read(example.bytes) }
        #expect(error?.problem == example.problem)
        #expect(error?.line == example.line)
        #expect(error?.column == example.column)
    }

    static let invalidUTF8: [[UInt8]] = [
        [0x80], [0xBF], [0xFE], [0xFF],
        [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xF0, 0x80, 0x80, 0x80],
        [0xF0, 0x8F, 0xBF, 0xBF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0xE2, 0x28, 0xA1],
        [0xF0, 0x9F, 0x28, 0x80],
    ]

    @Test("the first byte that is not valid UTF-8 is the position of the error", arguments: invalidUTF8)
    func invalidText(bytes: [UInt8]) throws {
        for prefix in ["{\n\"é😀", "{\n\"é\\n😀"] {
            for suffix in ["\":1}", "é\\n\":1}", "\u{80}\":1}"] {
                let text = Array(prefix.utf8) + bytes + Array(suffix.utf8)
                let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.read(text) }
                #expect(error?.problem == "a string is not valid UTF-8")
                #expect(error?.offset == prefix.utf8.count)
                #expect(error?.line == 2)
                #expect(error?.column == prefix.unicodeScalars.count - 1)
            }
        }
        let outside = #expect(throws: JSONSyntaxError.self) { try JSONReader.read(bytes) }
        #expect(outside?.problem == "expected a value")
    }

    @Test("every Unicode scalar is read in strings with and without escapes", arguments: [1, 2, 4, 16])
    func scalars(step: UInt32) throws {
        // Every boundary between lengths and ranges is close to a multiple of 64.
        for base in stride(from: UInt32(0x40), through: 0x11_0000, by: Int(64 * step)) {
            for scalar in [base - 1, base].compactMap(Unicode.Scalar.init) where scalar != "\\" {
                let plain = Array("\"\(scalar)\"".utf8)
                let mixed = Array("\"\\n\(scalar)\"".utf8)
                if try JSONReader.read(plain) != .string("\(scalar)") { Issue.record("plain \(scalar.value)") }
                if try JSONReader.read(mixed) != .string("\n\(scalar)") { Issue.record("mixed \(scalar.value)") }
            }
        }
    }
}
