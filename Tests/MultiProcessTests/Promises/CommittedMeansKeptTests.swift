// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Promise 1: committed means kept")
struct CommittedMeansKeptTests {
    private static let delays: [Duration] = {
        var generator = TestRun.generator()
        return (0..<TestRun.count(quick: 10, exhaustive: 50))
            .map { _ in .microseconds(Int.random(in: 0...60_000, using: &generator)) }
    }()

    @Test(
        "after kill -9 at random moments, every acknowledged value is stored, and other processes continue at once"
    )
    func killed() async throws {
        try await withPlace { place in
            for (round, delay) in Self.delays.enumerated() {
                let key = "round\(round)"
                let acknowledged = try await withProbe(at: place) { probe in
                    try probe.send("count \(key)")
                    let first = try await probe.line()
                    await wait(delay)
                    probe.kill()
                    return [first] + probe.remainingLines()
                }
                let last = try #require(acknowledged.last.flatMap { Int($0) })
                #expect(acknowledged == (1...last).map(String.init))

                // The system has released the lock of the process, so the next process need not wait.
                try HeldLock(place.path + ".lock").release()
                // One unacknowledged value may be stored: the process can die between the set and its output.
                let suite = SettingsSuite(fileAt: place.path)
                let setting = Setting(key, default: 0, suite: suite)
                let stored = setting.value
                #expect((last...last + 1).contains(stored))
                try await suite.checkpoint()
                #expect(try document(at: place.path)[key] as? Int == stored)
                try await setting.set(-1)
            }
            try await withProbe(at: place) { probe in
                try await probe.expect("get round\(Self.delays.count - 1)", prints: "-1")
            }
        }
    }

    /// Waits for the delay, which is the test's input.
    private func wait(_ delay: Duration) async {
        do {
            try await Task.sleep(for: delay)
        } catch {
            // A canceled test kills the process at once, and the expectations still hold.
        }
    }

    @Test("a set that is not yet checkpointed outlives its process, and the next process checkpoints it")
    func journaled() async throws {
        try await withPlace { place in
            try await withoutCheckpoints(of: place.path) {
                try await withProbe(at: place) { probe in
                    try await probe.expect("fill key 100")
                    try await probe.expect("set n 1")
                    try await probe.expect("set n 2")
                    try await probe.expect("remove key-0")
                    probe.kill()
                }
                #expect(!FileManager.default.fileExists(atPath: place.path))
                try await withProbe(at: place) { probe in
                    try await probe.expect("keys", prints: "100")
                    try await probe.expect("get n", prints: "2")
                    try await probe.expect("text key-0", prints: "none")
                }
            }
            // Reading is enough: this process sets nothing.
            let suite = SettingsSuite(fileAt: place.path)
            #expect(suite.keys.count == 100)
            try await eventually("this process checkpoints it") {
                try FileManager.default.fileExists(atPath: place.path) && document(at: place.path).count == 100
            }
        }
    }

    @Test(
        "a process that returns from main or exits has checkpointed its sets",
        arguments: [false, true]
    )
    func ending(isExit: Bool) async throws {
        try await withProbe { probe, place in
            try await probe.expect("set n 1")
            if isExit { try probe.send("exit") }
            try await probe.finish()
            #expect(try document(at: place.path)["n"] as? Int == 1)
        }
    }

    @Test(
        "when synchronize returns, all sets are on disk, including the directory entries of the journal and its directory"
    )
    func synchronized() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/new/settings.json"
            let disk = DiskState(of: path)
            let suite = SettingsSuite(store: FileStore(path: FilePath(path), system: disk.system))
            try await suite.setStoredValue(1, forKey: "a")
            try await suite.setStoredValue(2, forKey: "b")
            #expect(disk.unsafe.contains("\(path).journal"), "sets do not wait for the disk")
            try await suite.synchronize()
            // A checkpoint that has started in the background does not count.
            #expect(disk.unsafe.filter { !$0.hasSuffix(".new") } == [])
        }
    }

    @Test("a single set is in the file and on disk a moment later, without another call")
    func idle() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/new/settings.json"
            let disk = DiskState(of: path)
            let suite = SettingsSuite(store: FileStore(path: FilePath(path), system: disk.system))
            for value in 1...3 {
                try await suite.setStoredValue(.integer(Int128(value)), forKey: "n")
                // There is no call meanwhile: no read, no other set. The limit only ends a test that hangs.
                await eventually("the file is renamed and its directory is synchronized") {
                    disk.placements == value && !disk.unsafe.contains("\(directory)/new")
                }
                #expect(disk.prematurePlacements == 0, "the file is synchronized before it is renamed")
                #expect(try document(at: path)["n"] as? Int == value)
            }
            // No checkpoint was left for `finish()`.
            await suite.finish()
            #expect(disk.placements == 3)
        }
    }
}

/// Tracks the system calls of one store, to know what a power loss would undo.
private final class DiskState: Sendable {
    private struct State {
        /// The files that were written, and the directories that gained an entry, since they were last synchronized.
        var unsafe: Set<String> = []
        /// The number of files renamed to the settings file.
        var placements = 0
        /// The number of files that were renamed before they were synchronized.
        var prematurePlacements = 0
        /// The last file written under a temporary name.
        var draft = ""
        /// The last such file that was synchronized.
        ///
        /// It is the draft of the settings file. The draft of the copy need not be synchronized.
        var synchronizedDraft: String?
    }

    private let path: String
    private let directory: String
    private let state = Mutex(State())

    init(of path: String) {
        self.path = path
        directory = String(path.dropLast("/settings.json".count))
    }

    var system: SystemCalls {
        SystemCalls(witness: { [self] call, name in state.withLock { note(call, name, &$0) } })
    }

    var unsafe: Set<String> { state.withLock { $0.unsafe } }
    var placements: Int { state.withLock { $0.placements } }
    var prematurePlacements: Int { state.withLock { $0.prematurePlacements } }

    private func note(_ call: SystemCalls.Name, _ name: String, _ state: inout State) {
        switch call {
        case .write:
            state.unsafe.insert(name)
            if name.hasSuffix(".new") { state.draft = name }
            if name == state.synchronizedDraft { state.synchronizedDraft = nil }
        case .open where name.hasSuffix(".journal"):
            state.unsafe.insert(directory)
        case .makeDirectory:
            state.unsafe.insert(String(directory.dropLast("/new".count)))
        case .rename where name == path:
            state.placements += 1
            if state.synchronizedDraft == nil { state.prematurePlacements += 1 }
            state.synchronizedDraft = nil
            state.unsafe.insert(directory)
        case .rename:
            // The copy of the file, which need not be synchronized.
            state.unsafe.remove(state.draft)
        case .sync:
            if name.hasSuffix(".new") { state.synchronizedDraft = name }
            state.unsafe.remove(name)
        default:
            break
        }
    }
}
