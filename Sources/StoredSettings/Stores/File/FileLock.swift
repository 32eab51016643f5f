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
    /// How long to wait while no other process gets anything done.
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
    /// The lock is nobody's turn: among several who write without a pause, one may go without it for long. That is no
    /// failure as long as the others get on, so it is the time without progress that is bounded.
    ///
    /// - Parameter progress: Tells the state of what the lock protects. A lock's file that has to be made gets its permissions.
    /// - Returns: The lock, which ends with the last reference to it.
    /// - Throws: ``SystemError``, or ``SettingsError`` when another process does not let go of it.
    func acquire(progress: () throws -> FileStatus?) throws -> FileHandle {
        // Reading is all that locking needs: a user who may not write the lock's file can still take turns.
        let file = try openOrCreate(like: progress())
        if try system.tryLock(file) { return file }
        var deadline = ContinuousClock.now + Self.patience
        var pause = Self.shortestPause
        var status = try progress()
        while true {
            if try system.tryLock(file) { return file }
            let newStatus = try progress()
            if newStatus != status {
                // Who has just written is about to let go, so the next tries come close together.
                (status, deadline, pause) = (newStatus, .now + Self.patience, Self.shortestPause)
            }
            guard ContinuousClock.now < deadline else { throw timedOut }
            SystemCalls.sleep(seconds: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private func openOrCreate(like model: FileStatus?) throws(SystemError) -> FileHandle {
        // A FIFO in its place must not keep everybody waiting for a writer.
        if let file = try system.openIfPresent(path, O_RDONLY | O_NONBLOCK) { return file }
        let file = try system.open(path, O_RDONLY | O_CREAT | O_NONBLOCK, mode: SettingsFile.newFileMode)
        if let model { try system.copyPermissions(of: model, to: file) }
        return file
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
