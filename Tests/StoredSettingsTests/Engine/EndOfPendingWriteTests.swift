// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("The end of a pending write", .deadlockLimit)
struct EndOfPendingWriteTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()
    private let full = SettingsError(.writeFailed, fact: "the disk is full")

    /// Records what is offered, under the lock.
    private final class OfferLog: ChangeSubscriber {
        let commits = CallLog<StoreCommit>()

        func offer(_ commit: StoreCommit) -> Bool {
            commits.add(commit)
            return false
        }
        func wake(_ origin: SettingChangeOrigin) {}
        func finish() {}
    }

    @Test(
        "an older pending write does not replace a value that a transaction assigns again, when an observer sets another key"
    )
    func assignedAgain() async throws {
        let store = FailingStore(["least": 3, "most": 10])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (least, most) = (Setting("least", default: 1, suite: suite), Setting("most", default: 10, suite: suite))
        let other = Setting("other", default: 0, suite: suite)
        let seen = CallLog<[Int]>()
        store.fail(with: full)
        least.value = 9
        store.fail(with: nil)
        let observation = most.observe { _ in
            seen.add([least.value, most.value])
            other.value = 1
        }
        defer { observation.invalidate() }
        try await suite.transaction { values in
            values[least] = 3
            values[most] = 4
        }
        #expect(seen.all == [[3, 4]])
        #expect(least.value == 3)
        #expect(store.contents() == ["least": 3, "most": 4, "other": 1])
    }

    @Test("a transaction that assigns a stored value again is one change, also with a requirement")
    func oneChange() async throws {
        let store = FailingStore(["least": 3, "most": 10])
        let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
        let log = OfferLog()
        let subscription = pool.suite.engine.addSubscriber(log).id
        defer { pool.suite.engine.removeSubscriber(subscription) }
        let seen = CallLog<[Int]>()
        store.fail(with: full)
        pool.least = 9
        store.fail(with: nil)
        let observation = pool.$most.observe { _ in seen.add(pool.values) }
        defer { observation.invalidate() }
        try await pool.suite.transaction { values in
            values[pool.$least] = 3
            values[pool.$most] = 4
        }
        #expect(pool.values == [3, 4])
        #expect(seen.all == [[3, 4]])
        #expect(log.commits.all.map(\.changes.count) == [1, 2], "\(log.commits.all)")
        #expect(reporter.errors.map(\.code) == [.writeFailed], "\(reporter.errors.map(\.message))")
    }

    @Test(
        "a pending write that equals the stored value is not reported as dropped when another process stores one after it"
    )
    func equalValue() async throws {
        let store = InterruptedStore()
        let suite = SettingsSuite(store: store, reporter: reporter)
        let port = Setting("port", default: 0, suite: suite)
        store.storeFromOutside(1)
        store.fail(with: full)
        port.value = 1
        store.interruptNextCommit(with: 9)
        store.fail(with: nil)
        try await suite.synchronize()
        #expect(port.value == 9)
        #expect(reporter.errors.map(\.code) == [.writeFailed])
    }

    @Test("all assignments that a newer value does not admit are dropped, in their order")
    func manyDropped() async throws {
        let count = TestRun.count(quick: 20, exhaustive: 1_000)
        let store = FailingStore(["limit": 100])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let limit = Setting("limit", default: 100, suite: suite)
        let settings = (0..<count).map { Setting("a\(1_000 + $0)", default: 0, suite: suite) }
        for setting in settings {
            SettingsCatalog(setting, limit).require("\(setting.key) is at most limit", setting, limit) { $0 <= $1 }
        }
        store.fail(with: full)
        for setting in settings { setting.value = 50 }
        try CheckScope.run { try store.memory.commit { $0["limit"] = 10 } }
        store.fail(with: nil)
        try await suite.synchronize()
        #expect(store.contents() == ["limit": 10])
        let dropped = { self.reporter.errors.filter { $0.code == .requirementNotMet }.compactMap(\.key) }
        await eventually("all are reported") { dropped().count == count }
        #expect(dropped() == settings.map(\.key))
    }

    /// A setting with the stored value 2, above which the assigned value 3 is a pending write.
    private func portWithPendingWrite() -> (store: FailingStore, suite: SettingsSuite, port: Setting<Int>) {
        let store = FailingStore(["port": 2])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let port = Setting("port", default: 0, suite: suite)
        store.fail(with: full)
        port.value = 3
        store.fail(with: nil)
        return (store, suite, port)
    }

    @Test("a set of the stored value that fails does not end an older pending write")
    func failedAgain() async throws {
        let (store, suite, port) = portWithPendingWrite()
        store.failNextCommit(with: full)
        await expectError(.writeFailed) { try await port.set(2) }
        #expect(port.value == 3)
        try await suite.synchronize()
        #expect(store.contents() == ["port": 3])
    }

    @Test(
        "a transaction succeeds beside a pending write that the store never accepts, and its body runs once for its own error"
    )
    func rejectedBesideTransaction() async throws {
        let store = FailingStore()
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (first, second) = (Setting("first", default: 0, suite: suite), Setting("second", default: 0, suite: suite))
        store.fail(with: full)
        first.value = 9
        store.fail(with: nil)
        store.reject("first")
        let runs = Counter()
        await expectError(.invalidValue) {
            try await suite.transaction { _ in
                runs.add()
                throw SettingsError(.invalidValue, fact: "it is wrong")
            }
        }
        #expect(runs.count == 1)
        try await suite.transaction { $0[second] = 1 }
        try await second.update { $0 += 1 }
        #expect(store.contents() == ["second": 2])
        #expect(reporter.errors.map(\.code) == [.writeFailed, .unstorable])
    }

    @Test("a set of the stored value ends an older pending write before any other commit begins")
    func nextCommit() async throws {
        let (store, suite, port) = portWithPendingWrite()
        store.afterCommit.withLock { hook in
            hook = {
                #expect(throws: Never.self) { try onAnotherThread { try suite.setStoredValue(1, forKey: "other") } }
            }
        }
        try await port.set(2)
        #expect(port.value == 2)
        #expect(store.contents() == ["port": 2, "other": 1])
    }

    @Test("a set that was made without a check, and is recorded while the observers of a checked one run, is checked")
    func recordedDuringDelivery() async throws {
        let store = FailingStore()
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (least, most) = (Setting("least", default: 1, suite: suite), Setting("most", default: 10, suite: suite))
        let (isDelivering, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let hasEnded = DispatchSemaphore(value: 0)
        let observation = most.observe { _ in
            isDelivering.signal()
            mayEnd.wait()
        }
        defer { observation.invalidate() }
        store.beforeCommit.withLock { hook in
            hook = {
                // The set whose commit begins here was made before there was a requirement.
                SettingsCatalog(least, most).require("least is at most most", least, most) { $0 <= $1 }
                #expect(least.value == 1)
                Thread.detachNewThread {
                    #expect(throws: Never.self) { try most.set(11) }
                    hasEnded.signal()
                }
                isDelivering.wait()
            }
        }
        try await blocking { try least.set(20) }
        for _ in 0..<9 { mayEnd.signal() }
        await blocking { hasEnded.wait() }
        #expect(least.value == 1)
        #expect(reporter.errors.map(\.code) == [.requirementNotMet])
    }

    @Test(
        "an assignment that comes while another one is saved on the suite's thread is tried after it, and its failure is reported"
    )
    func duringSave() async throws {
        let store = FailingStore()
        let suite = SettingsSuite(store: store, reporter: reporter)
        let (first, second) = (Setting("first", default: 0, suite: suite), Setting("second", default: 0, suite: suite))
        let busy = SettingsError.wrapping(WaitLimitError(), as: .writeFailed)
        let (mayBegin, hasBegun, mayEnd) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        suite.engine.suspendedWrites.runInBackground { mayBegin.wait() }
        store.fail(with: busy)
        first.value = 1
        store.fail(with: nil)
        store.afterBody.withLock { hook in
            hook = {
                hasBegun.signal()
                mayEnd.wait()
            }
        }
        mayBegin.signal()
        await blocking { hasBegun.wait() }
        store.fail(with: busy)
        second.value = 1
        store.fail(with: full)
        mayEnd.signal()
        await eventually("the failure is reported") { !reporter.errors.isEmpty }
        #expect(reporter.errors.map(\.code) == [.writeFailed] && reporter.errors.map(\.key) == ["second"])
        store.fail(with: nil)
        try await suite.synchronize()
        #expect(store.contents() == ["first": 1, "second": 1])
    }

    @Test("each assignment that waits for another thread and cannot be saved is reported")
    func waitingReports() async throws {
        try await withSettingsPath { path in
            let reporters = [RecordingReporter(), RecordingReporter(), RecordingReporter()]
            let store = FileStore(path: path, system: faults.system, checkpointsInBackground: false)
            let settings = zip(["a", "b", "c"], reporters)
                .map {
                    Setting($0, default: 0, suite: SettingsSuite(store: store, reporter: $1))
                }
            try await settings[0].set(1)
            let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            async let holder: Void = blocking {
                do {
                    try settings[0].suite
                        .transaction { _ in
                            isHeld.signal()
                            mayEnd.wait()
                        }
                } catch {
                    Issue.record(error)
                }
            }
            await blocking { isHeld.wait() }
            for setting in settings { setting.value = 2 }
            faults.fail(.write, with: ENOSPC)
            mayEnd.signal()
            await holder
            await eventually("all are reported") { reporters.allSatisfy { $0.errors.map(\.code) == [.writeFailed] } }
            faults.stop()
            try await settings[0].suite.synchronize()
            #expect(store.contents() == ["a": 2, "b": 2, "c": 2])
            await settings[0].suite.finish()
        }
    }

    @Test("an assignment that fails after its suite was finished is not kept, and the report says so")
    func afterFinishing() async throws {
        let store = FailingStore(["port": 1])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let port = Setting("port", default: 0, suite: suite)
        store.beforeCommit.withLock { hook in
            hook = { [full] in
                #expect(throws: Never.self) { try onAnotherThread { suite.finish() } }
                store.failNextCommit(with: full)
            }
        }
        await blocking { port.value = 2 }
        #expect(port.value == 1)
        #expect(reporter.errors.map(\.code) == [.writeFailed])
        #expect(reporter.errors.first?.consequence.contains("the value is not saved") == true, "\(reporter.errors)")
    }

    /// A file store that calls a closure just before a commit takes the locks.
    private final class EarlyFileStore: SettingsStore {
        private let file: FileStore
        let beforeCommit = Mutex<(@Sendable () -> Void)?>(nil)

        init(_ file: FileStore) { self.file = file }

        var persistence: SettingsPersistence { file.persistence }
        var sharedVersion: StoreVersion? { file.sharedVersion }
        func setObserver(_ observer: any StoreObserver) { file.setObserver(observer) }
        func contents() -> [String: StoredValue] { file.contents() }
        func synchronize() throws { try file.synchronize() }
        func close() { file.close() }

        func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
            file.withValue(forKey: key, body)
        }

        func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
            beforeCommit.withLock { $0.take() }?()
            return try file.commit(isBlind: isBlind, body)
        }
    }

    @Test("a set that equals what another process has just stored is checked", arguments: [5, 50])
    func sameAsOutside(value: Int) async throws {
        try await withSettingsPath { path in
            let store = EarlyFileStore(FileStore(path: path, checkpointsInBackground: false))
            let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
            let other = SettingsSuite(store: FileStore(path: path, checkpointsInBackground: false), reporter: reporter)
            try await pool.suite.transaction { values in
                values[pool.$least] = 3
                values[pool.$most] = 10
            }
            store.beforeCommit.withLock { hook in
                hook = {
                    #expect(throws: Never.self) {
                        try onAnotherThread { try other.setStoredValue(.integer(Int128(value)), forKey: "least") }
                    }
                }
            }
            if value == 5 {
                try await blocking { try pool.$least.set(value) }
                #expect(pool.least == 5)
            } else {
                await expectError(.requirementNotMet) { try await blocking { try pool.$least.set(value) } }
                #expect(pool.least == 3)
            }
            await pool.suite.finish()
            await other.finish()
        }
    }

    @Test("an assignment that becomes a pending write while the suite is being finished is reported as lost")
    func whileFinishing() async throws {
        let store = FailingStore(["port": 1])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let port = Setting("port", default: 0, suite: suite)
        store.onSynchronize.withLock { hook in
            hook = { [full] in
                store.fail(with: full)
                port.value = 2
            }
        }
        await suite.finish()
        #expect(reporter.errors.map(\.code) == [.writeFailed, .notSaved])
        #expect(reporter.errors.last?.consequence.contains("lost") == true)
        await expectError(.notSaved) { try await suite.synchronize() }
    }

    // MARK: Edits

    private func withPool(_ body: (PoolSettings, FileStore, String) async throws -> Void) async throws {
        try await withSettingsPath { path in
            let store = FileStore(path: path, system: faults.system, checkpointsInBackground: false)
            let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
            try await pool.suite.transaction { values in
                values[pool.$least] = 3
                values[pool.$most] = 10
            }
            try await pool.suite.checkpoint()
            try await body(pool, store, path)
            await pool.suite.finish()
        }
    }

    /// Assigns the stored value again, and another one, while the file is edited.
    private func transact(
        _ pool: PoolSettings,
        most: Int,
        edit: String,
        of path: String,
        _ store: FileStore
    ) async throws {
        try await blocking {
            try pool.suite.transaction { values in
                values[pool.$least] = 3
                values[pool.$most] = most
                try path.replaceFile(with: edit)
                // As any reader may do.
                store.lookAndWait()
            }
        }
    }

    @Test(
        "an older pending write does not replace an assigned value, when an edit stores the other values of the transaction first"
    )
    func editOfOtherValues() async throws {
        try await withPool { pool, store, path in
            faults.fail(.write, with: ENOSPC)
            pool.least = 9
            faults.stop()
            #expect(pool.least == 9)
            try await transact(pool, most: 4, edit: #"{"least": 3, "most": 4}"#, of: path, store)
            #expect(pool.values == [3, 4])
            try await pool.suite.synchronize()
            #expect(store.contents() == ["least": 3, "most": 4])
            #expect(pool.values == [3, 4])
        }
    }

    @Test("a set after an edit takes precedence over it, also one of the value before the edit", arguments: [7, 8])
    func setAfterEdit(value: Int) async throws {
        for _ in 0..<5 {
            try await withSettingsPath { path in
                try path.overwriteFile(with: #"{"port": 7}"#)
                let suite = SettingsSuite(fileAt: path, reporter: reporter)
                let (port, other) = (
                    Setting("port", default: 0, suite: suite), Setting("other", default: 0, suite: suite)
                )
                try await other.set(1)
                let observation = port.observe { _ in }
                #expect(port.value == 7)
                try await suite.checkpoint()
                try path.replaceFile(with: #"{"port": 9}"#)
                try await port.set(value)
                await eventually("the edit is noticed") { !suite.contains("other") }
                #expect(port.value == value)
                observation.invalidate()
                await suite.finish()
            }
        }
    }

    @Test("a transaction that assigns the stored value takes precedence over an edit while its body runs")
    func editOfAssignedValue() async throws {
        try await withPool { pool, store, path in
            let log = OfferLog()
            // Without a watch, whose thread might check the edit before the transaction ends.
            let subscription = pool.suite.engine.withValue(forKey: "") { _, state in
                state.subscribers.insert(log, forKeys: nil)
            }
            defer { pool.suite.engine.removeSubscriber(subscription) }
            try await transact(pool, most: 8, edit: #"{"least": 2, "most": 10}"#, of: path, store)
            #expect(pool.values == [3, 8])
            #expect(store.contents() == ["least": 3, "most": 8])
            #expect(log.commits.all.flatMap(\.changes).map(\.key) == ["most"])
        }
    }

    /// A reporter that reads a setting.
    private final class ReadingReporter: SettingsReporter {
        let errors = CallLog<SettingsError>()
        let read = Mutex<(@Sendable () -> Void)?>(nil)
        let depth = Mutex((now: 0, most: 0))

        func report(_ error: SettingsError) {
            errors.add(error)
            depth.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            read.withLock(\.self)?()
            depth.withLock { $0.now -= 1 }
        }
    }

    @Test("a reporter that reads a setting is called for one dropped assignment after the other")
    func readingReporter() async throws {
        let reporter = ReadingReporter()
        let store = FailingStore(["limit": 100])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let limit = Setting("limit", default: 100, suite: suite)
        let settings = (0..<20).map { Setting("a\(10 + $0)", default: 0, suite: suite) }
        for setting in settings {
            SettingsCatalog(setting, limit).require("\(setting.key) is at most limit", setting, limit) { $0 <= $1 }
        }
        store.fail(with: full)
        for setting in settings { setting.value = 50 }
        reporter.read.withLock { $0 = { _ = limit.value } }
        try CheckScope.run { try store.memory.commit { $0["limit"] = 10 } }
        store.fail(with: nil)
        try await suite.synchronize()
        let dropped = { reporter.errors.all.filter { $0.code == .requirementNotMet }.compactMap(\.key) }
        await eventually("all are reported") { dropped().count == settings.count }
        #expect(dropped() == settings.map(\.key))
        #expect(reporter.depth.withLock(\.most) <= 2)
        reporter.read.withLock { $0 = nil }
    }

    @Test("a pending write is dropped if the values that are used because of another requirement do not admit it")
    func notAdmitted() async throws {
        let store = FailingStore(["least": 50, "most": 120, "limit": 1])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let least = Setting("least", default: 1, suite: suite)
        let (most, limit) = (Setting("most", default: 10, suite: suite), Setting("limit", default: 100, suite: suite))
        store.fail(with: full)
        least.value = 120
        let catalog = SettingsCatalog(least, most, limit)
        catalog.require("least is at most most", least, most) { $0 <= $1 }
        catalog.require("most is at most limit", most, limit) { $0 <= $1 }
        #expect(least.value <= most.value && most.value <= limit.value)
        store.fail(with: nil)
        try await suite.synchronize()
        #expect(least.value <= most.value && most.value <= limit.value)
        #expect(reporter.errors.contains { $0.code == .requirementNotMet && $0.key == "least" })
    }
}
