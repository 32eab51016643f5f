// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A finished suite")
struct FinishedSuiteTests {
    private let reporter = RecordingReporter()
    private let store = FailingStore(["port": 2])
    private let suite: SettingsSuite
    private let port: Setting<Int>
    private let full = SettingsError(.writeFailed, fact: "the disk is full", remedy: "make room")

    init() {
        suite = SettingsSuite(store: store, reporter: reporter)
        port = Setting("port", default: 1, suite: suite)
    }

    @Test("after finishing, synchronize throws if values could not be saved, and checkpoint always throws")
    func afterFinishing() throws {
        suite.finish()
        try suite.synchronize()
        expectError(.suiteFinished) { try suite.checkpoint() }

        let store = FailingStore()
        let other = SettingsSuite(store: store, reporter: reporter)
        try other.setStoredValue(1, forKey: "a")
        store.failSynchronizing(with: full)
        other.finish()
        store.failSynchronizing(with: nil)
        expectError(.writeFailed) { try other.synchronize() }
        // Also after it is finished again.
        other.finish()
        expectError(.writeFailed) { try other.synchronize() }
        #expect(reporter.errors.map(\.code) == [.writeFailed])
    }

    @Test("a finished suite ignores and reports assignments, also inside another suite's transaction")
    func assignedAfterFinishing() throws {
        suite.finish()
        try SettingsSuite.inMemory().transaction { _ in port.value = 9 }
        #expect(port.value == 2)
        #expect(reporter.errors.map(\.code) == [.suiteFinished])
    }

    @Test(
        "a loop over all changes of a finished suite ends, whether it begins before or after",
        arguments: [true, false]
    )
    func lateLoop(isEarly: Bool) async {
        let early = isEarly ? suite.changes() : nil
        await suite.finish()
        let hasEnded = Flag()
        let loop = Task { [suite] in
            for await _ in early ?? suite.changes() {}
            hasEnded.set()
        }
        await eventually("the loop has ended") { hasEnded.isSet }
        loop.cancel()
    }

    @Test("a pending write of a finished suite remains readable and is never stored")
    func pendingWhenFinished() throws {
        // A retry that began before the end could save the value after it.
        let isFirst = suite.engine.isRetryScheduled.set()
        #expect(isFirst)
        store.fail(with: full)
        port.value = 3
        suite.finish()
        #expect(reporter.errors.last?.consequence.contains("later try") == false)
        store.fail(with: nil)
        expectError(.notSaved) { try suite.synchronize() }
        expectError(.suiteFinished) { try port.set(4) }
        #expect(port.value == 3)
        #expect(store.contents() == ["port": 2])
    }
}
