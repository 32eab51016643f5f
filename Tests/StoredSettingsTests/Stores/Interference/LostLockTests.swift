// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Concurrent checkpoints")
struct LostLockTests {
    @Test("a checkpoint whose lock file is removed after the rename does not count a later record as written")
    func afterRename() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let other = makeStore(path)
            // The first synchronization of the directory follows the rename.
            let renamed = Interruption(before: .sync) { $0 == directory }
            renamed.run {
                try FileManager.default.removeItem(atPath: path + ".lock")
                try other.checkpoint()
                try other.commit { $0["late"] = 2 }
            }
            let store = makeStore(path, renamed.system)
            try store.commit { $0["own"] = .string(String(repeating: "x", count: 1_000)) }
            do {
                try store.checkpoint()
            } catch let error as SettingsError {
                #expect(error.code == .writeFailed)
            }
            #expect(renamed.hasRun)
            #expect(store.value(forKey: "late") == 2)
            #expect(makeStore(path).value(forKey: "late") == 2)
            try store.checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8))["late"] == 2)
        }
    }

    @Test("a checkpoint does not replace the file after another process has acquired a new checkpoint lock")
    func takenLock() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let lock = Mutex<HeldLock?>(nil)
            let drafting = Interruption(before: .sync) { $0.hasSuffix(".new") }
            drafting.run {
                try FileManager.default.removeItem(atPath: path + ".lock")
                let new = try HeldLock(path + ".lock")
                lock.withLock { $0 = new }
            }
            let store = makeStore(path, drafting.system)
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
            let drafting = Interruption(before: .sync) { $0.hasSuffix(".new") }
            drafting.run {
                let names = try FileManager.default.contentsOfDirectory(atPath: directory)
                let draft = try #require(names.first { $0.hasSuffix(".new") })
                try FileManager.default.removeItem(atPath: "\(directory)/\(draft)")
                try "\(directory)/\(draft)".overwriteFile(with: #"{"planted": true}"#)
            }
            let store = makeStore(path, drafting.system)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            #expect(try path.fileContents == "{\n  \"a\": 1\n}\n")
        }
    }
}
