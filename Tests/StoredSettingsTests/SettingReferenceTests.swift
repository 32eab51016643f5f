// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SettingKeys {
    fileprivate static let host = SettingKey("host", default: "localhost")
    fileprivate static let port = SettingKey("port", default: 8080)
}

@Suite("References to settings")
struct SettingReferenceTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite
    private let host: Setting<String>
    private let port: Setting<Int>

    init() {
        suite = .inMemory(reporter: reporter)
        (host, port) = (Setting(.host, suite: suite), Setting(.port, suite: suite))
    }

    @Test("Row 30: changes accept keys, and observations accept settings and keys alike")
    func observing() async {
        let changes = [suite.changes(of: .host, .port), suite.changes(of: "host", "port")]
        let counter = Counter()
        let observations = [
            suite.observe(host, port) { counter.add() }, suite.observe(.host, .port) { counter.add() },
        ]
        try? await suite.setStoredValue(1, forKey: "other")
        #expect(counter.count == 0)
        port.value = 5
        #expect(counter.count == 2)
        for changes in changes {
            #expect(await changes.first { _ in true }?.keys == ["port"])
        }
        withExtendedLifetime(observations) {}
    }

    @Test("keys are equal when their names and types are")
    func hashableKeys() {
        let keys: Set<AnySettingKey> = [
            .host, SettingKey("host", default: "other"), SettingKey("host", default: 1),
            .port, SettingKey<Int?>("port"),
        ]
        #expect(keys.count == 4)
        #expect(keys.contains(SettingKey("port", default: 1)))
        #expect(!keys.contains(SettingKey("port", default: "1")))
    }
}

@Suite("Definitions of settings")
struct SettingDefinitionTests {
    private struct Doubled: StoredValueBridge {
        func storedValue(from value: Int) throws -> StoredValue { (2 * value).storedValue() }
        func value(from storedValue: StoredValue) throws -> Int { try Int(storedValue: storedValue) / 2 }
    }

    private let suite = SettingsSuite.inMemory()

    @Test("a computed default combines with a bridge, a range and a validator")
    func computedDefaults() throws {
        let keys = [
            SettingKey("a", default: { 3 }, in: 1...9),
            SettingKey("a", default: { 3 }, validate: { (1...9).contains($0) }),
            SettingKey("a", default: { 3 }, as: Doubled(), validate: { (1...9).contains($0) }),
            SettingKey("a", default: { 3 }, in: 1...9, as: Doubled()),
            SettingKey("a", default: 3, in: 1...9, as: Doubled()),
        ]
        for (index, key) in keys.enumerated() {
            let setting = Setting(key, suite: suite)
            try setting.reset()
            #expect(setting.value == 3)
            expectError(.validationFailed) { try setting.set(10) }
            try setting.set(4)
            #expect(suite[storedValueFor: "a"] == (index < 2 ? 4 : 8))
        }
    }

    @Test("a setting without a key is defined by a range, a bridge and a validator")
    func settings() throws {
        let settings = [
            Setting("a", default: 3, suite: suite, in: 1...9) { $0 != 5 },
            Setting("a", default: 3, suite: suite, in: 1...) { $0 < 10 && $0 != 5 },
            Setting("a", default: 3, suite: suite, in: ...9) { $0 > 0 && $0 != 5 },
            Setting("a", default: 3, suite: suite, in: ..<10) { $0 > 0 && $0 != 5 },
            Setting("a", default: 3, suite: suite) { (1...9).contains($0) && $0 != 5 },
            Setting("a", default: 3, suite: suite, as: Doubled()) { (1...9).contains($0) && $0 != 5 },
            Setting("a", default: 3, suite: suite, in: 1...9, as: Doubled()) { $0 != 5 },
        ]
        for (index, setting) in settings.enumerated() {
            for value in [0, 5, 10] {
                expectError(.validationFailed) { try setting.set(value) }
            }
            try setting.set(4)
            #expect(suite[storedValueFor: "a"] == (index < 5 ? 4 : 8))
        }
        let optionals = [
            Setting<Int?>("b", suite: suite), Setting<Int?>("b", suite: suite, in: 1...9),
            Setting<Int?>("b", suite: suite, as: Doubled()) { $0 < 10 },
        ]
        for (index, setting) in optionals.enumerated() {
            #expect(setting.value == nil)
            try setting.set(4)
            #expect(suite[storedValueFor: "b"] == (index < 2 ? 4 : 8))
            if index > 0 { expectError(.validationFailed) { try setting.set(10) } }
            setting.value = nil
            #expect(!setting.isSet)
        }
    }
}

@Suite("Messages of errors")
struct SettingsErrorMessageTests {
    private struct Unexplained: Error {}
    private struct Explained: Error, CustomStringConvertible {
        let description = "the port is taken"
    }

    private let reporter = RecordingReporter()
    private let suite: SettingsSuite

    init() {
        suite = .inMemory(reporter: reporter)
    }

    @Test("a value outside the range is neither stored nor read, and names the range as the fix")
    func range() throws {
        let port = Setting("port", default: 8080, suite: suite, in: 1...65_535)
        port.value = 0
        #expect(reporter.errors.map(\.code) == [.validationFailed])
        expectError(.validationFailed) { try port.update { $0 = -1 } }
        let error = settingsError { try port.set(70_000) }
        #expect(!port.isSet)
        #expect(
            error?.message == "setting 'port' of suite 'in memory': the value is outside 1...65535. "
                + "The setting keeps the value it had. Assign a value in 1...65535."
        )
        try suite.setStoredValue(70_000, forKey: "port")
        #expect(port.value == 8080)
        #expect(
            reporter.errors.last?.message == "setting 'port' of suite 'in memory': the value is outside 1...65535. "
                + "The default is used, and the stored value is left as it is. Assign a value in 1...65535."
        )
        #expect(settingsError { _ = try port.load() }?.remedy == "assign a value in 1...65535")
    }

    @Test("the message names the file of a suite once")
    func paths() async throws {
        try await withFileSuite(reporter: reporter) { suite, path in
            let port = Setting("port", default: 8080, suite: suite, in: 1...65_535)
            // After a checkpoint, the message would also name the line.
            try await withoutCheckpoints(of: path) {
                try await suite.setStoredValue("text", forKey: "port")
                #expect(port.value == 8080)
            }
            let message = try #require(reporter.errors.first?.message)
            #expect(message.ranges(of: path).count == 1)
            #expect(message.hasPrefix("setting 'port' (\(path)): expected an integer, found a string."))
            #expect(message.hasSuffix("Correct it in the file, or assign a new value."))
        }
    }

    @Test("a validator's reason is in the message if its error has a description of its own")
    func reasons() {
        let setting = Setting("port", default: 1, suite: suite) { value in
            switch value {
            case 2: throw Explained()
            case 3: throw Unexplained()
            case 4: throw SettingsError(.invalidValue, fact: "the port is reserved", remedy: "use a higher port")
            default: return true
            }
        }
        let facts = [2, 3, 4].map { value in settingsError { try setting.set(value) } }
        #expect(facts[0]?.fact == "the setting's validator rejected the value: the port is taken")
        #expect(facts[1]?.fact == "the setting's validator rejected the value: it threw Unexplained")
        #expect(facts[2]?.fact == "the port is reserved" && facts[2]?.remedy == "use a higher port")
        #expect(facts[0]?.underlying is Explained && facts[1]?.underlying is Unexplained)
    }

    @Test("the description of a localized error is the message")
    func localized() {
        let error: any LocalizedError = SettingsError(.readOnly, fact: "the fact", remedy: "the fix")
        #expect(error.errorDescription == "the fact. The fix.")
    }
}
