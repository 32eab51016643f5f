// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "Writers take turns with a word of shared memory".

import Synchronization

/// The tokens with which this process locks journals: see ``JournalLock``.
///
/// The process may have opened a journal more than once, each time with another token.
final class OwnTokens: Sendable {
    /// The number of threads that hold a lock with one token, or are acquiring it.
    final class Holds: Sendable {
        let count = Atomic(0)
    }

    private struct Key: Hashable {
        var token: UInt64
        var file: FileIdentity
    }

    private static let perProcess = PerProcess { OwnTokens() }

    /// The tokens of this process.
    static var current: OwnTokens { perProcess.current }

    private let holds = Locked<[Key: Holds]>([:])

    /// Records a token before its first use.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - file: The journal.
    ///   - holds: Counts the threads that hold the lock with it.
    /// - Returns: `false` if the process uses the token already, for the same journal.
    func record(_ token: UInt64, of file: FileIdentity, _ holds: Holds) -> Bool {
        self.holds.withLock { table in
            let key = Key(token: token, file: file)
            guard table[key] == nil else { return false }
            table[key] = holds
            return true
        }
    }

    func remove(_ token: UInt64, of file: FileIdentity) {
        holds.withLock { _ = $0.removeValue(forKey: Key(token: token, file: file)) }
    }

    /// Whether a thread of this process holds the lock of a journal with a token, or is acquiring it; `nil` for a token of another process.
    func isHeld(with token: UInt64, of file: FileIdentity) -> Bool? {
        let holds = holds.withLock { $0[Key(token: token, file: file)] }
        return holds.map { $0.count.load(ordering: .sequentiallyConsistent) > 0 }
    }
}
