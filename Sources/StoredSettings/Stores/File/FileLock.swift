// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The lock that makes the writers of a file, of all processes, take turns.
///
/// It is a file beside the settings, locked with `flock`: the system lets go of it when its holder dies. It is never
/// removed, since a lock on a removed file excludes nobody.
struct FileLock {
    /// How long to wait for another process.
    static let patience = Duration.seconds(5)

    /// How long to wait between two tries, in seconds.
    private static let shortestPause = 0.000_05
    private static let longestPause = 0.002

    private let path: String
    private let system: SystemCalls

    init(path: String, system: SystemCalls) {
        self.path = path
        self.system = system
    }

    /// Waits for the lock.
    ///
    /// - Parameter mode: The permissions of the lock's file, if it has to be made.
    /// - Returns: The lock, which ends with the last reference to it.
    /// - Throws: ``SystemError``, or ``SettingsError`` when another process does not let go of it.
    func acquire(mode: mode_t) throws -> FileHandle {
        // Reading is all that locking needs: a user who may not write the lock's file can still take turns.
        let file = try openOrCreate(mode: mode)
        let deadline = ContinuousClock.now + Self.patience
        var pause = Self.shortestPause
        while true {
            if try system.tryLock(file) { return file }
            guard ContinuousClock.now < deadline else { throw timedOut }
            SystemCalls.sleep(seconds: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private func openOrCreate(mode: mode_t) throws(SystemError) -> FileHandle {
        do {
            return try system.open(path, O_RDONLY)
        } catch  where error.number == ENOENT {
            return try system.open(path, O_RDONLY | O_CREAT, mode: mode)
        }
    }

    private var timedOut: SettingsError {
        SettingsError(
            .lockTimedOut,
            fact: "another process has held the lock for \(Self.patience.components.seconds) seconds",
            consequence: "the change is not made",
            remedy: "see which process has \(path) open, and let it go on or end it",
            location: SettingsError.Location(file: path)
        )
    }
}
