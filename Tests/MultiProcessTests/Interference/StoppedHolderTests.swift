// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A stopped process that holds a lock stops nobody for good")
struct StoppedHolderTests {
    @Test("sets of others fail after five seconds, reads take no lock, and all is well when the process continues")
    func stopped() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let tries = LockTries(of: "\(place.path).journal")
            // Only the sets of this test try to take the lock.
            let suite = SettingsSuite(
                store: FileStore(path: FilePath(place.path), system: tries.system, checkpointsInBackground: false)
            )
            let here = Setting("n", default: 0, suite: suite)
            try here.set(1)
            try await withProbes(3, at: place) { probes in
                let (holder, writer, reader) = (probes[0], probes[1], probes[2])
                try await holder.expect("hold n 2", says: "holding")
                holder.signal(SIGSTOP)

                let start = ContinuousClock.now
                try writer.send("set n 3")
                try await readBesideWaitingSets(reader, here, tries)
                try await writer.expect(says: "error lockTimedOut")
                let waited = ContinuousClock.now - start
                #expect(waited >= .seconds(5), "\(waited)")
                #expect(here.value == 1)

                holder.signal(SIGCONT)
                try await holder.expect("go on")
                #expect(here.value == 2)
                try await writer.expect("set n 4")
                try await reader.expect("get n", says: "4")
                try here.set(5)
                try await holder.expect("get n", says: "5")
            }
            suite.finish()
        }
    }

    /// Reads in another process and in this one while a set of this process waits for a lock that is not released.
    ///
    /// A read that waited for the lock, or for the thread that waits for it, would return after that set has failed. So
    /// only reads that have returned before it count, however long they take.
    private func readBesideWaitingSets(_ reader: Probe, _ here: Setting<Int>, _ tries: LockTries) async throws {
        var reads = 0
        for round in 1... {
            try #require(round <= 12, "reads return only when a set has given up the lock")
            let before = tries.count
            let set = Outcome { try here.set(9) }
            await eventually("the set waits for the lock") { tries.count > before + 1 || set.isOver }
            while reads < 20 {
                try await reader.expect("get n", says: "1")
                let ownTries = tries.countOfThisThread
                #expect(here.value == 1)
                // Not from a cache.
                #expect(here.suite.snapshot() == ["n": 1])
                #expect(tries.countOfThisThread == ownTries, "a read takes no lock")
                if set.isOver { break }
                reads += 1
            }
            await eventually("the set fails") { set.isOver }
            #expect(set.code == .lockTimedOut)
            if reads >= 20 { return }
        }
    }

    @Test("one that holds the lock for checkpointing stops no set and no read; who checkpoints gets an error after five seconds")
    func stoppedCheckpointer() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(3, at: place) { probes in
                let (holder, writer, reader) = (probes[0], probes[1], probes[2])
                try await writer.expect("set n 1")
                try await writer.expect("checkpoint")
                try await holder.expect("lock .lock", says: "holding")
                holder.signal(SIGSTOP)
                let start = ContinuousClock.now
                try writer.send("checkpoint")
                // A set that waited for who checkpoints would fail in the end: nobody lets go.
                for value in 2...200 { try await reader.expect("set n \(value)") }
                try await reader.expect("synchronize")
                try await writer.expect(says: "error lockTimedOut")
                #expect(ContinuousClock.now - start >= .seconds(5))
                try await writer.expect("get n", says: "200")
                try await writer.expect("set n 201")
                #expect(try document(at: place.path)["n"] as? Int == 1)
                holder.signal(SIGCONT)
                try await holder.expect("let go")
                try await writer.expect("checkpoint")
                #expect(try document(at: place.path)["n"] as? Int == 201)
            }
        }
    }

    /// This process is the one that stops, in each of the calls in which a checkpoint waits for the disk.
    @Test(
        "one that stops in the middle of checkpointing stops no set of others",
        arguments: [
            (SystemCalls.Name.sync, ".journal"), (.write, ".new"), (.sync, ".new"), (.rename, ".last-good"),
            (.sync, "/"),
        ]
    )
    func stoppedInMiddle(call: SystemCalls.Name, suffix: String) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let stop = Stop()
            let system = SystemCalls { name, path in
                // A directory is the only path without the file's name.
                let isMeant = suffix == "/" ? path == directory : path.hasSuffix(suffix)
                if name == call, isMeant { stop.comeBy() }
                return nil
            }
            let suite = SettingsSuite(
                store: FileStore(path: FilePath(place.path), system: system, checkpointsInBackground: false)
            )
            try suite.setStoredValue(1, forKey: "n")
            try await withProbe(at: place) { probe in
                try await probe.expect("get n", says: "1")
                stop.arm()
                // Something to be checkpointed, if the helper has checkpointed by itself already.
                try suite.setStoredValue(2, forKey: "n")
                let checkpointing = Outcome { try suite.checkpoint() }
                await eventually("the checkpoint stops") { stop.isStopping }
                for value in 3...100 { try await probe.expect("set n \(value)") }
                stop.release()
                await eventually("the checkpoint ends") { checkpointing.isOver }
                #expect(checkpointing.hasSucceeded)
                try await probe.expect("checkpoint")
                #expect(try document(at: place.path)["n"] as? Int == 100)
                #expect(suite.storedValue(forKey: "n") == 100)
            }
            suite.finish()
        }
    }
}

/// Keeps the first thread that comes by waiting, once it is armed.
private final class Stop: Sendable {
    private let armed = Atomic(false)
    private let stopping = Atomic(false)
    private let gate = DispatchSemaphore(value: 0)

    func arm() {
        armed.store(true, ordering: .sequentiallyConsistent)
    }

    func comeBy() {
        guard armed.exchange(false, ordering: .sequentiallyConsistent) else { return }
        stopping.store(true, ordering: .sequentiallyConsistent)
        gate.wait()
    }

    var isStopping: Bool { stopping.load(ordering: .sequentiallyConsistent) }

    func release() {
        armed.store(false, ordering: .sequentiallyConsistent)
        gate.signal()
    }
}

/// Counts how often a lock was tried to be taken.
private final class LockTries: Sendable {
    private let path: String
    private let counts = Mutex<[UInt: Int]>([:])

    init(of path: String) { self.path = path }

    var system: SystemCalls {
        SystemCalls { [self] call, called in
            guard call == .lock, called == path else { return nil }
            counts.withLock { $0[SystemCalls.currentThread(), default: 0] += 1 }
            return nil
        }
    }

    var count: Int { counts.withLock { $0.values.reduce(0, +) } }
    var countOfThisThread: Int { counts.withLock { $0[SystemCalls.currentThread(), default: 0] } }
}

/// What comes of something that is done on a thread that may wait.
private final class Outcome: Sendable {
    private struct State {
        var error: (any Error)?
        var isOver = false
    }

    private let state = Mutex(State())

    init(_ work: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread {
            var error: (any Error)?
            do {
                try work()
            } catch let failure {
                error = failure
            }
            self.state.withLock { [error] in $0 = State(error: error, isOver: true) }
        }
    }

    var isOver: Bool { state.withLock { $0.isOver } }
    var hasSucceeded: Bool { state.withLock { $0.isOver && $0.error == nil } }
    /// The code of the error; `nil` when it is none of this library.
    var code: SettingsError.Code? { state.withLock { ($0.error as? SettingsError)?.code } }
}
