// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A stopped process that holds a lock stops nobody for good")
struct StoppedHolderTests {
    @Test("a set elsewhere fails after five seconds, reads go on, and all is well when the process continues")
    func stopped() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let here = Setting("n", default: 0, suite: SettingsSuite(fileAt: place.path))
            try here.set(1)
            try await withProbes(3, at: place) { probes in
                let (holder, writer, reader) = (probes[0], probes[1], probes[2])
                try await holder.expect("hold n 2", says: "holding")
                holder.signal(SIGSTOP)

                let start = ContinuousClock.now
                try writer.send("set n 3")
                let outcome = Outcome { try here.set(9) }
                // Reads while both wait, in a third process and in one that waits itself.
                var quickest = Duration.seconds(60)
                for _ in 0..<20 {
                    let start = ContinuousClock.now
                    try await reader.expect("get n", says: "1")
                    #expect(here.value == 1)
                    quickest = min(quickest, ContinuousClock.now - start)
                }
                // The quickest, since on a busy machine any of them may be kept waiting, but not by the lock.
                #expect(quickest < .seconds(4), "reads do not wait for the lock")
                try await writer.expect(says: "error lockTimedOut")
                await eventually("the set here fails", within: .seconds(60)) { outcome.code == .lockTimedOut }
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
        }
    }

    @Test("one that holds the lock for folding stops no set and no read; who folds gets an error after five seconds")
    func stoppedFolder() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(3, at: place) { probes in
                let (holder, writer, reader) = (probes[0], probes[1], probes[2])
                try await writer.expect("set n 1")
                try await writer.expect("fold")
                try await holder.expect("lock .lock", says: "holding")
                holder.signal(SIGSTOP)
                let start = ContinuousClock.now
                try writer.send("fold")
                // A set that waited for who folds would fail in the end: nobody lets go.
                for value in 2...200 { try await reader.expect("set n \(value)") }
                try await reader.expect("synchronize")
                try await writer.expect(says: "error lockTimedOut")
                #expect(ContinuousClock.now - start >= .seconds(5))
                try await writer.expect("get n", says: "200")
                try await writer.expect("set n 201")
                #expect(try document(at: place.path)["n"] as? Int == 1)
                holder.signal(SIGCONT)
                try await holder.expect("let go")
                try await writer.expect("fold")
                #expect(try document(at: place.path)["n"] as? Int == 201)
            }
        }
    }

    /// This process is the one that stops, in each of the calls in which a fold waits for the disk.
    @Test(
        "one that stops in the middle of folding stops no set of others",
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
            let suite = SettingsSuite(store: FileStore(path: FilePath(place.path), system: system, foldsInBackground: false))
            try suite.setStoredValue(1, forKey: "n")
            try await withProbe(at: place) { probe in
                try await probe.expect("get n", says: "1")
                stop.arm()
                // Something to be folded, if the helper has folded by itself already.
                try suite.setStoredValue(2, forKey: "n")
                let folding = Outcome { try suite.fold() }
                await eventually("the fold stops") { stop.isStopping }
                for value in 3...100 { try await probe.expect("set n \(value)") }
                stop.release()
                await eventually("the fold ends") { folding.isOver }
                #expect(folding.code == nil)
                try await probe.expect("fold")
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

/// What comes of something that is done on a thread that may wait.
private final class Outcome: Sendable {
    private struct State {
        var error: SettingsError?
        var isOver = false
    }

    private let state = Mutex(State())

    init(_ work: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread {
            var error: SettingsError?
            do {
                try work()
            } catch let failure {
                error = failure as? SettingsError
            }
            self.state.withLock { [error] in $0 = State(error: error, isOver: true) }
        }
    }

    var code: SettingsError.Code? { state.withLock { $0.error?.code } }
    var isOver: Bool { state.withLock { $0.isOver } }
}
