// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

extension SettingKeys {
    fileprivate static let number = SettingKey("number", default: 1)
    fileprivate static let text = SettingKey<String?>("text")
}

private enum AppKey: String { case keyed }

/// All ways to declare the suite of a property.
private struct OtherSuiteSettings: Sendable {
    @DefaultStorage var plain: Int
    @DefaultStorage var ranged: Int
    @DefaultStorage var keyed: Int
    @DefaultStorage var bridged: Int
    @DefaultStorage(.number) var number: Int
    @DefaultStorageOptional var optional: Int?
    @DefaultStorageOptional(.text) var text: String?

    init(suite: SettingsSuite) {
        _plain = DefaultStorage(wrappedValue: 1, key: "plain", suite: suite)
        _ranged = DefaultStorage(wrappedValue: 1, key: "ranged", suite: suite, in: 0...9)
        _keyed = DefaultStorage(wrappedValue: 1, AppKey.keyed, suite: suite)
        _bridged = DefaultStorage(wrappedValue: 1, key: "bridged", suite: suite, as: CodableBridge())
        _number = DefaultStorage(.number, suite: suite)
        _optional = DefaultStorageOptional(key: "optional", suite: suite)
        _text = DefaultStorageOptional(.text, suite: suite)
    }
}

@Suite("Parity: a suite for each key", .deadlockLimit)
struct SuiteArgumentParityTests {
    private let standard = SettingsSuite.inMemory()
    private let reporter = RecordingReporter()
    private let other: SettingsSuite

    init() {
        other = .inMemory(reporter: reporter)
    }

    @Test("Row 10: a property uses its suite in reads, sets, updates, resets, streams, observers and errors")
    func allOperations() async throws {
        let settings = SettingsSuite.withStandard(standard) { OtherSuiteSettings(suite: other) }
        var stream = settings.$plain.values.makeAsyncIterator()
        #expect(await stream.next() == 1)
        let observed = ObservedChanges(of: settings.$plain)

        settings.plain = 2
        settings.ranged = 2
        settings.keyed = 2
        settings.bridged = 2
        settings.number = 2
        settings.optional = 2
        settings.text = "2"
        try await settings.$plain.update { $0 += 1 }

        #expect(await stream.next() == 3)
        #expect(observed.new == [2, 3])
        #expect(
            other.snapshot() == [
                "plain": 3, "ranged": 2, "keyed": 2, "bridged": 2, "number": 2, "optional": 2, "text": "2",
            ]
        )
        #expect(settings.plain == 3 && settings.number == 2 && settings.text == "2")

        settings.ranged = 10
        #expect(reporter.errors.map(\.suite) == [other.name])
        try await settings.$plain.reset()
        settings.optional = nil
        #expect(!other.contains("plain") && !other.contains("optional"))
        #expect(standard.keys.isEmpty)
    }

    @Test("Row 10: settings with one key in two suites are distinct")
    func distinctSuites() {
        standard[.number] = 5
        other[.number] += 10
        #expect(standard[.number] == 5)
        #expect(Setting(.number, suite: other).value == 11)
        SettingsSuite.withStandard(standard) {
            #expect(Setting(.number).value == 5)
            #expect(Setting(.number, suite: other).value == 11)
        }
    }

    @Test("Row 10: a suite can be a string literal")
    func literal() {
        let setting = Setting("number", default: 1, suite: "parity.row-10")
        #expect(setting.suite.name == "parity.row-10")
    }
}
