// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Waiting for a file lock")
struct FileLockTests {
    /// A clock that advances only while the test waits.
    private final class ManualTime: Sendable {
        private let start = ContinuousClock.now
        private let waited = Mutex(Duration.zero)

        var sinceStart: Duration { waited.withLock(\.self) }

        var clock: FileLock.Clock {
            FileLock.Clock(
                now: { [self] in start + sinceStart },
                // Longer steps than requested, so that two minutes need few of them.
                sleep: { [self] seconds in waited.withLock { $0 += .seconds(seconds * 25) } }
            )
        }
    }

    @Test("time in which the process could not run does not count as waiting")
    func pausedProcess() async throws {
        try await withTemporaryDirectory { directory in
            let lock = try HeldLock(directory + "/lock")
            defer { lock.release() }
            let (system, time) = (SystemCalls(), ManualTime())
            let file = try system.open(directory + "/lock", O_RDONLY)
            let isFirst = Mutex(true)
            var clock = time.clock
            let sleep = clock.sleep
            clock.sleep = { seconds in
                let wasFirst = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                // The container is paused for an hour: 144 seconds, which this clock multiplies by 25.
                sleep(wasFirst ? 144 : seconds)
            }
            let error = settingsError { [clock] in
                try FileLock.wait(for: file.path, clock: clock) { try system.tryLock(file) }
            }
            #expect(error?.code == .lockTimedOut)
            #expect((.seconds(3_600 + 4.8) ... .seconds(3_600 + 5.1)).contains(time.sinceStart))
        }
    }

    /// Waits for a lock that is never released, and returns the elapsed time and the error.
    private func wait(
        timeout: Duration = LockTimeouts().withoutProgress,
        slowTimeout: Duration = FileLock.longestWait,
        holder: LockHolder? = nil,
        isHolderShown: Bool = false,
        progress: (Duration) -> UInt64 = { _ in 0 }
    ) async throws -> (waited: Duration, error: SettingsError) {
        try await withTemporaryDirectory { directory in
            let lock = try HeldLock(directory + "/lock")
            defer { lock.release() }
            let (system, time) = (SystemCalls(), ManualTime())
            let file = try system.open(directory + "/lock", O_RDONLY)
            let error = try #require(
                settingsError {
                    try FileLock.wait(
                        for: file.path,
                        LockTimeouts(withoutProgress: timeout, withSlowHolder: slowTimeout),
                        clock: time.clock,
                        holder: { isHolderShown ? LockHolder(ofLockOn: file, system) : holder },
                        progress: { progress(time.sinceStart) },
                        attempt: { try system.tryLock(file) }
                    )
                }
            )
            return (time.sinceStart, error)
        }
    }

    /// What is recorded of the holder.
    enum Record: CaseIterable {
        case none, running, reusedProcessID, otherNamespace
    }

    @Test(
        "waiting fails after five seconds without progress, and after two minutes if the holder may be running",
        arguments: Record.allCases
    )
    func noProgress(record: Record) async throws {
        let current = try #require(LockHolder.current)
        var holder = current
        if record == .reusedProcessID { holder.start += 1 }
        if record == .otherNamespace { holder.namespace += 1 }
        let (waited, error) = try await wait(holder: record == .none ? nil : holder)
        let seconds = [.running, .otherNamespace].contains(record) ? 120 : 5
        #expect((.seconds(seconds) ... .seconds(seconds) + .milliseconds(100)).contains(waited))
        #expect(error.code == .lockTimedOut)
        // A holder that has ended is named as well: its start time depends on the namespace of the process that asks.
        let isNamed = [.running, .reusedProcessID].contains(record)
        let name = isNamed ? "process \(current.process)" : "another process"
        #expect(error.fact == "\(name) has held the lock for \(seconds) seconds without progress")
        let remedy = "wait for process \(current.process), resume it if it is stopped, or end it"
        #expect((error.remedy == remedy) == isNamed)
    }

    @Test("waiting continues while there is progress and fails five seconds after the last")
    func progress() async throws {
        let (waited, error) = try await wait { UInt64(min($0, .seconds(30)) / .seconds(4)) }
        #expect((.seconds(33) ... .seconds(33.1)).contains(waited))
        #expect(error.code == .lockTimedOut)
    }

    @Test(
        "fails after two minutes although there is progress, and does not report that there was none",
        arguments: [(false, true), (true, true), (true, false)]
    )
    func endlessProgress(hasHolder: Bool, isFrequent: Bool) async throws {
        let current = try #require(LockHolder.current)
        let holder = hasHolder ? current : nil
        let (waited, error) = try await wait(holder: holder) {
            UInt64($0 / .seconds(isFrequent ? 1 : 60))
        }
        #expect((.seconds(120) ... .seconds(120.1)).contains(waited))
        #expect(error.code == .lockTimedOut)
        #expect(error.fact == "other processes have kept this one from the lock for 120 seconds")
    }

    #if os(Linux)
    @Test("a running holder that has not announced itself is given two minutes, and is named")
    func unannouncedHolder() async throws {
        let current = try #require(LockHolder.current)
        let (waited, error) = try await wait(isHolderShown: true)
        #expect((.seconds(120) ... .seconds(120.1)).contains(waited))
        #expect(error.fact.hasPrefix("process \(current.process) has held the lock for 120 seconds"))
    }

    @Test("a process that exits waits for two seconds, also for a running holder that has not announced itself")
    func unannouncedHolderAtExit() async throws {
        let limit = CheckpointSchedule.timeoutAtEnd
        let (waited, _) = try await wait(timeout: limit, slowTimeout: limit, isHolderShown: true)
        #expect((.seconds(2) ... .seconds(2.1)).contains(waited))
    }
    #endif

    @Test("waiting fails after five seconds and names the holder when the holder is stopped")
    func stoppedHolder() async throws {
        let process = try ChildProcess(["/bin/sleep", "600"])
        defer { process.end() }
        var holder = try #require(LockHolder.current)
        holder.process = UInt64(process.identifier)
        holder.start = try #require(SystemCalls.statusOfProcess(holder.process)).start
        #expect(holder.mayBeRunning)
        process.signal(SIGSTOP)
        await eventually("the process is stopped") { !holder.mayBeRunning }
        let (waited, error) = try await wait(holder: holder)
        #expect((.seconds(5) ... .seconds(5.1)).contains(waited))
        #expect(error.fact == "process \(holder.process) has held the lock for 5 seconds without progress")
    }
}

@Suite("An explicit checkpoint during another process's checkpoint")
struct SlowCheckpointTests {
    @Test(
        "a checkpoint waits for a slow disk far beyond its timeout, also when the journal is replaced meanwhile",
        arguments: [false, true]
    )
    func slowDisk(isReplaced: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let drafting = Interruption(before: .sync) { called in
                called.hasPrefix("\(directory)/.settings.json.") && called.hasSuffix(".new")
            }
            drafting.run {
                hasBegun.signal()
                mayEnd.waitUntilSignaled()
            }
            let counter = CallCounter(path + ".lock")
            let timeout = Duration.milliseconds(50)
            let holder = makeStore(path, drafting.system)
            let waiter = FileStore(
                path: path,
                system: counter.system,
                checkpointsInBackground: false,
                journalBound: 256,
                timeouts: LockTimeouts(withoutProgress: timeout)
            )
            try holder.commit(isBlind: true) { $0["a"] = 1 }
            try waiter.commit(isBlind: true) { $0["b"] = 2 }
            async let first: Void = blocking { #expect(throws: Never.self) { try holder.checkpoint() } }
            _ = await blocking { hasBegun.waitUntilSignaled() }
            if isReplaced {
                let inode = try (path + ".journal").inode
                for value in (0..<60).reversed() {
                    try waiter.commit(isBlind: true) { $0["b"] = .integer(Int128(value) + 2) }
                }
                #expect(try (path + ".journal").inode != inode)
            }
            let outcome = Mutex<Result<Void, any Error>?>(nil)
            async let second: Void = blocking {
                let result = Result { try waiter.checkpoint() }
                outcome.withLock { $0 = result }
            }
            await eventually("the checkpoint has waited for a multiple of its timeout") {
                // Two attempts are 2 ms apart at most, so 100 attempts take longer than the timeout.
                counter.count(.lock) > 100 || outcome.withLock { $0 != nil }
            }
            #expect(outcome.withLock { $0 == nil }, "the checkpoint has failed")
            mayEnd.signal()
            _ = await (first, second)
            try outcome.withLock { $0 }?.get()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["a": 1, "b": 2])
        }
    }

    @Test("the last checkpoint of a process does not wait long for a slow holder of the journal's lock")
    func slowJournalHolderAtEnd() async throws {
        try await withSettingsPath { path in
            let counter = CallCounter(path + ".journal")
            let store = FileStore(path: path, system: counter.system)
            store.schedule.backOff()
            try store.commit(isBlind: true) { $0["a"] = 1 }
            let lock = try HeldJournalLock(besideFileAt: path)
            let page = try #require(store.peek { $0.journal.journal?.page })
            try #require(LockHolder.current).store(as: .journal, in: page)
            let before = counter.count(.lock)
            await blocking { store.close() }
            // Two seconds are about 1,000 attempts, fewer on a busy machine, and two minutes 60,000.
            #expect((20..<10_000).contains(counter.count(.lock) - before))
            lock.release()
        }
    }

    #if os(Linux)
    @Test("a lock of another program on the whole journal ends the first set of a process with an error")
    func lockedFile() async throws {
        try await withSettingsPath { path in
            let timeout = LockTimeouts(withoutProgress: .milliseconds(100), withSlowHolder: .milliseconds(100))
            let new = FileStore(path: path, timeouts: timeout)
            do {
                let known = makeStore(path)
                try known.commit { $0["a"] = 1 }
                known.close()
            }
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path + ".journal"))
            var lock = flock()
            (lock.l_type, lock.l_whence) = (Int16(F_RDLCK), Int16(SEEK_SET))
            // F_OFD_SETLK: the lock of an open file, which a process does not share with itself, as another process's.
            try #require(fcntl(file.fileDescriptor, 37, &lock) == 0)
            let error = await blocking { settingsError { try new.commit { $0["a"] = 2 } } }
            #expect(error?.code == .lockTimedOut)
            try file.close()
            try await blocking { try new.commit { $0["a"] = 3 } }
        }
    }
    #endif

    @Test("a holder that was killed is forgotten by the next process that acquires the journal's lock")
    func killedJournalHolder() async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit(isBlind: true) { $0["a"] = 1 }
            let page = try #require(store.peek { $0.journal.journal?.page })
            var holder = try #require(LockHolder.current)
            holder.namespace += 1
            holder.store(as: .journal, in: page)
            try store.commit(isBlind: true) { $0["a"] = 2 }
            #expect(LockHolder(of: .journal, in: page) == nil)
        }
    }

    @Test("a checkpoint waits for the lock file that replaces the one it waited for")
    func replacedLock() async throws {
        try await withSettingsPath { path in
            let counter = CallCounter(path + ".lock")
            // However slow the machine is, it waits for as long as this test holds the locks.
            let store = FileStore(
                path: path,
                system: counter.system,
                checkpointsInBackground: false,
                timeouts: .unlimited
            )
            try store.commit(isBlind: true) { $0["a"] = 1 }
            let first = try HeldLock(path + ".lock")
            async let checkpoint: Void = blocking { #expect(throws: Never.self) { try store.checkpoint() } }
            await eventually("the checkpoint waits") { counter.count(.lock) > 30 }
            try FileManager.default.removeItem(atPath: path + ".lock")
            let second = try HeldLock(path + ".lock")
            let opened = counter.count(.open)
            first.release()
            await eventually("the checkpoint opens the second lock file") { counter.count(.open) > opened }
            let attempts = counter.count(.lock)
            await eventually("the checkpoint waits for the second lock") { counter.count(.lock) > attempts + 30 }
            #expect(!FileManager.default.fileExists(atPath: path))
            second.release()
            await checkpoint
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }
}
