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

    @Test("a single set is in the file and on disk a moment later, without another call")
    func idle() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/new/settings.json"
            let calls = Mutex<[String]>([])
            let system = SystemCalls(witness: { call, name in calls.withLock { $0.append("\(call) \(name)") } })
            let suite = SettingsSuite(store: FileStore(path: FilePath(path), system: system))
            for value in 1...3 {
                try await suite.setStoredValue(.integer(Int128(value)), forKey: "n")
                // There is no call meanwhile: no read, no other set. The limit only ends a test that hangs.
                await eventually("the file is renamed and its directory is synchronized") {
                    let made = calls.withLock(\.self)
                    let renamed = made.lastIndex(of: "rename \(path)") ?? made.endIndex
                    return made.count { $0 == "rename \(path)" } == value
                        && made[renamed...].contains("sync \(directory)/new")
                }
                #expect(try document(at: path)["n"] as? Int == value)
            }
            // No checkpoint was left for `finish()`.
            await suite.finish()
            #expect(calls.withLock { $0.count { $0 == "rename \(path)" } } == 3)
        }
    }
}
