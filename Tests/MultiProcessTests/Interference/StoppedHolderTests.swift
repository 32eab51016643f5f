// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A stopped process that holds a lock")
struct StoppedHolderTests {
    @Test("sets of others fail after five seconds, reads take no lock, and sets work again when the process continues")
    func stopped() async throws {
        try await withPlace { place in
            let attempts = LockAttempts(of: "\(place.path).journal")
            // Only the sets of this test try to take the lock.
            let suite = SettingsSuite(
                store: FileStore(path: FilePath(place.path), system: attempts.system, checkpointsInBackground: false)
            )
            let here = Setting("n", default: 0, suite: suite)
            try await here.set(1)
            try await withProbes(3, at: place) { probes in
                let (holder, writer, reader) = (probes[0], probes[1], probes[2])
                try await holder.expect("hold n 2", prints: "holding")
                holder.signal(SIGSTOP)

                let start = ContinuousClock.now
                try writer.send("set n 3")
                try await readBesideWaitingSets(reader, here, attempts)
                try await writer.expect(prints: "error lockTimedOut")
                let waited = ContinuousClock.now - start
                #expect(waited >= .seconds(5), "\(waited)")
                #expect(here.value == 1)

                holder.signal(SIGCONT)
                try await holder.expect("continue")
                #expect(here.value == 2)
                try await writer.expect("set n 4")
                try await reader.expect("get n", prints: "4")
                try await here.set(5)
                try await holder.expect("get n", prints: "5")
            }
            await suite.finish()
        }
    }

    /// Reads in another process and in this one while a set of this process waits for the lock.
    ///
    /// A read that waited for the lock, or for the waiting thread, would return only after the set has failed. So only
    /// reads that return before that count, however long they take.
    private func readBesideWaitingSets(_ reader: Probe, _ here: Setting<Int>, _ attempts: LockAttempts) async throws {
        var reads = 0
        for round in 1... {
            try #require(round <= 12, "reads returned only after a set had failed")
            let before = attempts.count
            let set = Outcome { try here.set(9) }
            await eventually("the set waits for the lock") { attempts.count > before + 1 || set.isOver }
            while reads < 20 {
                try await reader.expect("get n", prints: "1")
                let ownAttempts = attempts.countOfThisThread
                #expect(here.value == 1)
                // A read that bypasses the cache.
                #expect(here.suite.snapshot() == ["n": 1])
                #expect(attempts.countOfThisThread == ownAttempts, "a read takes no lock")
                if set.isOver { break }
                reads += 1
            }
            await eventually("the set fails") { set.isOver }
            #expect(set.code == .lockTimedOut)
            if reads >= 20 { return }
        }
    }

    /// This process stops in each of the calls in which a checkpoint waits for the disk.
    @Test(
        "a process that stops during a checkpoint delays no set of others",
        arguments: [
            (SystemCalls.Name.sync, ".journal"), (.write, ".new"), (.sync, ".new"), (.sync, "/"),
        ]
    )
    func stoppedInMiddle(call: SystemCalls.Name, suffix: String) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let gate = DispatchSemaphore(value: 0)
            let stop = Interruption(before: call) { path in
                // Only the path of the directory lacks the file's name.
                suffix == "/" ? path == directory : path.hasSuffix(suffix)
            }
            let suite = SettingsSuite(
                store: FileStore(path: FilePath(place.path), system: stop.system, checkpointsInBackground: false)
            )
            try await suite.setStoredValue(1, forKey: "n")
            try await withProbe(at: place) { probe in
                try await probe.expect("get n", prints: "1")
                stop.run { gate.wait() }
                // A new value to checkpoint, in case the probe has checkpointed already.
                try await suite.setStoredValue(2, forKey: "n")
                let checkpointing = Outcome { try suite.checkpoint() }
                await eventually("the checkpoint stops") { stop.hasRun }
                for value in 3...100 { try await probe.expect("set n \(value)") }
                gate.signal()
                await eventually("the checkpoint ends") { checkpointing.isOver }
                #expect(checkpointing.hasSucceeded)
                try await probe.expect("checkpoint")
                #expect(try document(at: place.path)["n"] as? Int == 100)
                #expect(suite[storedValueFor: "n"] == 100)
            }
            await suite.finish()
        }
    }
}

/// Counts the attempts to take a lock.
private final class LockAttempts: Sendable {
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
