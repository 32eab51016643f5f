// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StoredSettings

@Suite("The lock of a journal")
struct JournalLockTests {
    /// Runs a body with the path of a journal.
    private func withJournal(_ body: (_ path: FilePath) async throws -> Void) async throws {
        try await withSettingsPath { path in
            try FileStore(path: FilePath(path), checkpointsInBackground: false).commit { $0["a"] = 1 }
            try await body(FilePath(path + ".journal"))
        }
    }

    private func open(_ path: FilePath) throws -> Journal {
        try #require(try Journal.open(at: path, SystemCalls()))
    }

    /// Acquires the lock, however long that takes.
    private func acquireLock(of journal: Journal) async throws -> Bool {
        try await blocking {
            try journal.acquireLock(LockTimeouts(withoutProgress: noTimeout, withSlowHolder: noTimeout))
        }
    }

    @Test("the lock of a holder that no longer has the file open is taken over", .deadlockLimit)
    func deadHolder() async throws {
        try await withJournal { path in
            var first: Journal? = try open(path)
            #expect(try first?.lock.acquireIfFree() == true)
            // Recorded by the holder; this process is still running.
            first = nil
            let second = try open(path)
            #expect(second.lock.isHeld)
            #expect(try second.acquireLock())
            #expect(try !open(path).lock.acquireIfFree())
            second.unlock()
            #expect(try open(path).lock.acquireIfFree())
        }
    }

    @Test("a lock that another thread of the same process holds is not taken over")
    func ownHolder() async throws {
        try await withJournal { path in
            let journal = try open(path)
            #expect(try journal.lock.acquireIfFree())
            let acquisitions = journal.lock.acquisitions
            let timeout = LockTimeouts(withoutProgress: .milliseconds(100), withSlowHolder: .milliseconds(100))
            let error = expectError(.lockTimedOut) { try journal.acquireLock(timeout) }
            #expect(error?.fact.contains("process \(SystemCalls.currentProcess())") == true)
            #expect(journal.lock.isHeld && journal.lock.acquisitions == acquisitions)
            journal.unlock()
            #expect(try !journal.acquireLock())
            journal.unlock()
        }
    }

    @Test("a lock that no thread holds, as in a copy of the file, is taken over by the process that it names")
    func restoredWord() async throws {
        try await withJournal { path in
            let journal = try open(path)
            #expect(try journal.lock.acquireIfFree())
            let word = journal.page[.lock]
            journal.unlock()
            // Another program has copied the file while the lock was held, and now writes the copy into it.
            journal.page[.lock] = word
            let timeout = LockTimeouts(withoutProgress: .milliseconds(500), withSlowHolder: .milliseconds(500))
            #expect(try journal.acquireLock(timeout))
            journal.unlock()
            #expect(!journal.lock.isHeld)
        }
    }

    @Test("a lock that a thread of the same process holds through another open file is not taken over")
    func otherFileOfHolder() async throws {
        try await withJournal { path in
            let (holder, other) = (try open(path), try open(path))
            #expect(try holder.lock.acquireIfFree())
            let timeout = LockTimeouts(withoutProgress: .milliseconds(500), withSlowHolder: .milliseconds(500))
            expectError(.lockTimedOut) { try other.acquireLock(timeout) }
            #expect(holder.lock.isHeld)
            holder.unlock()
        }
    }

    @Test("the lock of a process that has ended is taken over even if a child has its file open", .deadlockLimit)
    func endedHolder() async throws {
        try await withJournal { path in
            let (first, second) = (try open(path), try open(path))
            #expect(try first.lock.acquireIfFree())
            // The file stays open here, as in a forked child. No process has this number.
            first.page[.writer] = UInt64(Int32.max)
            #expect(try second.acquireLock())
            // The previous holder must not release the lock of the new one.
            first.unlock()
            #expect(second.lock.isHeld)
            second.unlock()
            #expect(!second.lock.isHeld)
        }
    }

    @Test("the recorded identity of an earlier holder says nothing about the current one", .deadlockLimit)
    func identityOfEarlierHolder() async throws {
        try await withJournal { path in
            let (first, second) = (try open(path), try open(path))
            #expect(try first.lock.acquireIfFree())
            // As if the holder had not recorded itself yet, after one that has ended.
            first.page[.writer] = UInt64(Int32.max)
            first.page[.writerToken] &+= 1
            let timeout = LockTimeouts(withoutProgress: .milliseconds(50), withSlowHolder: .milliseconds(50))
            #expect(settingsError { _ = try second.acquireLock(timeout) }?.code == .lockTimedOut)
            first.unlock()
        }
    }

    @Test("a process that has waited for long goes first, and one that does not take its turn does not stop the others")
    func starving() async throws {
        try await withJournal { path in
            let (first, second) = (try open(path), try open(path))
            #expect(try first.lock.acquireIfFree())
            first.unlock()
            // Another process waits, and does not notice that the lock is free.
            first.page[.claim] = 77
            #expect(try !first.lock.acquireIfFree())
            #expect(try !second.lock.acquireIfFree())
            #expect(try !second.acquireLock())
            #expect(second.page[.claim] == 0)
            second.unlock()
            #expect(try first.lock.acquireIfFree())
            first.unlock()
        }
    }

    @Test("of the processes that wait, the one that has waited longest has the next turn", .deadlockLimit)
    func longestWait() async throws {
        try await withJournal { path in
            let (first, second) = (try open(path), try open(path))
            #expect(try first.lock.acquireIfFree())
            // A process that will have begun to wait a minute later.
            let time = UInt64(SystemCalls.coarseTime() / 1_000_000 + 60_000) & 0xFFFF_FFFF
            first.page[.claim] = time << 32 | 77
            async let finding = acquireLock(of: second)
            await eventually("the waiting process has the next turn") {
                ![0, 77].contains(first.page[.claim] & 0xFFFF_FFFF)
            }
            first.unlock()
            let found = try await finding
            #expect(found == false)
            #expect(first.page[.claim] == 0)
            second.unlock()
        }
    }

    @Test(
        "a waiting process is woken when the lock is released, and asks the others to let it go first",
        .deadlockLimit
    )
    func woken() async throws {
        try await withJournal { path in
            let (first, second) = (try open(path), try open(path))
            #expect(try first.lock.acquireIfFree())
            async let finding = acquireLock(of: second)
            await eventually("the process has waited for long") { first.page[.claim] != 0 }
            first.unlock()
            let found = try await finding
            #expect(found == false)
            #expect(first.page[.claim] == 0)
            #expect(try !first.lock.acquireIfFree())
            second.unlock()
        }
    }
}
