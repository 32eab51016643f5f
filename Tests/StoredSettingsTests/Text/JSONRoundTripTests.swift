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
            let text = try JSONWriter.text(of: entries)
            let value = StoredValue.dictionary(entries)
            if .dictionary(try JSONReader.readObject(text)) != value { Issue.record("indented, round \(round)") }
            let compact = try JSONWriter.compactText(of: value)
            if try JSONReader.read(compact) != value { Issue.record("compact, round \(round)") }
            if try JSONWriter.text(of: JSONReader.readObject(compact)) != text {
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

    @Test("mutated JSON never traps, and values that are read can be written", arguments: 0..<4)
    func mutation(seed: UInt64) throws {
        var random = SeededGenerator(seed: 1_000 + seed)
        let structural = Array(#"{}[]",:\u0019-+.eE tfn/"#.utf8) + [0, 0x0A, 0x0D, 0x7F, 0x80, 0xC3, 0xED, 0xF0, 0xFF]
        var texts = [Array(Self.sample.utf8)]
        for _ in 0..<4 { texts.append(try JSONWriter.compactText(of: .dictionary(random.entries(depth: 2)))) }
        var valid = 0
        for round in 0..<5_000 {
            var text = texts[round % texts.count]
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                guard let index = text.indices.randomElement(using: &random) else { continue }
                let byte = structural.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<4, using: &random) {
                case 0: text[index] = byte
                case 1: text[index] = UInt8.random(in: 0...255, using: &random)
                case 2: text.insert(byte, at: index)
                default: text.remove(at: index)
                }
            }
            do {
                let value = try JSONReader.read(text)
                valid += 1
                if try JSONReader.read(JSONWriter.compactText(of: value)) != value { Issue.record("\(text)") }
            } catch let error as JSONSyntaxError {
                let isValidPosition = error.line >= 1 && error.column >= 1 && 0...text.count ~= error.offset
                if !isValidPosition { Issue.record("\(text) has an error at \(error)") }
            }
        }
        // Both outcomes must be frequent enough to be tested.
        #expect((250..<4_750).contains(valid))
    }
}
