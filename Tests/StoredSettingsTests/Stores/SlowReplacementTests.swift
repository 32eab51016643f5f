// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Replacing a journal on a slow disk")
struct SlowReplacementTests {
    @Test(
        "replacing a journal blocks no read of its process and names the process as the lock holder",
        .deadlockLimit
    )
    func reads() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let replacing = Interruption(before: .sync) { $0.hasPrefix(directory + "/.settings.json.journal.") }
            replacing.run {
                hasBegun.signal()
                mayEnd.waitUntilSignaled()
            }
            let system = replacing.system
            let store = FileStore(path: path, system: system, checkpointsInBackground: false, journalBound: 1_000)
            try store.commit { $0["a"] = 1 }
            let sets = Mutex<Result<Void, any Error>?>(nil)
            Thread.detachNewThread {
                let text = StoredValue.string(String(repeating: "x", count: 500))
                let result = Result { for _ in 0..<20 { try store.commit { $0["b"] = $0["b"] == text ? 0 : text } } }
                sets.withLock { $0 = result }
            }
            _ = await blocking { hasBegun.waitUntilSignaled() }
            // The replacement waits for the disk.
            let hasRead = Mutex(false)
            Thread.detachNewThread {
                _ = store.value(forKey: "a")
                hasRead.withLock { $0 = true }
            }
            await eventually("a read returns") { hasRead.withLock { $0 } }
            #expect(sets.withLock { $0 == nil }, "the set did not wait for the disk")
            let journal = try #require(try Journal.open(at: FilePath(path + ".journal"), SystemCalls()))
            #expect(LockHolder(of: .journal, in: journal.page) == LockHolder.current)
            mayEnd.signal()
            await eventually("the sets end") { sets.withLock { $0 != nil } }
            try sets.withLock { $0 }?.get()
            let new = try #require(try Journal.open(at: FilePath(path + ".journal"), SystemCalls()))
            #expect(new.id != journal.id)
            #expect(LockHolder(of: .journal, in: new.page) == nil)
            #expect(makeStore(path).contents() == store.contents())
        }
    }
}
