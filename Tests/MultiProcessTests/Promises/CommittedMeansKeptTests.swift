// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Promise 1: committed means kept")
struct CommittedMeansKeptTests {
    /// The moments are random, and the same in every run.
    private static let delays: [Duration] = {
        var generator = SeededGenerator(seed: 0x5EED)
        return (0..<50).map { _ in .microseconds(Int.random(in: 0...60_000, using: &generator)) }
    }()

    @Test(
        "after kill -9 at 50 random moments, every value whose set had returned is there, and others can go on at once"
    )
    func killed() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            for (round, delay) in Self.delays.enumerated() {
                let key = "round\(round)"
                let said = try await withProbe(at: place) { probe in
                    try probe.send("count \(key)")
                    let first = try await probe.line()
                    await pass(delay)
                    await probe.end()
                    return [first] + probe.remainingLines()
                }
                let last = try #require(said.last.flatMap { Int($0) })
                #expect(said == (1...last).map(String.init))

                // One more than was said may be kept: the process can die between the set and saying so.
                let suite = SettingsSuite(fileAt: place.path)
                let setting = Setting(key, default: 0, suite: suite)
                let kept = setting.value
                #expect((last...last + 1).contains(kept))
                let start = ContinuousClock.now
                try suite.fold()
                #expect(try document(at: place.path)[key] as? Int == kept)
                try setting.set(-1)
                #expect(ContinuousClock.now - start < .seconds(4), "the locks are free")
            }
            try await withProbe(at: place) { probe in
                try await probe.expect("get round49", says: "-1")
            }
        }
    }

    /// Lets the time pass that is the test's input.
    private func pass(_ delay: Duration) async {
        do {
            try await Task.sleep(for: delay)
        } catch {
            // A cancelled test kills the process at once; the law holds for that moment as well.
        }
    }

    @Test("what was set and not yet folded outlives its process, and is folded by whoever comes next")
    func unfolded() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withoutFolding(of: place.path) {
                try await withProbe(at: place) { probe in
                    try await probe.expect("fill key 100")
                    try await probe.expect("set n 1")
                    try await probe.expect("set n 2")
                    try await probe.expect("remove key-0")
                    await probe.end()
                }
                #expect(!FileManager.default.fileExists(atPath: place.path))
                try await withProbe(at: place) { probe in
                    try await probe.expect("keys", says: "100")
                    try await probe.expect("get n", says: "2")
                    try await probe.expect("text key-0", says: "none")
                }
            }
            // Reading is enough: this process has set nothing.
            let suite = SettingsSuite(fileAt: place.path)
            #expect(suite.keys.count == 100)
            try await eventually("somebody folds it") {
                try FileManager.default.fileExists(atPath: place.path) && document(at: place.path).count == 100
            }
        }
    }

    @Test(
        "a process that comes to its own end, by returning or by exiting, has folded what it set",
        arguments: [false, true]
    )
    func ending(isExit: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbe(at: place) { probe in
                try await probe.expect("set n 1")
                if isExit { try probe.send("exit") }
                try await probe.finish()
                #expect(try document(at: place.path)["n"] as? Int == 1)
            }
        }
    }

    @Test("once synchronize has returned, all that was set is on the disk, with the journal's name and its directory's")
    func synchronized() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/new/settings.json"
            let unsafe = Mutex<Set<String>>([])
            // What has been written, and what has got a name in a directory, since that was synchronized last.
            let system = SystemCalls(witness: { call, name in
                unsafe.withLock { unsafe in
                    switch call {
                    case .write: unsafe.insert(name)
                    case .open where name.hasSuffix(".journal"): unsafe.insert("\(directory)/new")
                    case .makeDirectory: unsafe.insert(directory)
                    case .sync: unsafe.remove(name)
                    default: break
                    }
                }
            })
            let suite = SettingsSuite(store: FileStore(path: FilePath(path), system: system))
            try suite.setStoredValue(1, forKey: "a")
            try suite.setStoredValue(2, forKey: "b")
            #expect(unsafe.withLock { $0 }.contains("\(path).journal"), "sets wait for no disk")
            try suite.synchronize()
            // A fold that has begun by itself is no part of it.
            #expect(unsafe.withLock { $0 }.filter { !$0.hasSuffix(".new") } == [])
        }
    }

    @Test("what was set is on the disk soon after the last set, and nobody need ask for it")
    func idle() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbe(at: place) { probe in
                for value in 1...3 {
                    try await probe.expect("set n \(value)")
                    // It takes 200 ms; a busy machine may need longer.
                    try await eventually("the file has it", within: .seconds(5)) {
                        try FileManager.default.fileExists(atPath: place.path)
                            && document(at: place.path)["n"] as? Int == value
                    }
                }
            }
        }
    }
}
