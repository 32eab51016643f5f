// SPDX-License-Identifier: Apache-2.0

/// The lock that makes the users of a file, of all processes, take turns.
///
/// It is had with `flock`: the system lets go of it when its holder dies.
enum FileLock {
    /// How long to wait while no other process gets anything done.
    static let patience = Duration.seconds(5)

    /// How long to wait for a process that is known to run: a slow disk shows no progress.
    static let slowPatience = Duration.seconds(120)

    /// How long to wait in all, whatever progress there is: a process may show progress and never release the lock.
    static let longestWait = slowPatience

    /// How time passes while a process waits.
    struct Clock {
        var now: () -> ContinuousClock.Instant = { .now }
        /// Waits for some seconds.
        var sleep: (Double) -> Void = { SystemCalls.sleep(seconds: $0) }
    }

    /// How often to try before waiting: who holds the lock mostly lets go of it within a microsecond.
    private static let quickTries = 20
    /// How long to wait between two tries after that, in seconds.
    private static let shortestPause = 0.000_02
    private static let longestPause = 0.002

    /// Waits for the lock.
    ///
    /// `flock` is not fair: a writer can starve while other processes write without a pause. So the time without progress
    /// is bounded, and the whole time far more generously.
    ///
    /// - Parameters:
    ///   - file: The file to lock.
    ///   - system: Makes the calls.
    ///   - patience: How long to wait without progress.
    ///   - slowPatience: How long to wait without progress while the holder is known to run; `nil` for no longer.
    ///   - clock: How time passes.
    ///   - holder: Returns the process that holds the lock, if that is known.
    ///   - progress: Tells the state of what the lock protects.
    /// - Throws: ``SystemError``, or ``SettingsError`` when another process does not let go of it.
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
                // Who has just written is about to let go, so the next tries come close together.
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
