// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("FileStore checkpoints")
struct CheckpointTests {
    private let reporter = RecordingReporter()

    @Test("a file that is a mount point is rewritten in place after its last good copy is saved")
    func mountPoint() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{\n  \"a\": 1\n}\n")
            let inode = try path.inode
            let system = SystemCalls { call, name in call == .rename && name == path ? EBUSY : nil }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try await suite.setStoredValue(2, forKey: "b")
            try await suite.checkpoint()
            #expect(try path.fileContents == "{\n  \"a\": 1,\n  \"b\": 2\n}\n")
            #expect(try (path + ".last-good").fileContents == path.fileContents)
            #expect(try path.inode == inode)
            #expect(suite.snapshot() == ["a": 1, "b": 2])
            try await suite.setStoredValue(3, forKey: "b")
            try await suite.checkpoint()
            #expect(try path.inode == inode)
            #expect(SettingsSuite(fileAt: path).snapshot() == ["a": 1, "b": 3])
        }
    }

    @Test("a file that is a mount point preserves its contents when the disk is full")
    func mountPointOnFullDisk() async throws {
        try await withSettingsPath { path in
            let before = #"{"a": 1, "b": "as it was written by hand"}"#
            try path.overwriteFile(with: before)
            let isFull = Mutex(false)
            let system = SystemCalls { call, name in
                guard name == path else { return nil }
                if call == .rename { return EBUSY }
                // The first write to the file itself fails; later writes succeed.
                return call == .write
                    && isFull.withLock { full in
                        defer { full = false }
                        return full
                    } ? ENOSPC : nil
            }
            let store = makeStore(path, system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            isFull.withLock { $0 = true }
            try await suite.setStoredValue(2, forKey: "c")
            expectError(.writeFailed) { try suite.checkpoint() }
            #expect(try path.fileContents == before)
            #expect(suite.keys == ["a", "b", "c"])
            try await suite.checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == suite.snapshot())
            #expect(suite.keys == ["a", "b", "c"])
        }
    }

    @Test("a process that does nothing checkpoints the records of another process that has died")
    func recordsOfDeadProcess() async throws {
        try await withSettingsPath { path in
            let writer = makeStore(path)
            try writer.commit { $0["n"] = 1 }
            try writer.checkpoint()
            let idle = FileStore(path: path)
            #expect(idle.value(forKey: "n") == 1)
            await eventually("the file is watched") { idle.peek { $0.watch != nil } }
            try writer.commit { $0["n"] = 2 }
            try await eventually("the file is written") {
                try JSONReader.readObject(Array(path.fileContents.utf8)) == ["n": 2]
            }
            idle.close()
        }
    }
}
