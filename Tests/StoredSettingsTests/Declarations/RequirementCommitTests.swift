// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// A violated requirement is neither visible nor stored, and no valid assignment is lost, while values wait to be saved.
@Suite("Requirements on values that wait to be saved", .deadlockLimit)
struct RequirementCommitTests {
    private let reporter = RecordingReporter()
    private let full = SettingsError(.writeFailed, fact: "the disk is full")

    /// Settings that two requirements connect.
    private func connectedSettings(of suite: SettingsSuite) -> (
        least: Setting<Int>, most: Setting<Int>, limit: Setting<Int>
    ) {
        let (least, most) = (Setting("least", default: 1, suite: suite), Setting("most", default: 10, suite: suite))
        let limit = Setting("limit", default: 100, suite: suite)
        let catalog = SettingsCatalog(least, most, limit)
        catalog.require("least is at most most", least, most) { $0 <= $1 }
        catalog.require("most is at most limit", most, limit) { $0 <= $1 }
        return (least, most, limit)
    }

    private static let failures: [(name: String, error: SettingsError?)] = [
        ("no directory", nil), ("full disk", SettingsError(.writeFailed, fact: "the disk is full")),
        ("lock", SettingsError(.lockTimedOut, fact: "the lock is held")),
    ]

    @Test("an assignment that cannot be saved is checked", arguments: failures.indices)
    func unsaved(index: Int) throws {
        let store: any SettingsStore
        if let error = Self.failures[index].error {
            let failing = FailingStore()
            failing.fail(with: error)
            store = failing
        } else {
            store = UnavailableStore(because: SettingsError(.locationUnavailable, fact: "there is no home directory"))
        }
        let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
        pool.$least.value = 20
        #expect(pool.values == [1, 10])
        #expect(reporter.errors.map(\.code).contains(.requirementNotMet))
        pool.$least.value = 5
        pool.$most.value = 4
        #expect(pool.values == [5, 10], "the value that was assigned first remains")
        #expect(reporter.errors.count { $0.code == .requirementNotMet } == 2)
    }

    @Test("values that are assigned together are saved together, although one of them alone would not be accepted")
    func together() throws {
        let store = FailingStore()
        let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
        store.fail(with: full)
        pool.$most.value = 40
        pool.$least.value = 30
        pool.suite[storedValueFor: "other"] = 1
        store.fail(with: nil)
        // One that is never accepted makes the others be tried one by one.
        store.reject("other")
        try pool.suite.transaction { $0[storedValueFor: "another"] = 1 }
        #expect(store.contents() == ["least": 30, "most": 40, "another": 1])
        #expect(reporter.errors.map(\.code) == [.writeFailed, .writeFailed, .writeFailed, .unstorable])
    }

    private static func stackAddress() -> UInt {
        var local = 0
        return withUnsafeMutablePointer(to: &local) { UInt(bitPattern: $0) }
    }

    @Test("a check that meets new values of another process again and again does not nest")
    func depth() async throws {
        try await withSettingsPath { path in
            let suite = SettingsSuite(store: FileStore(path: path, checkpointsInBackground: false), reporter: reporter)
            let other = SettingsSuite(store: FileStore(path: path, checkpointsInBackground: false), reporter: reporter)
            let (least, most) = (
                Setting("least", default: 1, suite: suite), Setting("most", default: 900, suite: suite)
            )
            let otherLeast = Setting("least", default: 1, suite: other)
            try await least.set(2)
            let top = Mutex<UInt>(0)
            let deepest = Mutex<UInt>(0)
            let runs = Counter()
            SettingsCatalog(least, most)
                .require("least is at most most", least, most) { least, most in
                    runs.add()
                    let place = Self.stackAddress()
                    let depth = top.withLock { $0 > place ? $0 - place : 0 }
                    deepest.withLock { $0 = max($0, depth) }
                    let count = runs.count
                    // Each check finds the values changed again.
                    if count < 100 { try onAnotherThread { try otherLeast.set(10 + count) } }
                    return least <= most
                }
            await blocking {
                top.withLock { $0 = Self.stackAddress() }
                while runs.count < 100 { _ = least.value }
            }
            #expect(deepest.withLock(\.self) < 100_000)
            await suite.finish()
            await other.finish()
        }
    }

    @Test("a validator that assigns another setting ends", arguments: [false, true])
    func assigningValidator(isFull: Bool) async throws {
        let store = FailingStore(["least": 3])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let calls = Setting("calls", default: 0, suite: suite)
        let most = Setting("most", default: 10, suite: suite)
        let least = Setting("least", default: 1, suite: suite) { value in
            calls.value += 1
            return value >= 0
        }
        SettingsCatalog(least, most).require("least is at most most", least, most) { $0 <= $1 }
        if isFull {
            store.fail(with: full)
            least.value = 4
            most.value = 9
            store.fail(with: nil)
            try await suite.synchronize()
        } else {
            try await blocking { try least.set(4) }
        }
        #expect(least.value == 4)
        await eventually("the assignments of the validator are saved") { !suite.engine.isPending("calls") }
        #expect(store.contents()["least"] == 4)
    }

    @Test("a value that waits is saved only when the stored values can be read", arguments: [3, 40])
    func unreadable(most: Int) async throws {
        let faults = Faults()
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"most": \#(most)}"#)
            faults.fail(.open, with: EACCES) { $0 == path }
            let store = FileStore(path: path, system: faults.system, checkpointsInBackground: false)
            let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
            pool.$least.value = 5
            pool.suite[storedValueFor: "other"] = 1
            pool.suite.engine.retry()
            #expect(!pool.suite.engine.isPending("other"))
            faults.stop()
            store.lookAndWait()
            try await pool.suite.synchronize()
            await eventually("the value has been saved, or dropped") { !pool.suite.engine.isPending("least") }
            var expected: [String: StoredValue] = ["most": .integer(Int128(most)), "other": 1]
            if most != 3 { expected["least"] = 5 }
            #expect(store.contents() == expected)
            if most == 3 {
                await eventually("that is reported") { reporter.errors.contains { $0.code == .requirementNotMet } }
            } else {
                #expect(!reporter.errors.contains { $0.code == .requirementNotMet })
            }
        }
    }

    @Test("an assignment that begins to wait during a transaction is not used beside its values")
    func assignedDuringTransaction() async throws {
        let store = FailingStore(["most": 40])
        let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
        try await blocking {
            try pool.suite.transaction { values in
                values[pool.$most] = 5
                try onAnotherThread {
                    store.fail(with: full)
                    pool.$least.value = 30
                    store.fail(with: nil)
                    #expect(pool.values == [30, 40])
                }
            }
        }
        #expect(pool.values == [1, 5])
        try await pool.suite.synchronize()
        #expect(store.contents() == ["most": 5])
        await eventually("that is reported") { reporter.errors.contains { $0.code == .requirementNotMet } }
    }

    @Test("a value that was accepted with another one is dropped with it")
    func connected() async throws {
        let store = FailingStore(["least": 1, "most": 10, "limit": 100])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (least, most, limit) = connectedSettings(of: suite)
        store.fail(with: full)
        most.value = 40
        least.value = 30
        store.fail(with: nil)
        #expect(least.value == 30 && most.value == 40)
        // Another process is faster than the commit that saves them.
        store.beforeCommit.withLock { hook in
            hook = { #expect(throws: Never.self) { try store.memory.commit { $0["limit"] = 35 } } }
        }
        try await suite.transaction { $0[storedValueFor: "other"] = 1 }
        #expect(least.value == 1 && most.value == 10 && limit.value == 35)
        try await suite.synchronize()
        #expect(store.contents() == ["least": 1, "most": 10, "limit": 35, "other": 1])
        #expect(reporter.errors.count { $0.code == .requirementNotMet } == 2)
    }

    @Test(
        "the value under an old key stays when the new value is dropped",
        arguments: ["before", "without"],
        [[9], [10, 9]]
    )
    func renamed(requirement: String, values: [Int]) async throws {
        let store = FailingStore(["min": 8, "most": 10])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let least = Setting("least", default: 1, suite: suite, traits: .renamed(from: "min"))
        let most = Setting("most", default: 10, suite: suite)
        let isRequired = requirement == "before"
        if isRequired { SettingsCatalog(least, most).require("least is at most most", least, most) { $0 <= $1 } }
        var seen: [Int] = []
        store.fail(with: full)
        for value in values { least.value = value }
        store.fail(with: nil)
        seen.append(least.value)
        if isRequired {
            store.beforeCommit.withLock { hook in
                hook = { #expect(throws: Never.self) { try store.memory.commit { $0["most"] = 8 } } }
            }
            try await suite.transaction { $0[storedValueFor: "other"] = 1 }
        } else {
            store.reject("least")
            await #expect(throws: Never.self) { try await suite.synchronize() }
        }
        seen.append(least.value)
        #expect(seen == [9, 8])
        #expect(store.contents()["min"] == 8 && store.contents()["least"] == nil)
        let reports = reporter.errors.filter { $0.consequence.hasPrefix("the assigned value is not saved") }
        #expect(reports.map(\.key) == ["least"], "\(reporter.errors)")
    }

    @Test("the value under an old key stays when an observer finds that the new value is not possible")
    func renamedWhileObserved() async throws {
        let store = FailingStore(["min": 8, "most": 10])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let least = Setting("least", default: 1, suite: suite, traits: .renamed(from: "min"))
        let most = Setting("most", default: 10, suite: suite)
        SettingsCatalog(least, most).require("least is at most most", least, most) { $0 <= $1 }
        let observation = least.observe { _ in
            #expect(throws: Never.self) { try store.memory.commit { $0["most"] = 8 } }
            _ = most.value
        }
        defer { observation.invalidate() }
        store.fail(with: full)
        least.value = 9
        store.fail(with: nil)
        try await suite.synchronize()
        #expect(least.value == 8)
        #expect(store.contents() == ["min": 8, "most": 8])
    }

    @Test("of two assignments that newer values do not admit together, one is dropped with its own report")
    func overtakenTogether() async throws {
        let store = FailingStore(["a": 1, "b": 1, "limit": 10])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (a, b) = (Setting("a", default: 0, suite: suite), Setting("b", default: 0, suite: suite))
        let limit = Setting("limit", default: 0, suite: suite)
        SettingsCatalog(a, b, limit).require("both are within the limit", a, b, limit) { $0 + $1 <= $2 }
        store.fail(with: full)
        a.value = 4
        b.value = 4
        try store.memory.commit { $0["limit"] = 6 }
        #expect(limit.value == 6)
        #expect(a.value == 1 && b.value == 4)
        store.fail(with: nil)
        try await suite.synchronize()
        #expect(store.contents() == ["a": 1, "b": 4, "limit": 6])
        #expect(reporter.errors.filter { $0.code == .requirementNotMet }.map(\.key) == ["a"])
    }

    @Test(
        "a value from outside that does not meet a requirement drops no assignment that does",
        arguments: ["synchronize", "finish", "set", "connected"]
    )
    func unusableMeanwhile(operation: String) async throws {
        let store = FailingStore(["least": 1, "most": 10, "limit": 100])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (least, most, limit) = connectedSettings(of: suite)
        let isConnected = operation == "connected"
        store.fail(with: full)
        if isConnected { most.value = 40 }
        least.value = isConnected ? 30 : 5
        store.fail(with: nil)
        let (key, value): (String, StoredValue) = isConnected ? ("limit", 5) : ("most", 0)
        // While the commit waits for the lock: it finds the value under the lock, where no check can run.
        store.beforeCommit.withLock { hook in
            hook = {
                #expect(throws: Never.self) { try CheckScope.run { try store.memory.commit { $0[key] = value } } }
            }
        }
        switch operation {
        case "finish": await suite.finish()
        case "set": try await least.set(1)
        default: try await suite.synchronize()
        }
        let first = operation == "set" ? 1 : 5
        // The change stores what is in use, which is the default here.
        let stored: [StoredValue?] = isConnected ? [30, 40, nil] : [.integer(Int128(first)), nil, 100]
        let used = isConnected ? [30, 40, 100] : [first, 10, 100]
        #expect(["least", "most", "limit"].map { store.contents()[$0] } == stored)
        let values = [least.value, most.value, limit.value]
        #expect(zip(values, used).allSatisfy { $0 == $1 }, "\(values)")
        #expect(!reporter.errors.contains { $0.consequence.hasPrefix("the assigned value is not saved") })
    }

    @Test(
        "a transaction stores the values that it was checked with, also if an assignment is replaced meanwhile",
        arguments: ["by another thread", "by the body"]
    )
    func replacedDuringTransaction(place: String) async throws {
        let store = FailingStore(["least": 8, "most": 10])
        let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
        store.fail(with: full)
        pool.$least.value = 5
        store.fail(with: nil)
        try await blocking {
            try pool.suite.transaction { values in
                values[pool.$most] = 6
                guard place == "by another thread" else {
                    pool.$least.value = 9
                    return
                }
                try onAnotherThread {
                    store.fail(with: full)
                    pool.$least.value = 9
                    store.fail(with: nil)
                }
            }
        }
        try await pool.suite.synchronize()
        #expect(store.contents() == ["least": 5, "most": 6])
        #expect(pool.values == [5, 6])
        let reports = reporter.errors.filter { $0.code == .requirementNotMet }
        #expect(reports.map(\.key) == ["least"])
    }

    @Test("a requirement that nothing meets does not keep an assignment that newer values do not admit")
    func unrelatedUnmet() async throws {
        let store = FailingStore(["a": 1, "b": 5])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (a, b) = (Setting("a", default: 1, suite: suite), Setting("b", default: 5, suite: suite))
        let other = Setting("other", default: 1, suite: suite)
        let catalog = SettingsCatalog(a, b, other)
        catalog.require("a is at most b", a, b) { $0 <= $1 }
        catalog.require("never met", other) { _ in false }
        store.fail(with: full)
        a.value = 4
        try store.memory.commit { $0["b"] = 3 }
        store.fail(with: nil)
        #expect(a.value == 1 && b.value == 3)
        try await suite.synchronize()
        #expect(store.contents() == ["a": 1, "b": 3])
    }

    @Test("a value that another requirement rejects drops no assignment")
    func rejectedElsewhere() async throws {
        let store = FailingStore(["least": 1, "most": 10, "floor": 5])
        let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
        let floor = Setting("floor", default: 5, suite: pool.suite)
        pool.catalog.require("most is at least floor", pool.$most, floor) { $0 >= $1 }
        store.fail(with: full)
        pool.$least.value = 8
        try store.memory.commit { $0["most"] = 3 }
        #expect(pool.values == [8, 10])
        store.fail(with: nil)
        try await pool.suite.synchronize()
        #expect(store.contents()["least"] == 8)
    }

    @Test("a value that has to wait for checks again and again is not called saved")
    func uncheckedAgainAndAgain() async throws {
        let store = FailingStore(["least": 3, "most": 10])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (least, most) = (Setting("least", default: 3, suite: suite), Setting("most", default: 10, suite: suite))
        SettingsCatalog(least, most).require("least is at most most", least, most) { $0 <= $1 }
        store.fail(with: full)
        least.value = 5
        store.fail(with: nil)
        let count = Mutex<Int128>(0)
        @Sendable func disturb() {
            let value = count.withLock { count in
                count += 1
                return 1 + count % 2
            }
            #expect(throws: Never.self) {
                try CheckScope.run { try store.memory.commit { $0["most"] = .integer(value) } }
            }
            store.beforeCommit.withLock { $0 = disturb }
        }
        store.beforeCommit.withLock { $0 = disturb }
        let error = await #expect(throws: SettingsError.self) { try await suite.synchronize() }
        #expect(error?.code == .notSaved)
        store.beforeCommit.withLock { $0 = nil }
        try await suite.synchronize()
        #expect(store.contents()["least"] == 5)
        #expect(least.value == 5 && most.value == 10)
    }

    @Test("an assignment during a transaction is checked with the value that the transaction stores again")
    func endedDuringTransaction() async throws {
        let store = FailingStore(["least": 8, "most": 5])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (least, most) = (Setting("least", default: 8, suite: suite), Setting("most", default: 5, suite: suite))
        SettingsCatalog(least, most).require("most is at most least", most, least) { $0 <= $1 }
        store.fail(with: full)
        least.value = 9
        store.fail(with: nil)
        try await blocking {
            try suite.transaction { values in
                values[least] = 8
                values[storedValueFor: "other"] = 1
                try onAnotherThread {
                    store.fail(with: full)
                    most.value = 9
                    store.fail(with: nil)
                    _ = most.value
                }
            }
        }
        #expect(most.value <= least.value)
        try await suite.synchronize()
        #expect(store.contents() == ["least": 8, "most": 5, "other": 1])
    }

    @Test("each of the assignments that are dropped together is reported")
    func rejectedTogether() async throws {
        let store = FailingStore()
        let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
        store.fail(with: full)
        pool.$most.value = 40
        pool.$least.value = 30
        store.fail(with: nil)
        store.reject("most")
        try await pool.suite.synchronize()
        #expect(pool.values == [1, 10])
        let reports = reporter.errors.filter { $0.consequence.hasPrefix("the assigned value is not saved") }
        #expect(reports.compactMap(\.key).sorted() == ["least", "most"])
    }

    @Test("a set is checked again if a value has changed and was checked since its transaction began")
    func checkedMeanwhile() async throws {
        try await withSettingsPath { path in
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            let pool = PoolSettings(suite)
            try await suite.transaction { $0[storedValueFor: "most"] = 40 }
            try await suite.checkpoint()
            try await blocking {
                try suite.transaction { transaction in
                    try path.replaceFile(with: #"{"least": 1, "most": 15}"#)
                    let hasRead = DispatchSemaphore(value: 0)
                    Thread.detachNewThread {
                        for _ in 0..<10_000 where pool.most != 15 { usleep(1_000) }
                        hasRead.signal()
                    }
                    hasRead.wait()
                    try transaction.set(20, for: pool.$least)
                }
            }
            #expect(pool.least <= pool.most, "\(pool.values)")
            // Another thread may have checked the values, and is about to report.
            await eventually("it is reported") { reporter.errors.contains { $0.code == .requirementNotMet } }
            await suite.finish()
        }
    }

    @Test("a set that was waiting when the requirement was declared is checked afterwards")
    func declaredMeanwhile() async throws {
        let store = FailingStore()
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (least, most) = (Setting("least", default: 1, suite: suite), Setting("most", default: 10, suite: suite))
        // A set of a suite without a requirement, which the store carries out after the requirement was declared.
        store.beforeCommit.withLock {
            $0 = {
                SettingsCatalog(least, most).require("least is at most most", least, most) { $0 <= $1 }
                #expect(least.value == 1)
            }
        }
        try await blocking { try suite.setStoredValue(20, forKey: "least") }
        #expect(least.value == 1)
        #expect(reporter.errors.map(\.code) == [.requirementNotMet])
    }
}
