// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "Writers take turns with a word of shared memory".

/// How long to wait for a lock.
struct LockTimeouts {
    /// How long to wait while no other process makes progress.
    var withoutProgress = Duration.seconds(5)
    /// How long to wait without progress for a process that is known to run.
    ///
    /// It may be waiting for a slow disk.
    var withSlowHolder = FileLock.longestWait
}

/// Locks a file, so that its writers in all processes take turns.
///
/// The lock is an `flock`, which the system releases when its holder dies.
enum FileLock {
    /// How long to wait in all, whatever progress there is: a process may show progress and never release the lock.
    static let longestWait = Duration.seconds(120)

    /// How time passes while a process waits.
    struct Clock {
        var now: () -> ContinuousClock.Instant = { .now }
        /// Waits for a number of seconds.
        var sleep: (Double) -> Void = { SystemCalls.sleep(seconds: $0) }
    }

    /// The wait between two attempts, in seconds.
    private static let shortestPause = 0.000_02
    private static let longestPause = 0.002
    /// The longest time that one pause counts for.
    private static let longestCountedPause = Duration.milliseconds(100)

    /// Waits until an attempt to acquire a lock succeeds.
    ///
    /// `flock` is not fair: a writer can starve while other writers continue without a pause. That is not a failure. So
    /// the time without progress is limited, and the time in all to ``longestWait``.
    ///
    /// - Parameters:
    ///   - path: The path of the locked file.
    ///   - timeout: How long to wait without progress.
    ///   - clock: The clock to use.
    ///   - holder: Returns the process that holds the lock and may be slow. It is asked after a long wait.
    ///   - name: Returns the process to name in the error, if `holder` returns none.
    ///   - progress: Returns a number that changes when another process makes progress.
    ///   - attempt: Returns whether the lock was acquired.
    /// - Throws: The error of an attempt, or ``SettingsError`` if another process does not release the lock.
    static func wait(
        for path: FilePath,
        _ timeout: LockTimeouts = LockTimeouts(),
        clock: Clock = Clock(),
        holder: () -> LockHolder? = { nil },
        name: () -> LockHolder? = { nil },
        progress: () -> UInt64 = { 0 },
        attempt: () throws -> Bool
    ) throws {
        // Time in which this process could not run, such as while a container was paused, does not count: the holder
        // may have been paused as well.
        var (waited, withoutProgress) = (Duration.zero, Duration.zero)
        let (timeout, slowTimeout) = (timeout.withoutProgress, timeout.withSlowHolder)
        var pause = shortestPause
        var state = progress()
        while try !attempt() {
            try WaitLimit.check()
            let newState = progress()
            if newState != state {
                // A process that has just made progress is about to release the lock, so the next tries follow quickly.
                (state, withoutProgress, pause) = (newState, .zero, shortestPause)
            }
            if withoutProgress >= timeout {
                let holder = holder()
                guard withoutProgress < slowTimeout, holder?.mayBeRunning == true else {
                    let process = (holder ?? name())?.visibleProcess
                    throw SettingsError.lockTimedOut(path, after: withoutProgress, process: process)
                }
            }
            guard waited < max(longestWait, timeout) else { throw SettingsError.lockBusy(path, after: waited) }
            let before = clock.now()
            clock.sleep(pause)
            let elapsed = min(clock.now() - before, longestCountedPause)
            waited += elapsed
            withoutProgress += elapsed
            pause = min(pause * 2, longestPause)
        }
    }
}
