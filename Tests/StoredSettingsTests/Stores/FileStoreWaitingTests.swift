// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("FileStore and locks that are not released")
struct FileStoreWaitingTests {
    private let reporter = RecordingReporter()

    private func suite(_ path: String) -> SettingsSuite {
        SettingsSuite(fileAt: path, reporter: reporter)
    }

    @Test("threads that wait for a lock that is never released wait concurrently")
    func stuckLock() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            try suite.setStoredValue(1, forKey: "a")
            let lock = try HeldJournalLock(besideFileAt: path)
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<3 {
                    group.addTask {
                        await onThread {
                            let start = ContinuousClock.now
                            #expect(throws: SettingsError(.lockTimedOut, fact: "")) {
                                try suite.setStoredValue(2, forKey: "key\(index)")
                            }
                            #expect(ContinuousClock.now - start < FileLock.patience * 1.8)
                        }
                    }
                }
            }
            lock.release()
            try suite.setStoredValue(2, forKey: "a")
        }
    }

    @Test("a process that cannot checkpoint, because another process holds the lock, can still set values")
    func stuckCheckpoint() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            let lock = try HeldLock(path + ".lock")
            try suite.setStoredValue(1, forKey: "a")
            await onThread {
                #expect(throws: SettingsError(.lockTimedOut, fact: "")) { try suite.checkpoint() }
            }
            try suite.setStoredValue(2, forKey: "b")
            try suite.synchronize()
            #expect(suite.snapshot() == ["a": 1, "b": 2])
            #expect(!FileManager.default.fileExists(atPath: path))
            lock.release()
            try await eventually("the new values are checkpointed") {
                guard FileManager.default.fileExists(atPath: path) else { return false }
                return try path.fileContents == "{\n  \"a\": 1,\n  \"b\": 2\n}\n"
            }
        }
    }

    @Test("a FIFO in place of the lock file blocks no operation", .deadlockLimit)
    func fifoAsLock() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            #expect(mkfifo(path + ".lock", 0o600) == 0)
            let suite = suite(path)
            try suite.setStoredValue(1, forKey: "a")
            #expect(throws: SettingsError(.untrustedFile, fact: "")) { try suite.checkpoint() }
        }
    }

    @Test("a FIFO in place of the journal blocks no operation and is left unchanged", .deadlockLimit)
    func fifoAsJournal() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            #expect(mkfifo(path + ".journal", 0o600) == 0)
            let suite = suite(path)
            #expect(suite.storedValue(forKey: "a") == 1)
            #expect(throws: SettingsError.self) { try suite.setStoredValue(2, forKey: "a") }
            #expect(suite.storedValue(forKey: "a") == 1)
            try JournalFile(of: path).remove()
            try suite.setStoredValue(2, forKey: "a")
        }
    }
}
