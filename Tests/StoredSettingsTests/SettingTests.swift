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

    @Test("the default is used while nothing is stored, and is never stored")
    func defaults() throws {
        #expect(port.value == 8080)
        #expect(!port.isSet)
        #expect(try port.load() == nil)
        #expect(suite.keys.isEmpty)
    }

    @Test("an assigned value is read by every setting with the key")
    func assigning() throws {
        port.value = 9090
        #expect(port.value == 9090)
        #expect(Setting("port", default: 1, suite: suite).value == 9090)
        #expect(try port.load() == 9090)
        #expect(port.isSet)
        #expect(suite.snapshot() == ["port": 9090])
    }

    @Test("assigning a value that equals the default stores it")
    func assigningDefault() {
        port.value = 8080
        #expect(port.isSet)
    }

    @Test("resetting removes the stored value")
    func resetting() throws {
        port.value = 1
        try port.reset()
        #expect(port.value == 8080)
        #expect(!port.isSet)
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
        #expect(suite.storedValue(forKey: "port") == "many")
        port.value = 1
        #expect(suite.storedValue(forKey: "port") == 1)
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

    @Test("update changes the current value and returns the new one")
    func updating() throws {
        #expect(try port.update { $0 += 1 } == 8081)
        #expect(port.value == 8081)
    }

    @Test("an update that does not change the default stores nothing")
    func updatingNothing() throws {
        try port.update { _ in }
        #expect(!port.isSet)
    }

    @Test("an update of an undecodable value throws")
    func updatingUndecodable() throws {
        try suite.setStoredValue("many", forKey: "port")
        #expect(throws: SettingsError.self) { try port.update { $0 += 1 } }
        #expect(suite.storedValue(forKey: "port") == "many")
    }

    @Test("an error thrown in the body of an update is rethrown, and nothing changes")
    func updateThrowing() {
        struct Oops: Error {}
        #expect(throws: Oops.self) {
            try port.update {
                $0 = 1
                throw Oops()
            }
        }
        #expect(!port.isSet)
    }

    @Test("a value outside the range is neither stored nor read")
    func range() throws {
        let port = Setting(SettingKey("port", default: 8080, in: 1...65_535), suite: suite)
        port.value = 0
        #expect(port.value == 8080)
        #expect(!port.isSet)
        #expect(reporter.errors.map(\.code) == [.validationFailed])
        expectError(.validationFailed) { try port.set(70_000) }
        expectError(.validationFailed) { try port.update { $0 = -1 } }
        try suite.setStoredValue(70_000, forKey: "port")
        #expect(port.value == 8080)
        expectError(.validationFailed) { try port.load() }
        #expect(reporter.errors.allSatisfy { !$0.message.contains("70") })
    }

    @Test("an optional with a range accepts nil and the values in the range")
    func optionalRange() throws {
        let port = Setting(SettingKey<Int?>("port", in: 1...10) { $0 != 5 }, suite: suite)
        try port.set(3)
        expectError(.validationFailed) { try port.set(11) }
        expectError(.validationFailed) { try port.set(5) }
        #expect(port.value == 3)
        try port.set(nil)
        #expect(!port.isSet)
    }

    @Test("half-open and one-sided ranges are supported")
    func rangeKinds() throws {
        let low = Setting(SettingKey("low", default: 1, in: 1...), suite: suite)
        let high = Setting(SettingKey("high", default: 1, in: ..<10), suite: suite)
        #expect(throws: SettingsError.self) { try low.set(0) }
        #expect(throws: SettingsError.self) { try high.set(10) }
        try low.set(.max)
        try high.set(.min)
    }

    @Test("a validator rejects a value by returning false or by throwing, and its error is preserved")
    func validators() throws {
        struct Odd: Error {}
        let even = Setting(
            SettingKey("even", default: 0) { if $0 == 7 { throw Odd() } else { $0 % 2 == 0 } },
            suite: suite
        )
        try even.set(2)
        expectError(.validationFailed) { try even.set(3) }
        let error = #expect(throws: SettingsError.self) { try even.set(7) }
        #expect(error?.underlying is Odd)
        #expect(even.value == 2)
    }

    @Test("a default in a closure is computed each time it is used")
    func computedDefault() {
        let other = Setting("base", default: 1, suite: suite)
        let twice = Setting(SettingKey("twice", default: { other.value * 2 }), suite: suite)
        #expect(twice.value == 2)
        other.value = 5
        #expect(twice.value == 10)
        #expect(!twice.isSet)
    }

    @Test("an empty key is rejected with an error")
    func emptyKey() {
        let emptySetting = Setting("", default: 1, suite: suite)
        #expect(emptySetting.value == 1)
        emptySetting.value = 2
        #expect(reporter.errors.map(\.code) == [.invalidKey])
        expectError(.invalidKey) { try emptySetting.set(2) }
        expectError(.invalidKey) { try suite.setStoredValue(1, forKey: "") }
        #expect(suite.keys.isEmpty)
    }

    @Test(
        "any other key is valid, and its name has no structure",
        arguments: ["log.level", "a@b", " ", "🎛️", "a/b", "\0", "\u{301}"]
    )
    func keys(key: String) throws {
        let setting = Setting(key, default: 1, suite: suite)
        try setting.set(2)
        #expect(suite.keys == [key])
        #expect(suite.contains(key))
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

    @Test("an explanation contains the layer, the place and the problem")
    func explaining() throws {
        #expect(port.explain().layer == .default)
        #expect(port.explain().description == "port = 8080, the default")
        port.value = 1
        let stored = port.explain()
        #expect(stored.layer == .store)
        #expect(stored.shadowed == [.default: 8080])
        #expect(stored.place == suite.persistence)
        #expect(stored.description == "port = 1, \(suite.persistence), over the default 8080")
        let note = Setting(SettingKey<Int?>("note"), suite: suite)
        #expect(note.explain().description == "note = nil, the default")
        try suite.setStoredValue("x", forKey: "port")
        let undecodable = port.explain()
        #expect(undecodable.value == 8080)
        #expect(undecodable.layer == .default)
        #expect(undecodable.problem?.code == .typeMismatch)
    }
}
