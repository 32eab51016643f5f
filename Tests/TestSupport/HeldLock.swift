// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport

/// A file lock that is held like that of another process, until it is released.
package final class HeldLock: Sendable {
    private let descriptor: CInt

    /// Takes the lock on a file, and creates the file if necessary.
    ///
    /// Waits for a checkpoint of a process that has the lock at the moment.
    ///
    /// - Parameter path: The file's path.
    /// - Throws: An error if the lock is held for long.
    package init(_ path: String) throws {
        descriptor = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0o600)
        var deadline = Deadline(after: longestWait)
        while descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard descriptor >= 0, !deadline.hasPassed else {
                throw CocoaError(.fileLocking, userInfo: [NSFilePathErrorKey: path])
            }
            deadline.pauseOnThread()
        }
    }

    /// Releases the lock.
    package func release() {
        flock(descriptor, LOCK_UN)
    }

    deinit {
        close(descriptor)
    }
}

/// Runs a body while no process can checkpoint the journal of a settings file, so that sets stay journaled.
package func withoutCheckpoints<Result>(
    of settingsPath: String,
    _ body: () async throws -> Result
) async throws -> Result {
    let lock = try HeldLock(settingsPath + ".lock")
    defer { lock.release() }
    return try await body()
}
