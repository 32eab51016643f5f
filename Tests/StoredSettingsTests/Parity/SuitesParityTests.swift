// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization
import TestSupport
import Testing

extension SettingKeys {
    fileprivate static let low = SettingKey("low", default: 1)
    fileprivate static let high = SettingKey("high", default: 10)
    fileprivate static let note = SettingKey<String?>("note")
}

@Suite("Parity: suites", .deadlockLimit)
struct SuitesParityTests {
    private let suite = SettingsSuite.inMemory(["low": 2, "high": 20, "note": "text", "other": true])

    @Test("Row 37: any number of keys are reset at once, by definition or by string")
    func reset() async throws {
        var changes = suite.changes().makeAsyncIterator()
        try await suite.reset(.low, .high)
        #expect(suite[.low] == 1 && suite[.high] == 10)
        #expect(await changes.next()?.keys == ["high", "low"])
        try await suite.setStoredValue(nil, forKey: "other")
        #expect(suite.snapshot() == ["note": "text"])
        try await Setting(.note, suite: suite).reset()
        #expect(suite.keys.isEmpty)

        for number in 0..<100 { try await suite.setStoredValue(1, forKey: "key\(number)") }
        try await suite.transaction { values in
            for number in 0..<99 { values[storedValueFor: "key\(number)"] = nil }
        }
        #expect(suite.keys == ["key99"])
        suite[.low] = 5
        suite[.note] = "again"
        let keys: [SettingKeys] = [.low, .note, .high]
        try await suite.transaction { values in
            for key in keys { try values.reset(key) }
        }
        #expect(suite.keys == ["key99"])
    }

    @Test("Row 38: removeAll removes all values of its suite only")
    func removeAll() throws {
        let other = SettingsSuite.inMemory(["low": 2])
        try suite.removeAll()
        #expect(suite.keys.isEmpty)
        #expect(suite[.low] == 1 && suite[.note] == nil)
        #expect(other[.low] == 2)
    }

    @Test("Row 39: isSet and contains report whether a value is stored, by setting, key or string")
    func isSet() throws {
        let high = Setting(.high, suite: suite)
        #expect(high.isSet && suite.contains(.high) && suite.contains("high"))
        try high.reset()
        #expect(!high.isSet && !suite.contains(.high) && !suite.contains("high"))
        high.value = high.defaultValue
        #expect(high.isSet)
        // A stored null is a stored value.
        let count = Setting<Int?>("count", default: 42, suite: suite)
        count.value = nil
        #expect(count.isSet && suite.contains("count"))
    }

    @Test("Row 44: a settings file is readable JSON with sorted names")
    func readable() async throws {
        try await withFileSuite { suite, path in
            suite[.note] = "Grüße / π"
            suite[.low] = 3
            try await Setting<Set<String>>("hosts", default: [], suite: suite).set(["b.example", "a.example"])
            try await Setting("ratio", default: 0.5, suite: suite).set(0.1)
            try await suite.checkpoint()
            let expected = """
                {
                  "hosts": [
                    "a.example",
                    "b.example"
                  ],
                  "low": 3,
                  "note": "Grüße / π",
                  "ratio": 0.1
                }

                """
            #expect(try path.fileContents == expected)
            #expect(Setting(.low, suite: suite).explain().description.contains(path))
        }
    }
}
