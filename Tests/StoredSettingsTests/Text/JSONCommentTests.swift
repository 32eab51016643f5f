// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

@Suite("Comments in JSON")
struct JSONCommentTests {
    static let valid: [(String, [String: StoredValue])] = [
        ("// top\n{/* a */\"a\"/**/:/***/1/* x * / */,// b\r\"b\"// c\r\n:[1,/*]*/],}// end", ["a": 1, "b": [1]]),
        ("{\"a\": {\"b\": [[], {},],},}\n/* end */", ["a": ["b": [[], [:]]]]),
        ("\u{FEFF}//\u{FEFF}é😀\n{}", [:]),
        ("{\"//\": \"/* a */\"}", ["//": "/* a */"]),
        ("{}//", [:]),
    ]

    @Test("a settings file is read with comments and trailing commas", arguments: valid)
    func reads(text: String, entries: [String: StoredValue]) throws {
        #expect(try JSONReader.readObject(Array(text.utf8), .settingsFile) == entries)
        let isStrict = !text.contains { $0 == "/" } || text.hasPrefix("{\"//\"")
        if !isStrict { #expect(throws: JSONSyntaxError.self) { try JSONReader.readObject(Array(text.utf8)) } }
    }

    typealias Case = JSONSyntaxErrorTests.Case

    static let invalid = [
        Case("{\n  /* a *", 2, 3, "a comment is not closed; expected '*/'"),
        Case("{\"é\": 1} /*/", 1, 10, "a comment is not closed; expected '*/'"),
        Case("{ / }", 1, 3, "a '/' does not begin a comment, which begins with '//' or '/*'"),
        Case("{}/", 1, 3, "a '/' does not begin a comment, which begins with '//' or '/*'"),
        Case("{\"a\": 1, # no\n}", 1, 10, "expected a name in double quotes after ','"),
        Case("{// é\u{0}\n}", 1, 6, "a comment contains a NUL"),
        Case("{/*\n\u{0}*/}", 2, 1, "a comment contains a NUL"),
        Case(Array("{// é".utf8) + [0xC3, 0x0A, 0x7D], 1, 6, "a comment is not valid UTF-8"),
        Case(Array("{/* ".utf8) + [0xC3], 1, 5, "a comment is not valid UTF-8"),
        Case("{,}", 1, 2, "expected '}' or a name in double quotes after '{'"),
        Case("{\"a\": 1,,}", 1, 9, "expected a name in double quotes after ','"),
        Case("{\"a\": [,]}", 1, 8, "expected a value"),
        Case("{\"a\": [1,,]}", 1, 10, "expected a value"),
        Case("{\"a\": 1,]", 1, 9, "expected a name in double quotes after ','"),
        Case("{\"a\": // 1\n}", 2, 1, "expected a value"),
        Case("// only\n", 2, 1, "unexpected end of input"),
        Case("{} // a\n {}", 2, 2, "unexpected characters after the value"),
        Case("/* a */ []", 1, 9, "expected '{', because the file must contain one object"),
        Case("{\"a\": 1, /* a */ \"a\": 2}", 1, 18, "an object contains the name 'a' twice"),
        Case(" \n", 1, 1, "the file is empty"),
    ]

    @Test("an error in a file with comments contains the position and the problem", arguments: invalid)
    func errors(example: Case) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.readObject(example.bytes, .settingsFile) }
        #expect(error?.problem == example.problem)
        #expect(error?.line == example.line)
        #expect(error?.column == example.column)
    }
}
