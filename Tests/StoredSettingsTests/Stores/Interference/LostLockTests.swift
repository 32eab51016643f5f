// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Concurrent checkpoints")
struct LostLockTests {
    /// Removes the lock file during a checkpoint, and then checkpoints another store, as another process would.
    private func withLostLock(
        at call: SystemCalls.Name,
        _ isMoment: @escaping @Sendable (String) -> Bool,
        _ body: (_ path: String, _ store: FileStore, _ other: FileStore) throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let isPending = Mutex(true)
            let other = FileStore(path: path, checkpointsInBackground: false)
            let system = SystemCalls { name, path in
                guard name == call, isMoment(path) else { return nil }
                let isFirst = isPending.withLock { pending in
                    defer { pending = false }
                    return pending
                }
                guard isFirst else { return nil }
                do {
                    try FileManager.default.removeItem(atPath: directory + "/settings.json.lock")
                    try other.commit { $0["other"] = 2 }
                    try other.checkpoint()
                } catch {
                    Issue.record(error)
                }
                return nil
            }
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            try store.commit { $0["own"] = 1 }
            try body(path, store, other)
            #expect(!isPending.withLock { $0 })
        }
    }

    @Test("a checkpoint whose lock file is removed while it writes the draft loses nothing")
    func duringDraft() async throws {
        try await withLostLock(at: .sync) {
            $0.hasSuffix(".new")
        } _: { path, store, other in
            // The other checkpoint holds the new lock file, so this one must not rename its draft.
            do {
                try store.checkpoint()
            } catch let error as SettingsError {
                #expect(error.code == .writeFailed)
            }
            let expected: [String: StoredValue] = ["own": 1, "other": 2]
            #expect(store.contents() == expected)
            try store.checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == expected)
            #expect(FileStore(path: path, checkpointsInBackground: false).contents() == expected)
        }
    }

    @Test("a checkpoint whose lock file is removed after the rename does not count a later record as written")
    func afterRename() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let other = FileStore(path: path, checkpointsInBackground: false)
            let isPending = Mutex(true)
            let system = SystemCalls { name, called in
                // The first synchronization of the directory follows the rename.
                guard name == .sync, called == directory, isPending.withLock({ $0 }) else { return nil }
                isPending.withLock { $0 = false }
                do {
                    try FileManager.default.removeItem(atPath: path + ".lock")
                    try other.checkpoint()
                    try other.commit { $0["late"] = 2 }
                } catch {
                    Issue.record(error)
                }
                return nil
            }
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            try store.commit { $0["own"] = .string(String(repeating: "x", count: 1_000)) }
            do {
                try store.checkpoint()
            } catch let error as SettingsError {
                #expect(error.code == .writeFailed)
            }
            #expect(!isPending.withLock { $0 })
            #expect(store.value(forKey: "late") == 2)
            #expect(FileStore(path: path, checkpointsInBackground: false).value(forKey: "late") == 2)
            try store.checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8))["late"] == 2)
        }
    }

    @Test("a checkpoint does not replace the file after another process has acquired a new checkpoint lock")
    func takenLock() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let lock = Mutex<HeldLock?>(nil)
            let system = SystemCalls { name, called in
                guard name == .sync, called.hasSuffix(".new"), lock.withLock({ $0 == nil }) else { return nil }
                do {
                    try FileManager.default.removeItem(atPath: path + ".lock")
                    let new = try HeldLock(path + ".lock")
                    lock.withLock { $0 = new }
                } catch {
                    Issue.record(error)
                }
                return nil
            }
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            try store.commit { $0["a"] = 1 }
            expectError(.writeFailed) { try store.checkpoint() }
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).allSatisfy { !$0.hasSuffix(".new") })
            let held = try #require(lock.withLock { $0 })
            held.release()
            try store.checkpoint()
            #expect(try path.fileContents == "{\n  \"a\": 1\n}\n")
        }
    }

    @Test("a draft is not renamed after another process has removed or replaced it")
    func replacedDraft() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let isPending = Mutex(true)
            let system = SystemCalls { name, path in
                guard name == .sync, path.hasSuffix(".new"), isPending.withLock({ $0 }) else { return nil }
                isPending.withLock { $0 = false }
                do {
                    try FileManager.default.removeItem(atPath: path)
                    try path.overwriteFile(with: #"{"planted": true}"#)
                } catch {
                    Issue.record(error)
                }
                return nil
            }
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            #expect(try path.fileContents == "{\n  \"a\": 1\n}\n")
        }
    }
}
