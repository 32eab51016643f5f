// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A lock on a file that somebody else holds, as another process would: until it is let go of.
package final class HeldLock: Sendable {
    private let descriptor: CInt

    /// Takes the lock on a file, which is made when it is not there.
    ///
    /// - Parameter path: The file's path.
    /// - Throws: When somebody holds the lock.
    package init(_ path: String) throws {
        descriptor = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw CocoaError(.fileLocking, userInfo: [NSFilePathErrorKey: path])
        }
    }

    /// Lets go of the lock.
    package func release() {
        flock(descriptor, LOCK_UN)
    }

    deinit {
        close(descriptor)
    }
}

/// Runs a body while nobody can checkpoint the journal of a settings file, so that what is set meanwhile stays journaled.
package func withoutCheckpoints<Result>(
    of settingsPath: String,
    _ body: () async throws -> Result
) async throws -> Result {
    let lock = try HeldLock(settingsPath + ".lock")
    defer { lock.release() }
    return try await body()
}
