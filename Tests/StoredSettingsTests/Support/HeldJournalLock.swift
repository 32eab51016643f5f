// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import StoredSettings

/// The lock of a journal, held as by another process until it is released.
final class HeldJournalLock: Sendable {
    private let journal: Journal

    /// Acquires the lock of the journal of a settings file.
    ///
    /// - Throws: An error if there is no journal, or its lock is held.
    init(besideFileAt path: String) throws {
        guard let journal = try Journal.open(at: FilePath(path + ".journal"), SystemCalls()),
            try journal.lock.acquireIfFree()
        else {
            throw SystemError(call: .lock, path: FilePath(path), number: Errno.resourceTemporarilyUnavailable)
        }
        self.journal = journal
    }

    /// Whether a thread waits for the lock.
    var isAwaited: Bool { journal.page[.lock] & JournalLock.awaitedBit != 0 }

    /// Whether any process holds the lock.
    var isHeld: Bool { journal.lock.isHeld }

    func release() {
        journal.unlock()
    }
}

extension LockTimeouts {
    /// On a busy machine, a test may hold a lock for longer than a process should.
    static let unlimited = LockTimeouts(withoutProgress: noTimeout, withSlowHolder: noTimeout)
}
