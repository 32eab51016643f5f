// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

extension SettingKeys {
    fileprivate static let low = SettingKey("low", default: 1)
    fileprivate static let high = SettingKey("high", default: 10)
}

@Suite("SettingsSuite", .deadlockLimit)
struct SettingsSuiteTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite

    init() {
        suite = .inMemory(["other": true], reporter: reporter)
    }

    @Test("a rejected value, an undecodable value or a setting of another suite makes the whole transaction throw")
    func transactionFailing() throws {
        let port = Setting(SettingKey("port", default: 1, in: 1...10), suite: suite)
        let otherSetting = Setting("x", default: 1, suite: .inMemory())
        expectError(.validationFailed) {
            try suite.transaction {
                $0[.low] = 5
                $0[port] = 11
            }
        }
        expectError(.otherSuite) {
            try suite.transaction {
                $0[.low] = 5
                $0[otherSetting] = 2
            }
        }
        let stored = Setting("other", default: false, suite: suite)
        expectError(.otherSuite) { try suite.transaction { try $0.reset(stored, otherSetting) } }
        expectError(.invalidKey) {
            try suite.transaction { $0[storedValueFor: ""] = 5 }
        }
        expectError(.invalidKey) { try suite.transaction { try $0.setStoredValue(1, forKey: "") } }
        try suite.setStoredValue("x", forKey: "high")
        expectError(.typeMismatch) {
            try suite.transaction {
                $0[.low] = 5
                $0[.high] += 1
            }
        }
        let error = expectError(.typeMismatch) { try Setting(.high, suite: suite).update { $0 += 1 } }
        #expect(error?.consequence == "the transaction changes nothing")
        #expect(error?.remedy == "assign a new value")
        #expect(suite.snapshot() == ["other": true, "high": "x"])
    }

    @Test("nested transactions and updates throw instead of deadlocking, also across suites")
    func nesting() throws {
        let other = SettingsSuite.inMemory()
        for inner in [suite, other] {
            expectError(.nestedTransaction) {
                try suite.transaction { _ in try inner.transaction { _ in } }
            }
            expectError(.nestedTransaction) {
                try Setting("n", default: 0, suite: suite)
                    .update { _ in
                        try Setting("m", default: 0, suite: inner).set(1)
                    }
            }
        }
        #expect(suite.snapshot() == ["other": true])
    }

    @Test("the error of a nested update or set names the inner key only")
    func nestingNamed() {
        let outer = Setting("outer", default: 0, suite: suite)
        let inner = Setting("inner", default: 0, suite: suite)
        #expect(settingsError { try outer.update { _ in try inner.update { $0 += 1 } } }?.key == "inner")
        #expect(settingsError { try outer.update { _ in try inner.set(1) } }?.key == "inner")
        #expect(settingsError { try outer.update { _ in try suite.transaction { _ in } } }?.key == nil)
    }

    @Test("an assignment inside a transaction is reported and applied after it")
    func assigningInside() throws {
        let other = SettingsSuite.inMemory(reporter: reporter)
        try suite.transaction { settings in
            suite[.high] = 99
            other[.high] = 98
            settings[.low] = settings[.low] + 1
            #expect(suite[.high] == 99)
        }
        #expect(reporter.errors.map(\.code) == [.nestedTransaction, .nestedTransaction])
        #expect(reporter.errors.allSatisfy { $0.consequence.contains("is tried after it") })
        #expect(suite.snapshot() == ["other": true, "low": 2, "high": 99])
        #expect(other.snapshot() == ["high": 98])
        try suite.synchronize()
    }

    @Test("a task on another thread does not belong to the transaction that is running")
    func taskDuringTransaction() async throws {
        let other = Setting(.high, suite: SettingsSuite.inMemory())
        let hasSet = DispatchSemaphore(value: 0)
        // The body waits for the task, and must not occupy a thread that the task needs.
        Thread.detachNewThread { [suite] in
            do {
                try suite.transaction { _ in
                    Task {
                        do {
                            try await other.set(99)
                        } catch {
                            Issue.record(error)
                        }
                        hasSet.signal()
                    }
                    hasSet.waitUntilSignaled()
                }
            } catch {
                Issue.record(error)
            }
        }
        await eventually("the task has set its value") { other.value == 99 }
    }

    @Test("synchronizing inside a transaction throws, because its changes are not stored yet")
    func synchronizingInside() throws {
        expectError(.nestedTransaction) {
            try suite.transaction { _ in try suite.synchronize() }
        }
    }

    @Test("a replaced standard suite is used by settings created in its scope, including tasks, and by no others")
    func standard() async throws {
        let one = SettingsSuite.inMemory()
        let two = SettingsSuite.inMemory()
        try await SettingsSuite.withStandard(one) {
            #expect(await Task.detached { SettingsSuite.standard }.value != one)
            try onAnotherThread { #expect(SettingsSuite.standard != one) }
            let inner = await Task { Setting("x", default: 0) }.value
            inner.value = 1
            SettingsSuite.withStandard(two) { Setting("x", default: 0).value = 2 }
            inner.value += 10
        }
        #expect(one.snapshot() == ["x": 11])
        #expect(two.snapshot() == ["x": 2])
    }

    @Test("a finished suite ends its streams, rejects changes and can still be read")
    func finishing() async throws {
        suite[.low] = 3
        let values = Setting(.low, suite: suite).values
        var iterator = values.makeAsyncIterator()
        #expect(await iterator.next() == 3)
        await suite.finish()
        #expect(await iterator.next() == nil)
        var lateIterator = values.makeAsyncIterator()
        #expect(await lateIterator.next() == 3)
        #expect(await lateIterator.next() == nil)
        #expect(suite[.low] == 3)
        expectError(.suiteFinished) { try suite.setStoredValue(1, forKey: "a") }
        expectError(.suiteFinished) { try suite.reset(.low) }
        suite[.low] = 4
        #expect(reporter.errors.map(\.code) == [.suiteFinished])
        #expect(suite[.low] == 3)
    }

    @Test("the standard suite cannot be chosen once it is used")
    func lateBootstrap() {
        _ = Setting("unused", default: 0)
        expectError(.standardAlreadyChosen) {
            try SettingsSuite.bootstrapStandard(.inMemory())
        }
    }

    @Test("value(of:) and set(_:for:) throw at once, and a transaction that handles the error succeeds")
    func immediateErrors() throws {
        let suite = SettingsSuite.inMemory(["high": "x"])
        let (port, high) = (
            Setting("port", default: 1, suite: suite, in: 1...10), Setting("high", default: 1, suite: suite)
        )
        try suite.transaction { values in
            expectError(.validationFailed) { try values.set(11, for: port) }
            expectError(.typeMismatch) { _ = try values.value(of: high) }
            values[storedValueFor: "low"] = 5
        }
        #expect(suite.snapshot() == ["high": "x", "low": 5])
    }
}
