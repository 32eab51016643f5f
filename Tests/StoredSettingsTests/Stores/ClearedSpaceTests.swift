// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Removed values")
struct ClearedSpaceTests {
    private static let secret = "hunter2-does-not-survive"

    private static func value(_ length: Int) -> StoredValue {
        .string(secret + String(repeating: "x", count: length))
    }

    private func holders(in directory: String) throws -> [String] {
        try files(in: directory, containing: Self.secret)
    }

    /// An interruption when a checkpoint releases the journal's lock, after it has determined the contents to write.
    private static func duringCheckpoint() -> Interruption { Interruption(after: .unlock) { $0.hasSuffix(".journal") } }

    @Test(
        "a removed or replaced value is in no file after the next checkpoint",
        arguments: [(10, nil), (10, "new"), (3_000, nil), (200_000, nil)] as [(Int, StoredValue?)],
        [false, true]
    )
    func removed(value: (length: Int, next: StoredValue?), isStored: Bool) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let store = makeStore(path)
            try store.commit { $0["kept"] = 1 }
            try store.commit { $0["token"] = Self.value(value.length) }
            if isStored {
                try store.checkpoint()
                #expect(try holders(in: directory).contains("settings.json"))
            }
            try store.commit { $0["token"] = value.next }
            try store.checkpoint()
            #expect(try holders(in: directory) == [])
            try store.commit { $0["kept"] = 2 }
            #expect(makeStore(path).contents()["kept"] == 2)
            #expect(makeStore(path).contents()["token"] == value.next)
        }
    }

    @Test("a removed value is in no file when several stores checkpoint in turn and read each other's values")
    func severalStores() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let stores = (0..<3).map { _ in makeStore(path) }
            for round in 0..<30 {
                try stores[round % 3].commit { $0["token"] = Self.value(round * 37 % 500) }
                try stores[round % 2].commit { $0["token"] = nil }
                try stores[(round * 7 + 1) % 3].commit { $0["round"] = .integer(Int128(round)) }
                try stores[(round * 5 + 2) % 3].checkpoint()
                #expect(try holders(in: directory) == [], "round \(round)")
                for store in stores { #expect(store.contents() == ["round": .integer(Int128(round))]) }
            }
        }
    }

    @Test("a removed value is in no file when other values are set during the checkpoint", arguments: [1 << 22, 4_000])
    func duringCheckpoint(bound: Int) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let during = Self.duringCheckpoint()
            let other = makeStore(path)
            let store = FileStore(
                path: path,
                system: during.system,
                checkpointsInBackground: false,
                journalBound: bound
            )
            let reader = makeStore(path)
            for _ in 0..<10 { try store.commit { $0["token"] = Self.value(500) } }
            #expect(reader.value(forKey: "token") == Self.value(500))
            try store.commit { $0["token"] = nil }
            during.run { try other.commit { $0["late"] = 1 } }
            try store.checkpoint()
            #expect(other.value(forKey: "late") == 1)
            #expect(try holders(in: directory) == [])
            for store in [store, reader, makeStore(path)] {
                #expect(store.contents() == ["late": 1])
            }
            // The next checkpoint clears the space of the records that were moved to the front.
            try other.commit { $0["token"] = Self.value(500) }
            try other.commit { $0["token"] = nil }
            during.run { try other.commit { $0["late"] = 2 } }
            try store.checkpoint()
            #expect(try holders(in: directory) == [])
            for store in [store, reader, makeStore(path)] {
                #expect(store.contents() == ["late": 2])
            }
        }
    }

    @Test("a value that is set during one checkpoint and removed before the next one is in no file after that")
    func betweenBusyCheckpoints() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let during = Self.duringCheckpoint()
            let other = makeStore(path)
            let store = makeStore(path, during.system)
            try store.commit { $0["kept"] = 1 }
            during.run { try other.commit { $0["token"] = Self.value(500) } }
            try store.checkpoint()
            #expect(try holders(in: directory) == ["settings.json.journal"])
            try other.commit { $0["token"] = nil }
            during.run { try other.commit { $0["kept"] = 2 } }
            try store.checkpoint()
            #expect(try holders(in: directory) == [])
            #expect(makeStore(path).contents() == ["kept": 2])
        }
    }

    @Test("a failure to clear a removed value is reported, and the next checkpoint clears it")
    func failure() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let isFailing = Mutex(false)
            let system = SystemCalls(fault: { call, called in
                isFailing.withLock(\.self) && call == .write && called == path + ".journal" ? EIO : nil
            })
            let (store, recorder) = (makeStore(path, system), ErrorRecorder())
            store.setObserver(recorder)
            try store.commit { $0["token"] = Self.value(10) }
            try store.commit { $0["token"] = nil }
            isFailing.withLock { $0 = true }
            try store.checkpoint()
            isFailing.withLock { $0 = false }
            #expect(recorder.errors.map(\.code) == [.writeFailed])
            #expect(try holders(in: directory) == ["settings.json.journal"])
            try store.checkpoint()
            #expect(try holders(in: directory) == [])
        }
    }

    @Test("a checkpoint also clears a journal that was damaged")
    func damaged() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let store = makeStore(path)
            try store.commit { $0["kept"] = 1 }
            let end = try JournalFile(of: path).end
            try store.commit { $0["token"] = Self.value(10) }
            try store.commit { $0["token"] = nil }
            try JournalFile(of: path).overwriteWord(at: end + 8, with: 1)
            let other = makeStore(path)
            try other.commit { $0["kept"] = 2 }
            try other.checkpoint()
            #expect(try holders(in: directory) == [])
            #expect(store.contents()["kept"] == 2)
        }
    }

    // MARK: - Permissions

    private func setMode(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test("no other user can read a value that was set while the file was private")
    func widened() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let leaks = Mutex<[String]>([])
            let system = SystemCalls(witness: { call, called in
                do {
                    for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                        let file = "\(directory)/\(name)"
                        guard let mode = try file.filePermissions, mode & 0o077 != 0 else { continue }
                        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
                        if bytes.range(of: Data(Self.secret.utf8)) != nil {
                            leaks.withLock { $0.append("\(name) after \(call) \(called)") }
                        }
                    }
                } catch {
                    leaks.withLock { $0.append("\(error)") }
                }
            })
            let store = makeStore(path, system)
            try store.commit { $0["kept"] = 1 }
            try store.checkpoint()
            try store.commit { $0["token"] = Self.value(10) }
            try store.commit { $0["token"] = nil }
            try setMode(0o644, of: path)
            try store.checkpoint()
            #expect(leaks.withLock(\.self) == [])
            // The journal contains nothing that was set before.
            #expect(try (path + ".journal").filePermissions == 0o644)
            #expect(try (path + ".last-good").filePermissions == 0o644)
        }
    }
}
