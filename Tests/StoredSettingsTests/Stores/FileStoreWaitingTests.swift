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

    @Test("threads that wait for a lock that is never released wait together, and not one after the other")
    func stuckLock() async throws {
        try await withSettingsPath { path in
            let count = 3
            let waiting = Mutex<FileStore?>(nil)
            let threads = Mutex<Set<UInt>>([])
            let system = SystemCalls { call, locked in
                guard call == .lock, locked == path + ".journal" else { return nil }
                threads.withLock { _ = $0.insert(SystemCalls.currentThread()) }
                // The first thread does not give up before the others wait for it.
                while let store = waiting.withLock({ $0 }), store.waiters.load(ordering: .relaxed) < count {
                    SystemCalls.sleep(seconds: 0.001)
                }
                waiting.withLock { $0 = nil }
                return nil
            }
            let timeout = LockTimeouts(withoutProgress: .milliseconds(20), withSlowHolder: .milliseconds(20))
            let store = FileStore(
                path: FilePath(path),
                system: system,
                checkpointsInBackground: false,
                timeouts: timeout
            )
            try store.commit { $0["a"] = 1 }
            let lock = try HeldJournalLock(besideFileAt: path)
            waiting.withLock { $0 = store }
            threads.withLock { $0 = [] }
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<count {
                    group.addTask {
                        await blocking {
                            _ = expectError(.lockTimedOut) {
                                try store.commit { $0["key\(index)"] = 2 }
                            }
                        }
                    }
                }
            }
            #expect(threads.withLock { $0.count } == 1, "the others fail with the first thread")
            lock.release()
            try store.commit { $0["a"] = 2 }
        }
    }

    @Test("a process that cannot checkpoint, because another process holds the lock, can still set values")
    func stuckCheckpoint() async throws {
        try await withSettingsPath { path in
            let timeout = LockTimeouts(withoutProgress: .milliseconds(20), withSlowHolder: .milliseconds(20))
            let store = FileStore(path: FilePath(path), timeouts: timeout)
            let suite = SettingsSuite(store: store, reporter: reporter)
            let lock = try HeldLock(path + ".lock")
            try await suite.setStoredValue(1, forKey: "a")
            await blocking {
                _ = expectError(.lockTimedOut) { try suite.checkpoint() }
            }
            try await suite.setStoredValue(2, forKey: "b")
            try await suite.synchronize()
            #expect(suite.snapshot() == ["a": 1, "b": 2])
            #expect(!FileManager.default.fileExists(atPath: path))
            lock.release()
            try await eventually("the new values are checkpointed") {
                guard FileManager.default.fileExists(atPath: path) else { return false }
                return try path.fileContents == "{\n  \"a\": 1,\n  \"b\": 2\n}\n"
            }
        }
    }
}
