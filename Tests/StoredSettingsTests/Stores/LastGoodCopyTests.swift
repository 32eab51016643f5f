// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("The last good copy")
struct LastGoodCopyTests {
    private static let secret = "hunter2-does-not-survive"

    private func holders(in directory: String) throws -> [String] {
        try files(in: directory, containing: Self.secret)
    }

    /// Makes a suite whose settings file and copy contain a secret, and then runs a body with a store that has removed it.
    private func withRemovedSecret(
        _ faults: Faults = Faults(),
        _ body: (_ directory: String, _ path: String, _ store: FileStore) throws -> Void
    ) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let store = makeStore(path, faults.system)
            try store.commit { $0["token"] = .string(Self.secret) }
            try store.checkpoint()
            try store.commit { $0["other"] = 1 }
            try store.checkpoint()
            #expect(try holders(in: directory) == ["settings.json", "settings.json.last-good"])
            try store.commit { $0["token"] = nil }
            try body(directory, path, store)
        }
    }

    /// Simulates a disk with room for a number of drafts while the old copy exists.
    private func leaveRoom(for count: Int, _ faults: Faults, _ path: String) {
        let written = Mutex(0)
        faults.fail(.write, with: ENOSPC) { called in
            guard called.hasSuffix(".new"), FileManager.default.fileExists(atPath: path + ".last-good") else {
                return false
            }
            return written.withLock { written in
                written += 1
                return written > count
            }
        }
    }

    @Test("a checkpoint on a full disk removes an outdated copy, and uses its space", arguments: [0, 1])
    func fullDisk(roomForDrafts: Int) async throws {
        let faults = Faults()
        try await withRemovedSecret(faults) { directory, path, store in
            leaveRoom(for: roomForDrafts, faults, path)
            try store.checkpoint()
            #expect(try holders(in: directory) == [])
            #expect(try (path + ".last-good").fileContents == path.fileContents)
            #expect(makeStore(path).contents() == ["other": 1])
        }
    }

    @Test("a checkpoint throws while an outdated copy can be neither replaced nor removed")
    func unremovable() async throws {
        let faults = Faults()
        try await withRemovedSecret(faults) { directory, path, store in
            leaveRoom(for: 1, faults, path)
            faults.fail(.unlink, with: EACCES) { $0.hasSuffix(".last-good") }
            let error = #expect(throws: SettingsError.self) { try store.checkpoint() }
            #expect(error?.consequence.contains("settings.json.last-good has values that were") == true)
            #expect(try holders(in: directory) == ["settings.json.last-good"])
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["other": 1])
            // Nothing was set since, and yet the checkpoint is due: in another process as well.
            faults.stop()
            try makeStore(path).checkpoint()
            #expect(try holders(in: directory) == [])
        }
    }

    @Test("a background checkpoint tries again until the outdated copy is replaced")
    func background() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let (path, faults, catcher) = (directory + "/settings.json", Faults(), ErrorRecorder())
            let store = FileStore(path: path, system: faults.system)
            store.setObserver(catcher)
            try store.commit { $0["token"] = .string(Self.secret) }
            try store.checkpoint()
            faults.fail(.rename, with: EACCES) { $0.hasSuffix(".last-good") }
            faults.fail(.unlink, with: EACCES) { $0.hasSuffix(".last-good") }
            try store.commit { $0["token"] = nil }
            await eventually("the failure is reported") { !catcher.errors.isEmpty }
            faults.stop()
            try await eventually("the copy is replaced") { try holders(in: directory) == [] }
            #expect(catcher.errors.map(\.code) == [.readOnly])
            store.close()
        }
    }

    @Test("a copy with a second name is replaced")
    func hardLink() async throws {
        try await withRemovedSecret { directory, path, store in
            try FileManager.default.linkItem(atPath: path + ".last-good", toPath: path + ".snapshot")
            try store.checkpoint()
            #expect(try holders(in: directory) == ["settings.json.snapshot"])
        }
    }

    @Test("what a power loss leaves of a copy is replaced", arguments: ["", "\0\0\0\0"])
    func remains(text: String) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let (path, catcher) = (directory + "/settings.json", ErrorRecorder())
            let store = makeStore(path)
            store.setObserver(catcher)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            // The journal does not know this inode.
            try (path + ".last-good").replaceFile(with: text)
            try store.commit { $0["a"] = 2 }
            try store.checkpoint()
            #expect(try (path + ".last-good").fileContents == path.fileContents)
            #expect(catcher.errors.map(\.message) == [])
        }
    }

    @Test("a checkpoint that has lost its lock does not replace the copy")
    func lostLock() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let other = makeStore(path)
            let checkpointing = Interruption(before: .sync) { $0.hasSuffix(".journal") }
            let store = makeStore(path, checkpointing.system)
            try store.commit { $0["token"] = .string(Self.secret) }
            try store.checkpoint()
            try store.commit { $0["x"] = 1 }
            checkpointing.run {
                try FileManager.default.removeItem(atPath: path + ".lock")
                try other.commit { $0["token"] = nil }
                try other.checkpoint()
            }
            do {
                try store.checkpoint()
            } catch let error as SettingsError {
                #expect(error.code == .writeFailed)
            }
            #expect(checkpointing.hasRun)
            #expect(try holders(in: directory) == [])
        }
    }
}

@Suite("Space behind the last record")
struct UnpublishedRecordTests {
    @Test("a record that was written in part is cleared by the next checkpoint", arguments: [500, 40_000, 100_000])
    func partialRecord(length: Int) async throws {
        try await withSettingsPath(inMemory: true) { path in
            let limit = Mutex<Int?>(nil)
            let system = SystemCalls(
                fault: { call, path in
                    guard call == .write, path.hasSuffix(".journal") else { return nil }
                    return limit.withLock { limit in
                        guard let left = limit, left <= 0 else { return nil }
                        return EFBIG
                    }
                },
                writeLimit: { path, count in
                    guard path.hasSuffix(".journal") else { return nil }
                    return limit.withLock { limit in
                        guard let left = limit else { return nil }
                        defer { limit = 0 }
                        return min(left, count)
                    }
                }
            )
            let store = makeStore(path, system)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            limit.withLock { $0 = length }
            let secret = String(repeating: "hunter2-", count: 20_000)
            #expect(throws: SettingsError.self) { try store.commit { $0["token"] = .string(secret) } }
            limit.withLock { $0 = nil }
            try store.commit { $0["a"] = 2 }
            try store.checkpoint()
            let journal = try Data(contentsOf: URL(fileURLWithPath: path + ".journal"))
            #expect(journal.range(of: Data("hunter2-".utf8)) == nil)
            #expect(store.contents() == ["a": 2])
        }
    }

    @Test(
        "an edit in the moment after a checkpoint has put the file in place is noticed, and kept by the next one",
        arguments: [false, true]
    )
    func editAfterRename(isTimeSet: Bool) async throws {
        try await withSettingsPath(inMemory: true) { path in
            let written = Interruption(after: .rename) { $0 == path }
            let store = makeStore(path, written.system)
            let other = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            #expect(other.value(forKey: "a") == 1)
            try store.commit { $0["b"] = 1 }
            written.run {
                let text = try path.fileContents
                try path.overwriteFile(with: text.replacingOccurrences(of: "\"a\": 1", with: "\"a\": 7"))
                // Like a program that copies a file together with its time of modification.
                let old = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: 1e9)]
                if isTimeSet { try FileManager.default.setAttributes(old, ofItemAtPath: path) }
            }
            try store.checkpoint()
            #expect(written.hasRun)
            for store in [store, other] {
                store.lookAndWait()
                await eventually("the edit is read") { store.value(forKey: "a") == 7 }
            }
            try store.commit { $0["c"] = 1 }
            try store.checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["a": 7, "b": 1, "c": 1])
        }
    }
}
