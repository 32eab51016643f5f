// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StoredSettings

@Suite("JSONEditor")
struct JSONEditorTests {
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let before: String
        /// The new values; `nil` removes the member.
        let changes: [String: StoredValue?]
        let after: String

        init(_ name: String, _ before: String, _ changes: [String: StoredValue?], _ after: String) {
            (testDescription, self.before, self.changes, self.after) = (name, before, changes, after)
        }
    }

    private static func removing(_ names: String...) -> [String: StoredValue?] {
        var changes: [String: StoredValue?] = [:]
        for name in names { changes.updateValue(.none, forKey: name) }
        return changes
    }

    static let values = [
        Case(
            "a value is replaced between its comments",
            "{\"a\": /*x*/ 1 /*y*/, // z\n}",
            ["a": 2],
            "{\"a\": /*x*/ 2 /*y*/, // z\n}"
        ),
        Case(
            "odd spaces and other values stay",
            "{ \"b\" :1e2,\n\"a\":  1 }\n\n",
            ["a": 2],
            "{ \"b\" :1e2,\n\"a\":  2 }\n\n"
        ),
        Case("a byte order mark stays", "\u{FEFF}{\"a\":1}", ["a": 2], "\u{FEFF}{\"a\":2}"),
        Case(
            "a new array has the indentation and the line breaks of the file",
            "{\r\n\t\"b\": 1, // b\r\n\t\"a\": 1\r\n}",
            ["b": [1, ["x": true]]],
            "{\r\n\t\"b\": [\r\n\t\t1,\r\n\t\t{\r\n\t\t\t\"x\": true\r\n\t\t}\r\n\t], // b\r\n\t\"a\": 1\r\n}"
        ),
        Case(
            "a value among others on its line stays on it",
            "{\"a\": 1, \"b\": 2}",
            ["b": [1, 2]],
            "{\"a\": 1, \"b\": [1,2]}"
        ),
        Case(
            "an object is edited member by member",
            "{\n  \"a\": {\n    // x\n    \"x\": 1,\n    /* y */ \"y\": [ 1,2 ], // y\n  },\n}\n",
            ["a": ["x": 3, "y": [1, 2], "z": 4]],
            "{\n  \"a\": {\n    // x\n    \"x\": 3,\n    /* y */ \"y\": [ 1,2 ], // y\n    \"z\": 4,\n  },\n}\n"
        ),
    ]

    static let insertions = [
        Case(
            "a new name has its place in a sorted file",
            "{\n  \"a\": 1,\n  \"c\": 3 // c\n}",
            ["b": 2],
            "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3 // c\n}"
        ),
        Case(
            "a new first name is before the comments of the next",
            "{\n  // b\n  \"b\": 1\n}",
            ["a": 2],
            "{\n  \"a\": 2,\n  // b\n  \"b\": 1\n}"
        ),
        Case(
            "a new last name is behind the comment of the last member",
            "{\n  \"a\": 1 // a\n}",
            ["b": 2],
            "{\n  \"a\": 1, // a\n  \"b\": 2\n}"
        ),
        Case(
            "a new name is last in a file that is not sorted",
            "{\n \"z\": 1,\n \"c\": 3\n /* end */\n}",
            ["b": 2, "a": 1],
            "{\n \"z\": 1,\n \"c\": 3,\n \"a\": 1,\n \"b\": 2\n /* end */\n}"
        ),
        Case("a trailing comma stays one", "{\n  \"a\": 1,\n}", ["b": 2], "{\n  \"a\": 1,\n  \"b\": 2,\n}"),
        Case(
            "a file on one line stays on it",
            "{\"a\": 1, \"c\": 2}",
            ["b": ["x": 1]],
            "{\"a\": 1, \"b\": {\"x\":1}, \"c\": 2}"
        ),
        Case("a file without spaces gets none", "{\"a\":1}", ["b": 2, "": 0], "{\"\":0,\"a\":1,\"b\":2}"),
        Case(
            "a comment does not swallow a new member",
            "{\"a\": 1 // a\n}",
            ["b": 2],
            "{\"a\": 1, // a\n  \"b\": 2\n}"
        ),
        Case(
            "an empty file gets lines",
            "// top\n{}\n",
            ["b": 2, "a": [:]],
            "// top\n{\n  \"a\": {},\n  \"b\": 2\n}\n"
        ),
        Case(
            "an object with only comments retains them",
            "{ // top\n\n  // more \n}",
            ["a": 1],
            "{ // top\n\n  // more \n  \"a\": 1\n}"
        ),
        Case(
            "an object with a comment on one line retains it",
            "{ /* none */ }",
            ["a": 1],
            "{ /* none */\n  \"a\": 1\n }"
        ),
        Case(
            "the schema remains first",
            "{\n  \"$schema\": \"x\",\n  \"b\": 1\n}",
            ["a": 1, "#": 2],
            "{\n  \"$schema\": \"x\",\n  \"#\": 2,\n  \"a\": 1,\n  \"b\": 1\n}"
        ),
        Case(
            "a schema elsewhere does not count for the order",
            "{\n  \"b\": 1,\n  \"$schema\": \"x\"\n}",
            ["c": 1, "a": 0],
            "{\n  \"a\": 0,\n  \"b\": 1,\n  \"c\": 1,\n  \"$schema\": \"x\"\n}"
        ),
    ]

    static let removals = [
        Case(
            "a member is removed with the comments behind it on its own line, and no others",
            "{\n  // section\n\n  // a\n  /* a */\n  \"a\": 1, // a\n  // b\n  \"b\": 2\n  // end\n}",
            removing("a"),
            "{\n  // section\n\n  // a\n  /* a */\n  // b\n  \"b\": 2\n  // end\n}"
        ),
        Case(
            "comments on a line with several members stay",
            "{ /* a */ \"a\": 1 /* 1 */, /* b */ \"b\": 2 /* 2 */ }",
            removing("a", "b"),
            "{ /* a */  /* 1 */ /* b */ /* 2 */ }"
        ),
        Case(
            "comments on lines between a value and its comma stay",
            "{\n  \"a\": 1\n  // b\n  , \"b\": 2\n}",
            removing("a"),
            "{\n  \n  // b\n   \"b\": 2\n}"
        ),
        Case(
            "a comment on a line between a value and its comma stays when another name replaces the member",
            "{\n  \"a\": 1\n  // a\n  ,\n}",
            ["b": 2, "a": .none],
            "{\n  \"b\": 2,\n  // a\n  \n}"
        ),
        Case(
            "the comma before a removed last member is removed",
            "{\n  \"a\": 1, // a\n  \"b\": 2 // b\n}",
            removing("b"),
            "{\n  \"a\": 1 // a\n}"
        ),
        Case("a trailing comma stays", "{\n  \"a\": 1,\n  \"b\": 2,\n}", removing("b"), "{\n  \"a\": 1,\n}"),
        Case("blank lines stay", "{\n\n  \"a\": 1,\n\n  \"b\": 2\n\n}", removing("a"), "{\n\n\n  \"b\": 2\n\n}"),
        Case(
            "members on one line are removed with a space",
            "{\"a\": 1, \"b\": 2, \"c\": 3}",
            removing("a", "c"),
            "{\"b\": 2}"
        ),
        Case(
            "a line comment does not swallow the rest of a line",
            "{\"a\": 1, // a\n  \"b\": 2, \"c\": 3 }",
            removing("b"),
            "{\"a\": 1, // a\n  \"c\": 3 }"
        ),
        Case("nothing remains of a file without comments", "{ \"a\": 1,\n \"b\": 2 }\n", removing("a", "b"), "{}\n"),
        Case(
            "all members can be removed",
            "{ // top\n  \"$schema\": \"x\",\n  // a\n  \"a\": 1,\n\n  // end\n}",
            removing("a"),
            "{ // top\n  \"$schema\": \"x\",\n  // a\n\n  // end\n}"
        ),
        Case(
            "a name can be replaced by another",
            "{\n  // old\n  \"old\": 1\n}",
            ["new": 2, "old": .none],
            "{\n  // old\n  \"new\": 2\n}"
        ),
        Case(
            "a member can be replaced by others on its line",
            "{ \"b\": 1, \"c\": 2 }",
            ["a": 1, "d": 2, "b": .none, "c": .none],
            "{ \"a\": 1, \"d\": 2 }"
        ),
    ]

    @Test("members are replaced, inserted and removed in the text", arguments: values + insertions + removals)
    func edits(example: Case) throws {
        let text = try SettingsFileText(Array(example.before.utf8))
        var contents = text.contents
        for (key, value) in example.changes { contents[key] = value }
        let result = try text.changed(to: contents, path: FilePath("/settings.json"))
        #expect(String(decoding: result, as: UTF8.self) == example.after)
        #expect(try SettingsFileText(result).contents == contents)
    }

    @Test("names in a value that differ only in their normalization are different names")
    func normalization() throws {
        let text = try SettingsFileText(Array("{\"a\": {\"e\u{301}\": 1, \"b\": 2}}".utf8))
        let result = try text.changed(to: ["a": ["\u{e9}": 1, "b": 2]], path: FilePath("/settings.json"))
        #expect(result == Array("{\"a\": {\"b\": 2, \"\u{e9}\": 1}}".utf8))
    }

    @Test("a value with the maximum nesting is edited, and one more level is an error")
    func depth() throws {
        func nested(_ levels: Int, _ leaf: StoredValue) -> StoredValue {
            (0..<levels).reduce(leaf) { value, _ in ["x": value] }
        }
        let path = FilePath("/settings.json")
        let limit = StoredValue.maximumDepth
        let compact = try JSONWriter.compactText(of: .dictionary(["a": nested(limit, 1)]))
        let text = try SettingsFileText(compact)
        let result = try text.changed(to: ["a": nested(limit, 2)], path: path)
        #expect(result == (try JSONWriter.compactText(of: .dictionary(["a": nested(limit, 2)]))))
        expectError(.unstorable) { try text.changed(to: ["a": nested(limit, [])], path: path) }
    }
}
