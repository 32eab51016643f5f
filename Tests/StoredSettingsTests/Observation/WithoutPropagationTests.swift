// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Changes without propagation", .deadlockLimit)
struct WithoutPropagationTests {
    private let suite: SettingsSuite
    private let store = FailingStore()
    private let log = CallLog<[Int]>()
    private let port: Setting<Int>

    init() {
        suite = SettingsSuite(store: store, reporter: RecordingReporter())
        port = Setting("port", default: 1, suite: suite)
    }

    @Test("Row 31: a change without propagation is read at once, calls no observer, and is the next change's old value")
    func observers() throws {
        let seen = ObservedChanges(of: port)
        port.value = 2
        try suite.withoutPropagation {
            port.value = 3
            #expect(port.value == 3)
            try port.update { $0 += 1 }
            try suite.transaction { $0[port] += 1 }
            try port.reset()
            try suite.setStoredValue(7, forKey: "port")
        }
        #expect(port.value == 7)
        #expect(seen.pairs == [[1, 2]])
        port.value = 8
        #expect(seen.pairs == [[1, 2], [7, 8]])
    }

    @Test("a change of a renamed setting without propagation is the next change's old value, also in a stream")
    func renamed() async throws {
        let port = Setting("port", default: 1, suite: suite, traits: .renamed(from: "oldPort"))
        let seen = ObservedChanges(of: port)
        var values = port.values.makeAsyncIterator()
        #expect(await values.next() == 1)
        port.value = 2
        #expect(await values.next() == 2)
        suite.withoutPropagation { port.value = 3 }
        try await port.reset()
        #expect(await values.next() == 1)
        #expect(seen.pairs == [[1, 2], [3, 1]])
    }

    @Test("Row 31: a change without propagation reaches no stream of a setting or a suite")
    func streams() async {
        let (changes, all, some) = (port.changes(), suite.changes(), suite.changes(of: "port"))
        var values = port.values.makeAsyncIterator()
        #expect(await values.next() == 1)
        suite.withoutPropagation { port.value = 2 }
        port.value = 3
        #expect(await values.next() == 3)
        for await change in changes {
            #expect(change == SettingChange(old: 2, new: 3, origin: .local))
            break
        }
        for await change in all {
            #expect(change["port"]?.old == 2)
            break
        }
        for await change in some {
            #expect(change["port"]?.old == 2)
            break
        }
    }

    @Test("only changes of the suite by the task inside the block are not propagated")
    func scope() throws {
        let other = Setting("port", default: 1, suite: .inMemory())
        let observations = [port, other].map { $0.observe { [log] in log.add([$0.old, $0.new]) } }
        try suite.withoutPropagation {
            other.value = 11
            try onAnotherThread { port.value = 12 }
            suite.withoutPropagation { port.value = 13 }
            SettingsSuite.inMemory().withoutPropagation { port.value = 14 }
            port.value = 15
        }
        port.value = 16
        #expect(log.all == [[1, 11], [1, 12], [15, 16]])
        withExtendedLifetime(observations) {}
    }

    @Test("a change after a block that throws is propagated")
    func throwing() {
        struct Failure: Error {}
        let seen = ObservedChanges(of: port)
        #expect(throws: Failure.self) {
            try suite.withoutPropagation {
                port.value = 2
                throw Failure()
            }
        }
        port.value = 3
        #expect(seen.pairs == [[2, 3]])
    }

    @Test("changes by tasks that the block starts are not propagated until it returns")
    func tasks() async {
        let seen = ObservedChanges(of: port)
        let (isOver, waiting) = AsyncStream.makeStream(of: Void.self)
        let lateTask = await suite.withoutPropagation {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [port] in port.value = 2 }
            }
            await Task.yield()
            port.value = 3
            return Task { [port] in
                for await _ in isOver { break }
                port.value = 4
            }
        }
        #expect(seen.pairs.isEmpty)
        waiting.yield()
        await lateTask.value
        #expect(seen.pairs == [[3, 4]])
    }

    @Test("a change without propagation that is saved later is not propagated")
    func pendingWrites() throws {
        let seen = ObservedChanges(of: port)
        store.fail(with: SettingsError(.writeFailed, fact: "the disk is full"))
        suite.withoutPropagation { port.value = 2 }
        #expect(port.value == 2)
        store.fail(with: nil)
        try suite.synchronize()
        #expect(seen.pairs.isEmpty)
        port.value = 3
        #expect(seen.pairs == [[2, 3]])
    }

    @Test("changes by others during the block, and earlier pending writes, are propagated")
    func others() async throws {
        let key = Setting("key", default: 1, suite: suite)
        let observations = [port, key].map { $0.observe { [log] in log.add([$0.old, $0.new]) } }
        store.fail(with: SettingsError(.writeFailed, fact: "the disk is full"))
        key.value = 2
        store.fail(with: nil)
        suite.withoutPropagation {
            port.value = 5
            let change = StoreChange(key: "key", old: 2, new: 6)
            suite.engine.record(StoreCommit(changes: [change], origin: .external)).perform()
        }
        await eventually("the external change is received") { log.all == [[1, 2], [2, 6]] }
        withExtendedLifetime(observations) {}
    }

    @Test("a change without propagation reaches another process")
    func otherProcess() async throws {
        try await withSettingsPath { path in
            // Two stores for one file do not share state, like two processes.
            let (localSuite, otherSuite) = (
                SettingsSuite(store: FileStore(path: path)), SettingsSuite(store: FileStore(path: path))
            )
            var values = Setting("port", default: 1, suite: otherSuite).values.makeAsyncIterator()
            #expect(await values.next() == 1)
            localSuite.withoutPropagation { Setting("port", default: 1, suite: localSuite).value = 2 }
            #expect(await values.next() == 2)
            for suite in [localSuite, otherSuite] {
                await suite.finish()
                suite.engine.store.close()
            }
        }
    }

    @Test("a change by a thread without a task is not propagated")
    func threadWithoutTask() throws {
        let seen = ObservedChanges(of: port)
        try onAnotherThread {
            suite.withoutPropagation { port.value = 2 }
            port.value = 3
        }
        #expect(seen.pairs == [[2, 3]])
    }
}
