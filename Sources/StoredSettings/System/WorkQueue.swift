// SPDX-License-Identifier: Apache-2.0

/// The state machine of a ``WorkScheduler``: its pending work and its threads.
///
/// It acquires no lock and starts no thread. It returns the next step, which the scheduler performs.
struct WorkQueue {
    typealias Work = @Sendable () -> Void

    /// The next step of a thread.
    enum Step {
        /// Get help for the remaining work, and then run this work.
        case run(Work, Help)
        /// Wait for a signal, at most until an instant.
        case wait(until: SuspendingClock.Instant)
        case end
    }

    /// The help that the remaining work needs.
    enum Help {
        case none
        /// Wake a waiting thread.
        case signal
        /// Start another thread, which is already counted.
        case thread
    }

    private struct Entry {
        var time: SuspendingClock.Instant
        var work: Work
    }

    /// The time after which a thread without work ends.
    ///
    /// One thread never ends, because the system may refuse to create another one later.
    static let idleTime = Duration.seconds(5)

    private let mostThreads: Int
    /// The work in reverse order: the latest first and, of the same time, what was added last.
    private var entries: [Entry] = []
    private(set) var threads = 0
    /// The number of waiting threads.
    private(set) var idleThreads = 0
    /// Whether one of them waits until the earliest entry is due; the others wait only for signals.
    private var hasTimekeeper = false

    init(mostThreads: Int) {
        self.mostThreads = mostThreads
    }

    /// Adds work.
    mutating func add(at time: SuspendingClock.Instant, _ work: @escaping Work) -> Help {
        let index = entries.firstIndex { $0.time <= time } ?? entries.endIndex
        let isEarliest = index == entries.endIndex
        entries.insert(Entry(time: time, work: work), at: index)
        guard idleThreads > 0 else { return help() }
        guard isEarliest || time <= .now else { return .none }
        // The thread that is woken then waits until the new entry is due.
        hasTimekeeper = false
        return .signal
    }

    /// Returns the help that is needed so that a thread waits for the remaining work.
    private mutating func help() -> Help {
        guard !entries.isEmpty else { return .none }
        if idleThreads > 0 { return hasTimekeeper ? .none : .signal }
        guard threads < mostThreads else { return .none }
        threads += 1
        // The new thread counts as waiting, so that no further thread is started for the same work.
        idleThreads += 1
        return .thread
    }

    /// Returns the help that is needed when there is no thread, because none could be started.
    mutating func replaceThread() -> Help {
        threads == 0 ? help() : .none
    }

    /// Records that a counted thread could not be started.
    ///
    /// - Returns: Whether there is no thread left.
    mutating func threadFailed() -> Bool {
        threads -= 1
        idleThreads -= 1
        return threads == 0
    }

    /// Records that a thread has stopped waiting.
    ///
    /// - Parameter isTimekeeper: Whether the thread waited for the earliest entry.
    mutating func stopWaiting(isTimekeeper: Bool) {
        idleThreads -= 1
        if isTimekeeper { hasTimekeeper = false }
    }

    /// Returns the next step of a thread that has no work.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - idleSince: The time when the thread last finished work.
    /// - Returns: The step, and whether the thread waits for the earliest entry.
    mutating func next(now: SuspendingClock.Instant, idleSince: SuspendingClock.Instant) -> (Step, isTimekeeper: Bool) {
        if let work = takeDue(now: now) {
            return (.run(work, help()), false)
        }
        let end = idleSince + Self.idleTime
        if let first = entries.last, !hasTimekeeper {
            hasTimekeeper = true
            idleThreads += 1
            return (.wait(until: first.time), true)
        }
        guard now < end || threads == 1 else {
            threads -= 1
            return (.end, false)
        }
        idleThreads += 1
        return (.wait(until: threads == 1 ? now + .seconds(3_600) : end), false)
    }

    /// Whether work is due.
    func isDue(now: SuspendingClock.Instant) -> Bool { entries.last.map { $0.time <= now } ?? false }

    /// Removes and returns work that is due.
    mutating func takeDue(now: SuspendingClock.Instant) -> Work? {
        isDue(now: now) ? entries.popLast()?.work : nil
    }
}
