// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A suite without a usable directory", .deadlockLimit)
struct UnavailableStoreTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite
    private let port: Setting<Int>

    private static func suite(_ name: String, _ reporter: RecordingReporter) -> SettingsSuite {
        let environment = SettingsEnvironment(
            variable: { _ in nil },
            homeDirectoryOfUser: { nil },
            executableName: "tool"
        )
        return SettingsSuite(name, environment: environment, reporter: reporter)
    }

    init() {
        // The values last for the lifetime of the process, so each test has its own suite.
        suite = Self.suite("no place \(SystemCalls.wallClock())", reporter)
        port = Setting("port", default: 1, suite: suite)
    }

    @Test("every set, update, transaction and removal throws without running its body or changing a value")
    func throwing() throws {
        port.value = 2
        expectError(.locationUnavailable) { try port.set(3) }
        expectError(.locationUnavailable) { try port.update { _ in Issue.record("the body runs") } }
        expectError(.locationUnavailable) { try suite.transaction { _ in Issue.record("the body runs") } }
        expectError(.locationUnavailable) { try suite.setStoredValue(3, forKey: "port") }
        expectError(.locationUnavailable) { try suite.setStoredValue(nil, forKey: "port") }
        expectError(.locationUnavailable) { try suite.removeAll() }
        var migrator = SettingsMigrator()
        migrator.addStep("one") { _ in Issue.record("the step runs") }
        expectError(.locationUnavailable) { try migrator.migrate(suite) }
        #expect(suite.snapshot() == ["port": 2])
    }

    @Test("synchronize and checkpoint throw while there is an assigned value, also after the suite is finished")
    func saving() {
        port.value = 2
        expectError(.locationUnavailable) { try suite.synchronize() }
        expectError(.locationUnavailable) { try suite.checkpoint() }
        #expect(port.value == 2)
        #expect(port.explain().place == suite.persistence)
        suite.finish()
        expectError(.locationUnavailable) { try suite.synchronize() }
    }

    @Test("synchronize and checkpoint have nothing to do when nothing is assigned, also after a set has thrown")
    func savingNothing() throws {
        try suite.synchronize()
        expectError(.locationUnavailable) { try port.set(2) }
        port.value = 3
        suite[storedValueFor: "port"] = nil
        try suite.checkpoint()
        try suite.synchronize()
        suite.finish()
        try suite.synchronize()
        #expect(reporter.errors.map(\.code) == [.locationUnavailable])
    }

    @Test("an error names the suite and a fix, and describes the assigned values")
    func message() {
        let error = settingsError { try port.set(2) }
        #expect(error?.suite == suite.name)
        #expect(error?.key == "port")
        #expect(error?.remedy.contains("STORED_SETTINGS_HOME") == true)
        #expect(reporter.errors.count == 1)
        #expect(reporter.errors.first?.consequence.contains("assigned values") == true)
    }

    @Test("assignments are readable, received by subscribers and reported once")
    func assigning() async {
        var values = port.values.makeAsyncIterator()
        #expect(await values.next() == 1)
        port.value = 2
        #expect(await values.next() == 2)
        port.value = 3
        Setting("other", default: 0, suite: suite).value = 4
        #expect(port.value == 3)
        #expect(await values.next() == 3)
        suite[storedValueFor: "port"] = nil
        #expect(port.value == 1)
        #expect(!port.isSet)
        #expect(suite.snapshot() == ["other": 4])
        await suite.finish()
        #expect(await values.next() == 1)
        #expect(await values.next() == nil)
        #expect(reporter.errors.map(\.code) == [.locationUnavailable])
    }

    @Test("every reporter is notified once, even if the suite is created several times")
    func reporting() {
        for _ in 0..<3 { Setting("a", default: 1, suite: Self.suite(suite.name, reporter)).value += 1 }
        #expect(reporter.errors.map(\.code) == [.locationUnavailable])
        let other = RecordingReporter()
        #expect(Setting("a", default: 1, suite: Self.suite(suite.name, other)).value == 4)
        #expect(other.errors.map(\.code) == [.locationUnavailable])
        #expect(reporter.errors.count == 1)
    }

    @Test("during the transaction of another suite, a set throws the error of this suite, and an assignment is used")
    func duringTransaction() throws {
        try SettingsSuite.inMemory(reporter: reporter)
            .transaction { _ in
                expectError(.locationUnavailable) { try port.set(3) }
                port.value = 2
            }
        #expect(port.value == 2)
        #expect(reporter.errors.map(\.code) == [.locationUnavailable])
    }
}
