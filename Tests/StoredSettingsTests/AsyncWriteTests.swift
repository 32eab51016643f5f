// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Writing without blocking a thread")
struct AsyncWriteTests {
    private let reporter = RecordingReporter()

    /// Runs a body with a suite whose journal's lock is held as by another process.
    private func withHeldLock(
        timeout: Duration = noTimeout,
        _ body: (_ suite: SettingsSuite, _ setting: Setting<Int>, _ lock: HeldJournalLock) async throws -> Void
    ) async throws {
        try await withSettingsPath { path in
            let timeout = LockTimeouts(withoutProgress: timeout, withSlowHolder: timeout)
            let store = FileStore(path: FilePath(path), checkpointsInBackground: false, timeouts: timeout)
            let suite = SettingsSuite(store: store, reporter: reporter)
            let setting = Setting("n", default: 0, suite: suite)
            try await setting.set(1)
            let lock = try HeldJournalLock(besideFileAt: path)
            try await body(suite, setting, lock)
        }
    }

    @Test(
        "operations that wait for another process suspend their tasks, and other tasks and reads continue",
        .deadlockLimit
    )
    func suspended() async throws {
        try await withHeldLock { suite, setting, lock in
            let begun = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                // More than there are cooperative threads.
                for index in 0..<16 {
                    group.addTask { [begun] in
                        begun.add()
                        switch index % 4 {
                        case 0: try await Setting("key\(index)", default: 0, suite: suite).set(index)
                        case 1: try await setting.update { $0 += 1 }
                        case 2: try await suite.transaction { $0[Setting("t", default: 0, suite: suite)] += 1 }
                        default: try await suite.setStoredValue(.integer(Int128(index)), forKey: "raw\(index)")
                        }
                    }
                }
                await eventually("all have begun") { begun.count == 16 }
                // If each of them blocked a thread, these would have to wait until the lock is released.
                for _ in 0..<100 {
                    await withTaskGroup(of: Void.self) { others in
                        for _ in 0..<4 { others.addTask { #expect(setting.value == 1) } }
                    }
                }
                lock.release()
                try await group.waitForAll()
            }
            #expect(setting.value == 5)
            #expect(suite.snapshot().count == 2 + 8)
            #expect(suite[storedValueFor: "t"] == 4)
            #expect(reporter.errors.map(\.message) == [])
        }
    }

    /// Expects that an operation throws when its task is canceled after it has begun.
    private func expectCancellation(
        _ comment: Comment? = nil,
        of operation: @escaping @Sendable () async throws -> Void
    ) async {
        let begun = Counter()
        let task = Task {
            begun.add()
            try await operation()
        }
        await eventually("the operation begins") { begun.count == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self, comment) { try await task.value }
    }

    @Test("a canceled operation that waits throws at once and changes nothing", .deadlockLimit)
    func canceled() async throws {
        try await withHeldLock { suite, setting, lock in
            let whole = SettingsCatalog(setting)[0]
            let part = SettingsCatalog(Setting("pace", default: Pace(), suite: suite))[0]
            let operations: [@Sendable () async throws -> Void] = [
                { try await setting.set(2) },
                { try await setting.reset() },
                { _ = try await setting.update { $0 = 2 } },
                { try await suite.transaction { $0[setting] = 2 } },
                { try await suite.removeAll() },
                { try await suite.checkpoint() },
                { try await whole.set(text: "2") },
                { try await whole.reset() },
                { try await part.set(text: "burst=2") },
            ]
            for (index, operation) in operations.enumerated() {
                await expectCancellation("operation \(index)", of: operation)
            }
            lock.release()
            #expect(suite.snapshot() == ["n": 1])
            try await setting.set(3)
            #expect(setting.value == 3)
            #expect(reporter.errors.map(\.message) == [])
        }
    }

    @Test(
        "a canceled operation that waits for a transaction of this process throws and changes nothing",
        .deadlockLimit
    )
    func canceledBesideTransaction() async throws {
        try await withFileSuite(reporter: reporter) { suite, _ in
            let setting = Setting("n", default: 0, suite: suite)
            let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let transaction = Task {
                try await blocking {
                    try suite.transaction { settings in
                        hasBegun.signal()
                        mayEnd.wait()
                        settings[setting] = 1
                    }
                }
            }
            await blocking { hasBegun.wait() }
            let task = Task { try await setting.set(2) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            mayEnd.signal()
            try await transaction.value
            #expect(setting.value == 1)
        }
    }

    @Test("an operation that is canceled while others wait before it throws at once", .deadlockLimit)
    func canceledBehindOthers() async throws {
        try await withHeldLock { suite, setting, lock in
            let first = Task { try await setting.update { $0 += 1 } }
            await eventually("the first one waits") { lock.isAwaited }
            let others: [@Sendable () async throws -> Void] = [
                { try await setting.update { $0 = 9 } },
                { try await suite.setStoredValue(9, forKey: "n") },
                { try await setting.set(9) },
            ]
            // What does not wait for another writer goes on.
            try await suite.synchronize()
            // Often enough that most of them are suspended when they are canceled.
            for index in 0..<60 { await expectCancellation(of: others[index % others.count]) }
            #expect(lock.isAwaited)
            lock.release()
            let result = try await first.value
            #expect(result == 2)
            #expect(setting.value == 2)
        }
    }

    @Test("any number of waiting operations of one suite leave another suite alone", .deadlockLimit)
    func suites() async throws {
        try await withHeldLock { suite, setting, lock in
            try await withTemporaryDirectory { directory in
                let other = SettingsSuite(fileAt: directory + "/other.json", reporter: reporter)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<200 { group.addTask { try await setting.update { $0 += 1 } } }
                    await eventually("they wait") { lock.isAwaited }
                    try await Setting("n", default: 0, suite: other).update { $0 = 1 }
                    try await other.synchronize()
                    #expect(lock.isAwaited)
                    lock.release()
                    try await group.waitForAll()
                }
                #expect(setting.value == 201)
                await other.finish()
            }
        }
    }

    @Test(
        "the body of an operation that has waited runs once, on the actor of its caller, with its task-local values",
        .deadlockLimit
    )
    func bodies() async throws {
        try await withHeldLock { suite, setting, lock in
            try await changeOnMainActor(suite, setting, lock)
        }
    }

    @MainActor
    private func changeOnMainActor(_ suite: SettingsSuite, _ setting: Setting<Int>, _ lock: HeldJournalLock)
        async throws
    {
        // State that only the actor has: neither is Sendable.
        var seen: [Int] = []
        final class Result { var value = 0 }
        let releasing = Task.detached {
            await eventually("the operation waits") { lock.isAwaited }
            lock.release()
        }
        let result = try await Self.$trace.withValue("outer") {
            try await suite.transaction { settings in
                MainActor.assertIsolated()
                seen.append(settings[setting])
                #expect(Self.trace == "outer")
                // Only the transaction writes in it.
                expectError(.nestedTransaction) { try setting.set(3) }
                settings[setting] = 2
                let result = Result()
                result.value = settings[setting]
                return result
            }
        }
        await releasing.value
        #expect(seen == [1])
        #expect(result.value == 2)
        #expect(setting.value == 2)
        try await setting.set(3)
        #expect(setting.value == 3)
    }

    @TaskLocal private static var trace = ""

    @Test("the error of a body that has waited is thrown, and nothing has changed", .deadlockLimit)
    func failingBody() async throws {
        struct Stop: Error {}
        try await withHeldLock { suite, setting, lock in
            let task = Task {
                try await suite.transaction { settings in
                    settings[setting] = 2
                    throw Stop()
                }
            }
            await eventually("it waits") { lock.isAwaited }
            lock.release()
            await #expect(throws: Stop.self) { try await task.value }
            #expect(setting.value == 1)
            try await setting.set(3)
            #expect(setting.value == 3)
        }
    }

    @Test(
        "an actor that blocks its thread while its own operation waits for it is not blocked for ever",
        .deadlockLimit
    )
    func blockedActor() async throws {
        try await withHeldLock { suite, setting, lock in
            try await blockMainActor(setting, lock)
        }
    }

    @MainActor
    private func blockMainActor(_ setting: Setting<Int>, _ lock: HeldJournalLock) async throws {
        var runs = 0
        let task = Task { @MainActor in
            try await setting.update {
                runs += 1
                $0 += 10
            }
        }
        await eventually("the operation waits") { @Sendable in lock.isAwaited }
        lock.release()
        // The lock is acquired for the body, which runs when this actor is free.
        for _ in 0..<1_000 where !lock.isHeld { usleep(100) }
        func set() throws { try setting.set(5) }
        try set()
        #expect(runs == 0)
        let result = try await task.value
        #expect(result == 15)
        #expect(runs == 1)
        #expect(setting.value == 15)
    }

    @Test("an actor that is always late gets its turn", .deadlockLimit)
    func slowActor() async throws {
        actor Slow {
            private let executor = LateExecutor()

            nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

            func update(_ setting: Setting<Int>) async throws {
                try await setting.update { $0 += 1 }
            }
        }
        // Every transaction over a store of an application runs on another thread.
        let setting = Setting("n", default: 0, suite: SettingsSuite(store: FailingStore()))
        try await Slow().update(setting)
        #expect(setting.value == 1)
    }

    @Test("operations that wait for a process that never releases the lock fail together", .deadlockLimit)
    func failures() async throws {
        // One after another, they would fail after 100 seconds.
        try await withHeldLock(timeout: .seconds(1)) { _, setting, lock in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        await expectError(.lockTimedOut) {
                            try await setting.update { $0 += 1 }
                        }
                    }
                }
            }
            lock.release()
            #expect(setting.value == 1)
            try await setting.set(2)
        }
    }

    @Test("every body runs once when many actors and threads update one value", .deadlockLimit)
    func contention() async throws {
        try await withFileSuite(reporter: reporter) { suite, _ in
            let setting = Setting("n", default: 0, suite: suite)
            actor Counter {
                private var runs = 0

                func count(_ setting: Setting<Int>) async throws -> Int {
                    for _ in 0..<10 {
                        try await setting.update {
                            runs += 1
                            $0 += 1
                        }
                    }
                    return runs
                }
            }
            let runs = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { try await Counter().count(setting) } }
                for _ in 0..<2 {
                    group.addTask {
                        try await blocking {
                            for _ in 0..<100 { try setting.update { $0 += 1 } }
                            return 100
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(runs == 700)
            #expect(setting.value == 700)
            #expect(reporter.errors.map(\.message) == [])
        }
    }

    @Test("an operation in a task that is canceled already throws and changes nothing")
    func canceledBefore() async throws {
        let suite = SettingsSuite.inMemory()
        let setting = Setting("n", default: 0, suite: suite)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await #expect(throws: CancellationError.self) { try await setting.set(1) }
            await #expect(throws: CancellationError.self) { try await suite.synchronize() }
            func set() throws { try setting.set(2) }
            // The synchronous form takes no notice.
            try set()
        }
        try await task.value
        #expect(setting.value == 2)
    }

    @Test("code that an assignment in a task calls waits as long as it likes", .deadlockLimit)
    func callbacks() async throws {
        try await withSettingsPath { path in
            let other = Setting("m", default: 0, suite: .inMemory())
            let store = FileStore(path: FilePath(path), checkpointsInBackground: false)
            let suite = SettingsSuite(store: store, reporter: reporter)
            let setting = Setting("n", default: 0, suite: suite)
            let results = Mutex<[String]>([])
            let observation = setting.observe { _ in
                do {
                    try WaitLimit.check()
                    try other.set(1)
                    results.withLock { $0.append("done") }
                } catch {
                    results.withLock { $0.append("\(error)") }
                }
            }
            try await setting.update { $0 = 1 }
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                setting.value = 2
            }
            await task.value
            await eventually("both changes are delivered") { results.withLock { $0.count } >= 2 }
            #expect(Set(results.withLock { $0 }) == ["done"])
            observation.invalidate()
        }
    }

    @Test("an assignment in a transaction whose task is canceled meanwhile is applied after it", .deadlockLimit)
    func postponedByCanceled() async throws {
        try await withFileSuite(reporter: reporter) { suite, _ in
            let setting = Setting("n", default: 0, suite: suite)
            let task = Task {
                try await suite.transaction { settings in
                    settings[setting] = 1
                    setting.value = 2
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
            try await task.value
            #expect(suite.snapshot() == ["n": 2])
            #expect(reporter.errors.map(\.code) == [.nestedTransaction])
        }
    }

    @Test("an assignment in a task is used at once, and saved when another process releases the lock", .deadlockLimit)
    func assigned() async throws {
        try await withHeldLock { suite, setting, lock in
            for value in 2...200 { setting.value = value }
            #expect(setting.value == 200)
            #expect(suite.engine.store.value(forKey: "n") == 1)
            lock.release()
            await eventually("the value is saved") { suite.engine.store.value(forKey: "n") == 200 }
            try await suite.synchronize()
            #expect(reporter.errors.map(\.message) == [])
        }
    }

    @Test("an assignment in a task that cannot be saved is reported once, and saved later", .deadlockLimit)
    func unsaved() async throws {
        // Longer than a busy machine needs for the assignments, which are to wait together.
        try await withHeldLock(timeout: .seconds(2)) { suite, setting, lock in
            for value in 2...10 { setting.value = value }
            await eventually("the failure is reported") { !reporter.errors.isEmpty }
            #expect(reporter.errors.map(\.code) == [.lockTimedOut])
            #expect(reporter.errors.first?.key == "n")
            #expect(setting.value == 10)
            lock.release()
            await eventually("the value is saved") { suite.engine.store.value(forKey: "n") == 10 }
            #expect(reporter.errors.count == 1)
        }
    }

    @Test("the asynchronous forms have the results of the synchronous ones")
    func results() async throws {
        let suite = SettingsSuite.inMemory()
        let (first, second) = (Setting("a", default: 1, suite: suite), Setting("b", default: "x", suite: suite))
        try await first.set(5)
        #expect(try await first.update { $0 += 1 } == 6)
        let sum = try await suite.transaction { settings in
            settings[second] = "y"
            return settings[first] + 1
        }
        #expect(sum == 7)
        #expect(suite.snapshot() == ["a": 6, "b": "y"])
        try await suite.reset(SettingKey("a", default: 1), SettingKey("b", default: "x"))
        #expect(suite.snapshot() == [:])
        try await second.set("z")
        try await second.reset()
        #expect(second.value == "x")
        let other = Setting("a", default: 1, suite: .inMemory())
        await expectError(.otherSuite) { try await suite.transaction { try $0.reset(other) } }
        await expectError(.invalidKey) {
            try await Setting("", default: 1, suite: suite).set(1)
        }
        struct Stop: Error {}
        await #expect(throws: Stop.self) {
            try await first.update {
                $0 = 9
                throw Stop()
            }
        }
        #expect(!first.isSet)
        await suite.finish()
        await expectError(.suiteFinished) { try await first.set(1) }
    }

    @Test("changes without propagation stay so when they have to wait", .deadlockLimit)
    func withoutPropagation() async throws {
        try await withHeldLock { suite, setting, lock in
            let changes = ObservedChanges(of: setting)
            let task = Task { try await suite.withoutPropagation { try await setting.set(2) } }
            lock.release()
            try await task.value
            try await setting.set(3)
            await eventually("the next change is delivered") { changes.new.last == 3 }
            #expect(!changes.new.contains(2))
        }
    }

    @MainActor
    @Test("an asynchronous set over a store that may have to wait runs on another thread")
    func otherThread() async throws {
        let port = Setting("port", default: 1, suite: SettingsSuite(store: FailingStore()))
        // The object is retained, so that no other thread has the same one after this thread has ended.
        let caller = thread()
        let identifier = ObjectIdentifier(caller)
        let isCaller = Mutex<[Bool]>([])
        let observation = port.observe { _ in
            isCaller.withLock { $0.append(ObjectIdentifier(Thread.current) == identifier) }
        }
        func set() throws { try port.set(2) }
        try set()
        try await port.set(3)
        #expect(isCaller.withLock { $0 } == [true, false])
        observation.invalidate()
        withExtendedLifetime(caller) {}
    }
}

private func thread() -> Thread { .current }

/// Runs each job 150 ms after it is due.
private final class LateExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "late")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.asyncAfter(deadline: .now() + 0.15) { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
