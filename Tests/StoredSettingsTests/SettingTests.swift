// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@Suite("Setting", .deadlockLimit)
struct SettingTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite
    private let port: Setting<Int>

    init() {
        suite = .inMemory(reporter: reporter)
        port = Setting("port", default: 8080, suite: suite)
    }

    @Test("a value of another type is reported and stays stored, and the default is used")
    func undecodable() throws {
        try suite.setStoredValue("many", forKey: "port")
        #expect(port.value == 8080)
        let error = try #require(reporter.errors.first)
        #expect(error.code == .typeMismatch)
        #expect(error.key == "port")
        #expect(error.suite == "in memory")
        #expect(!error.message.contains("many"))
        #expect(error.consequence == "the default is used, and the stored value is left as it is")
        #expect(error.remedy == "assign a new value")
        #expect(port.isSet)
        expectError(.typeMismatch) { try port.load() }
        #expect(suite[storedValueFor: "port"] == "many")
        port.value = 1
        #expect(suite[storedValueFor: "port"] == 1)
    }

    @Test("an undecodable value is reported once, however many reads and observations meet it")
    func reportedOnce() async throws {
        let observation = port.observe { _ in }
        var values = port.values.makeAsyncIterator()
        _ = await values.next()
        try await suite.setStoredValue("many", forKey: "port")
        for _ in 0..<10 { _ = port.value }
        try await suite.setStoredValue(1, forKey: "other")
        _ = port.value
        #expect(reporter.errors.count == 1)
        try await suite.setStoredValue("more", forKey: "port")
        _ = port.value
        #expect(reporter.errors.count == 2)
        port.value = 1
        #expect(await values.next() == 1)
        try await suite.setStoredValue("more", forKey: "port")
        _ = port.value
        #expect(reporter.errors.count == 3)
        observation.invalidate()
    }

    @Test("a message stays on one line, whatever the names in it")
    func singleLineMessages() throws {
        let setting = Setting("a\nb\u{1b}\u{202E}", default: ["x": 1], suite: suite)
        try suite.setStoredValue(["evil\n\u{2028}line": "text"], forKey: "a\nb\u{1b}\u{202E}")
        _ = setting.value
        let message = try #require(reporter.errors.first?.message)
        #expect(message.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control && $0 != "\u{2028}" })
        #expect(!message.contains("\u{202E}"))
        #expect(message.contains("evil\\n"))
    }
}
