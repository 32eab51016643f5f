// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "Writers take turns with flock".

/// Locks a file, so that its writers in all processes take turns.
///
/// The lock is an `flock`, which the system releases when its holder dies.
enum FileLock {
    /// How long to wait while no other process makes progress.
    static let patience = Duration.seconds(5)

    /// How long to wait for a process that is known to run.
    ///
    /// It may be waiting for a slow disk.
    static let slowPatience = Duration.seconds(120)

    /// How long to wait in all, whatever progress there is: a process may show progress and never release the lock.
    static let longestWait = slowPatience

    /// How time passes while a process waits.
    struct Clock {
        var now: () -> ContinuousClock.Instant = { .now }
        /// Waits for a number of seconds.
        var sleep: (Double) -> Void = { SystemCalls.sleep(seconds: $0) }
    }

    /// How often to try before waiting: the holder usually releases the lock within a microsecond.
    private static let quickTries = 20
    /// The wait between two tries after that, in seconds.
    private static let shortestPause = 0.000_02
    private static let longestPause = 0.002

    /// Waits for the lock.
    ///
    /// `flock` is not fair: a writer can starve while other writers continue without a pause. That is not a failure, so
    /// only the time without progress is limited.
    ///
    /// - Parameters:
    ///   - file: The file to lock.
    ///   - system: The system calls to use.
    ///   - patience: How long to wait without progress.
    ///   - slowPatience: How long to wait without progress while the holder is known to run; `nil` for no longer than
    ///     `patience`.
    ///   - clock: The clock to use.
    ///   - holder: Returns the process that holds the lock, if it is known.
    ///   - progress: Returns a number that changes when another process makes progress.
    /// - Throws: ``SystemError``, or ``SettingsError`` if another process does not release the lock.
    static func acquire(
        _ file: FileHandle,
        _ system: SystemCalls,
        patience: Duration = patience,
        slowPatience: Duration? = nil,
        clock: Clock = Clock(),
        holder: () -> LockHolder? = { nil },
        progress: () -> UInt64
    ) throws {
        for _ in 0..<quickTries {
            if try system.tryLock(file) { return }
            SystemCalls.yield()
        }
        let start = clock.now()
        var deadline = clock.now() + patience
        var slowDeadline = clock.now() + (slowPatience ?? patience)
        var pause = shortestPause
        var state = progress()
        while try !system.tryLock(file) {
            let newState = progress()
            if newState != state {
                // A process that has just made progress is about to release the lock, so the next tries follow quickly.
                (state, deadline, pause) = (newState, clock.now() + patience, shortestPause)
                slowDeadline = clock.now() + (slowPatience ?? patience)
            }
            if clock.now() >= deadline {
                let holder = holder()
                guard clock.now() < slowDeadline, holder?.mayBeRunning == true else {
                    let waited = patience + (clock.now() - deadline)
                    throw SettingsError.lockTimedOut(file.path, after: waited, process: holder?.visibleProcess)
                }
            }
            let waited = clock.now() - start
            guard waited < max(longestWait, patience) else { throw SettingsError.lockBusy(file.path, after: waited) }
            clock.sleep(pause)
            pause = min(pause * 2, longestPause)
        }
    }
}
