// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Pending writes", .deadlockLimit)
struct PendingWritesTests {
    private let reporter = RecordingReporter()
    private let store = FailingStore(["port": 2])
    private let suite: SettingsSuite
    private let port: Setting<Int>
    private let full = SettingsError(.writeFailed, fact: "the disk is full", remedy: "make room")

    init() {
        suite = SettingsSuite(store: store, reporter: reporter)
        port = Setting("port", default: 1, suite: suite)
    }

    @Test("a failed assignment is reported, readable, and received by subscribers exactly once")
    func failing() async throws {
        var values = port.values.makeAsyncIterator()
        let changes = suite.changes()
        #expect(await values.next() == 2)
        store.fail(with: full)
        port.value = 3
        #expect(reporter.errors.map(\.code) == [.writeFailed])
        #expect(reporter.errors[0].message.contains("the disk is full"))
        #expect(port.value == 3)
        #expect(suite.snapshot() == ["port": 3])
        #expect(store.contents() == ["port": 2])
        #expect(await values.next() == 3)
        let error = settingsError { try suite.synchronize() }
        #expect(error?.code == .notSaved)
        #expect((error?.underlying as? SettingsError)?.code == .writeFailed)

        store.fail(with: nil)
        try await suite.synchronize()
        #expect(store.contents() == ["port": 3])
        port.value = 4
        #expect(await values.next() == 4)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?["port"] == SettingChange(old: 2, new: 4, origin: .local))
    }

    @Test("the next successful change saves the pending writes, and overrides them under the same key")
    func savedByNextChange() throws {
        store.fail(with: full)
        port.value = 3
        Setting("other", default: 0, suite: suite).value = 7
        store.fail(with: nil)
        #expect(try port.update { $0 += 1 } == 4)
        #expect(store.contents() == ["port": 4, "other": 7])
        #expect(suite.snapshot() == store.contents())
    }

    @Test("an assignment inside a transaction is reported to observers after the locks are released")
    func reportedAfterLocks() throws {
        let isInside = Mutex(true)
        let observation = port.observe { [suite] _ in
            #expect(isInside.withLock { $0 } == false)
            // A set on another thread would block if the transaction still held its locks.
            let set = Outcome { try suite.setStoredValue(1, forKey: "from another thread") }
            var deadline = Deadline(after: longestWait)
            while !set.isOver, !deadline.hasPassed { deadline.pauseOnThread() }
            #expect(set.hasSucceeded)
        }
        try suite.transaction { _ in
            port.value = 9
            isInside.withLock { $0 = false }
        }
        #expect(port.value == 9)
        #expect(suite.contains("from another thread"))
        observation.invalidate()
    }

    @Test("a custom store can be used by several suites in turn, and only finish() closes it")
    func customStores() throws {
        let store = FailingStore()
        do {
            let first = SettingsSuite(store: store, reporter: reporter)
            try first.setStoredValue(5, forKey: "a")
        }
        #expect(store.closingCount == 0)
        let second = SettingsSuite(store: store, reporter: reporter)
        let changes = Mutex(0)
        let observation = Setting("a", default: 0, suite: second).observe { _ in changes.withLock { $0 += 1 } }
        try second.setStoredValue(6, forKey: "a")
        #expect(changes.withLock { $0 } == 1)
        observation.invalidate()
        second.finish()
        #expect(store.closingCount == 1)
    }

    @Test(
        "a pending write that the store rejects permanently is dropped, and the others are saved",
        arguments: ["before", "other"]
    )
    func rejectedPermanently(key: String) async throws {
        let (bad, good) = (Setting(key, default: 0, suite: suite), Setting("good", default: 0, suite: suite))
        store.fail(with: full)
        (bad.value, good.value) = (1, 1)
        store.reject(key)
        store.fail(with: nil)
        port.value = 7
        #expect(store.contents() == ["port": 7, "good": 1])
        #expect(bad.value == 0)
        // A retry may have dropped it.
        await eventually("the dropped value is reported") { reporter.errors.last?.code == .unstorable }
        #expect(reporter.errors.last?.key == key)
        try await suite.synchronize()
    }

    @Test("pending writes that a store does not accept together are saved one by one, and so is a set beside them")
    func tooManyTogether() async throws {
        store.fail(with: full)
        for key in ["a", "b", "c"] { suite[storedValueFor: key] = 1 }
        store.fail(with: nil)
        store.mostChanges.withLock { $0 = 2 }
        try await suite.setStoredValue(2, forKey: "d")
        #expect(store.contents().filter { $0.key != "port" } == ["a": 1, "b": 1, "c": 1, "d": 2])
        try await suite.synchronize()
    }

    @Test("a write that is added during a commit remains pending")
    func addedDuringFlush() {
        var state = SettingsEngine.State()
        state.pendingWrites.keep([("port", 3)])
        var transaction = StoreTransaction(base: ["port": 2])
        let flush = state.pendingWrites.beginFlush()
        flush.apply(to: &transaction)
        state.pendingWrites.keep([("port", 4)])
        #expect(state.pendingWrites.revertDropped(flush, in: &transaction) == [])
        let own = StoreCommit(changes: [StoreChange(key: "port", old: 2, new: 3)], origin: .local)
        #expect(state.record(own, over: [:]).changes.isEmpty)
        #expect(state.value(forKey: "port", over: 3) == 4)
    }

    @Test("a pending write that equals the stored value is no change")
    func equalValue() async throws {
        let changes = suite.changes()
        store.fail(with: full)
        port.value = 2
        store.fail(with: nil)
        try await suite.setStoredValue(7, forKey: "other")
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.keys == ["other"])
    }

    @Test("a date that is saved later is no change, although it is read back from a string")
    func dateAsString() {
        let date = Date(timeIntervalSinceReferenceDate: 0.1)
        var state = SettingsEngine.State()
        state.pendingWrites.keep([("at", .date(date))])
        _ = state.pendingWrites.beginFlush()
        let change = StoreChange(key: "at", old: nil, new: StoredValue.date(date).storedAsJSON)
        let visible = state.record(StoreCommit(changes: [change], origin: .local), over: [:])
        #expect(visible.changes.isEmpty && state.pendingWrites.isEmpty)
    }

    @Test("setting the stored value ends a pending write and invalidates the cached value")
    func setOfStoredValue() async throws {
        let changes = suite.changes()
        let seen = CallLog<[Int]>()
        let observation = port.observe { seen.add([$0.old, $0.new]) }
        store.fail(with: full)
        port.value = 3
        #expect(port.value == 3)
        store.fail(with: nil)
        try await port.set(2)
        #expect(port.value == 2)
        #expect(store.contents() == ["port": 2])
        await eventually("the observer receives both changes") { seen.all == [[2, 3], [3, 2]] }
        observation.invalidate()
        try await suite.setStoredValue(7, forKey: "other")
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.keys == ["other"])
    }

    @Test("a dropped value is not read from a cache")
    func dropped() async throws {
        store.reject("port", except: 2)
        store.fail(with: full)
        port.value = 3
        #expect(port.value == 3)
        store.fail(with: nil)
        // Stores nothing, so the store itself invalidates no cache.
        try await suite.synchronize()
        #expect(port.value == 2)
        // A retry may have dropped it.
        await eventually("the dropped value is reported") { reporter.errors.last?.code == .unstorable }
    }

    @Test("pending writes and removals are retried and saved, even if the suite is released")
    func release() async {
        let store = FailingStore(["port": 2, "other": 2])
        store.fail(with: full)
        do {
            let suite = SettingsSuite(store: store, reporter: reporter)
            Setting("port", default: 1, suite: suite).value = 3
            suite[storedValueFor: "other"] = nil
        }
        store.fail(with: nil)
        await eventually("the changes are saved") { store.contents() == ["port": 3] }
    }

    @Test("a commit of another process between the last retry and its end is received")
    func externalCommitDuringRetry() async throws {
        let store = InterruptedStore()
        let suite = SettingsSuite(store: store, reporter: reporter)
        let port = Setting("port", default: 0, suite: suite)
        store.storeFromOutside(1)
        var values = port.values.makeAsyncIterator()
        #expect(await values.next() == 1)
        store.fail(with: full)
        // Equal to the stored value, so the commit of the pending write changes nothing.
        port.value = 1
        store.interruptNextCommit(with: 9)
        // From here on, a retry may be faster than `synchronize()`.
        store.fail(with: nil)
        try await suite.synchronize()
        await eventually("the commit of the other process is received") { port.value == 9 }
        await suite.finish()
        #expect(await values.next() == 9)
    }

    @Test("an error of a custom store is not reported as a conversion error")
    func errorOfCustomStore() {
        struct Unknown: Error {}
        #expect(SettingsError.wrapping(Unknown(), as: .writeFailed).fact == "the store threw an error of type Unknown")
    }

    @Test("a value that is nested too deeply does not become pending, so later changes can be saved")
    func nestedTooDeep() throws {
        let deep = (0...StoredValue.maximumDepth).reduce(1 as StoredValue) { value, _ in .array([value]) }
        store.fail(with: full)
        Setting("deep", default: StoredValue.null, suite: suite).value = deep
        #expect(reporter.errors.map(\.code) == [.unstorable])
        store.fail(with: nil)
        try suite.synchronize()
        #expect(suite.keys == ["port"])
        guard case .array(let elements) = deep else { return }
        try suite.setStoredValue(elements[0], forKey: "deep")
    }
}
