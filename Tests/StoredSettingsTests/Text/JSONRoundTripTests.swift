// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

@Suite("JSON round trips")
struct JSONRoundTripTests {
    /// A JSON object with every kind of token.
    static let sample = #"""
        {
          "é😀": [true, false, null, -0, 12.5e-3, 170141183460469231731687303715884105727],
          "text": "\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00 é😀",
          "nested": {"a": {"b": [[], {}, [{"c": 1e22}]]}},
          "": 0.1
        }
        """#

    @Test("written JSON is read as the same value", arguments: 0..<4)
    func roundTrip(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for round in 0..<150 {
            let entries = random.entries(depth: 4)
            let text = try JSONWriter.prettyText(of: .dictionary(entries))
            let value = StoredValue.dictionary(entries)
            if .dictionary(try JSONReader.readObject(text)) != value { Issue.record("indented, round \(round)") }
            let compact = try JSONWriter.compactText(of: value)
            if try JSONReader.read(compact) != value { Issue.record("compact, round \(round)") }
            if try JSONWriter.prettyText(of: .dictionary(JSONReader.readObject(compact))) != text {
                Issue.record("rewritten, round \(round)")
            }
        }
    }

    @Test("truncated JSON is an error, wherever it is truncated")
    func truncation() throws {
        let text = Array(Self.sample.utf8)
        _ = try JSONReader.readObject(text)
        for count in 0..<text.count {
            let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.readObject(Array(text.prefix(count))) }
            // The error is at the end, or at the start of a truncated word such as `fals`.
            #expect(max(0, count - 4)...count ~= error?.offset ?? -1)
        }
    }
}
