// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

@Suite("StoredValue")
struct StoredValueTests {
    @Test("literals create values of the corresponding kinds")
    func literals() {
        let value: StoredValue = [
            "null": nil, "bool": true, "integer": 3, "double": 1.5, "string": "x", "array": [1, "a"],
        ]
        #expect(value["null"] == .null)
        #expect(value["bool"] == .bool(true))
        #expect(value["integer"] == .integer(3))
        #expect(value["double"] == .double(1.5))
        #expect(value["string"] == .string("x"))
        #expect(value["array"]?[1] == "a")
        #expect(value["array"]?[2] == nil)
        #expect(value["array"]?["a"] == nil)
    }

    @Test("values are equal if their bytes are equal")
    func equality() {
        #expect(StoredValue.double(.nan) == .double(.nan))
        #expect(StoredValue.double(0.0) != .double(-0.0))
        #expect(StoredValue.string("\u{e9}") != .string("e\u{301}"))
        #expect(StoredValue.dictionary(["\u{e9}": 1]) != .dictionary(["e\u{301}": 1]))
        #expect(StoredValue.integer(1) != .double(1))
        #expect(StoredValue.integer(1) != .bool(true))
        #expect(Set<StoredValue>([.double(.nan), .double(.nan), .double(0), .double(-0.0)]).count == 3)
    }
}
