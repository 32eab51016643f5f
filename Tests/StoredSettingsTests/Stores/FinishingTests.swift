// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Finishing a suite", .deadlockLimit)
struct FinishingTests {
    @Test("a process that has only read does not report that it cannot write the file when it finishes")
    func reader() async throws {
        try await withTemporaryDirectory { directory in
            let (path, reporter, faults) = ("\(directory)/settings.json", RecordingReporter(), Faults())
            try makeStore(path).commit { $0["a"] = 1 }
            faults.fail(.rename, with: EACCES)
            let suite = SettingsSuite(store: FileStore(path: path, system: faults.system), reporter: reporter)
            #expect(suite.snapshot() == ["a": 1])
            suite.finish()
            #expect(reporter.errors.map(\.description) == [])
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("a last checkpoint that waits for another thread that closes the suite reports nothing")
    func closedMeanwhile() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let (path, reporter) = ("\(directory)/settings.json", RecordingReporter())
            let hook = Mutex<(@Sendable () -> Void)?>(nil)
            let isWaiting = Atomic(false)
            let end = DispatchSemaphore(value: 0)
            let system = SystemCalls { call, _ in
                switch call {
                // The rename of the first thread, which holds the lock, and the attempts of the second to lock it.
                case .rename: hook.withLock { $0.take() }?()
                case .lock: if hook.withLock({ $0 == nil }) { isWaiting.store(true, ordering: .relaxed) }
                default: break
                }
                return nil
            }
            let store = FileStore(path: path, system: system)
            // Only the last checkpoint writes the file.
            store.schedule.backOff()
            let suite = SettingsSuite(store: store, reporter: reporter)
            try await Setting("n", default: 0, suite: suite).set(1)
            hook.withLock { hook in
                hook = {
                    Thread.detachNewThread {
                        store.checkpoints.runAtEnd()
                        end.signal()
                    }
                    while !isWaiting.load(ordering: .relaxed) { SystemCalls.sleep(seconds: 0.001) }
                }
            }
            store.close()
            #expect(end.waitUntilSignaled())
            let hasWaited = isWaiting.load(ordering: .relaxed)
            #expect(hasWaited)
            #expect(reporter.errors.map(\.description) == [])
        }
    }

    @Test("finishing from several threads at once writes all values into the file and reports no error")
    func severalThreads() async throws {
        try await withTemporaryDirectory { directory in
            let (path, reporter) = ("\(directory)/settings.json", RecordingReporter())
            for round in 1...50 {
                let suite = SettingsSuite(fileAt: path, reporter: reporter)
                try await Setting("round", default: 0, suite: suite).set(round)
                DispatchQueue.concurrentPerform(iterations: 4) { _ in suite.finish() }
                #expect(try path.fileContents == "{\n  \"round\": \(round)\n}\n")
            }
            #expect(reporter.errors.map(\.description) == [])
        }
    }
}
