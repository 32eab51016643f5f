// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Platform.md, "Background work runs on the library's own threads".

import Synchronization

/// Runs the library's background work on a few threads of its own.
///
/// A thread is started when there is work and all threads are busy, so that work which waits for a disk or runs
/// application code does not delay other work. All threads but one end after some time without work.
///
/// Unchecked: `queue` is accessed only while the lock of `signal` is held.
package final class WorkScheduler: @unchecked Sendable {
    /// The maximum number of threads.
    ///
    /// Work that is added while all threads are busy runs later.
    package static let mostThreads = 16

    private static let schedulers = PerProcess { WorkScheduler() }
    private static let durableSchedulers = PerProcess { WorkScheduler(isDurable: true) }

    /// The scheduler of work that may run application code.
    package static var shared: WorkScheduler { schedulers.current }
    /// The scheduler of checkpoints, and of other work that makes values durable.
    ///
    /// It runs no observers and no reporters, because those may block.
    package static var durable: WorkScheduler { durableSchedulers.current }

    /// Whether the current thread is one of ``durable``.
    @TaskLocal static var isDurable = false

    private let system: SystemCalls
    private let signal = ThreadSignal()
    private var queue: WorkQueue
    private let isWithoutThreads = Atomic(false)
    private let isDurable: Bool

    package init(mostThreads: Int = mostThreads, _ system: SystemCalls = SystemCalls(), isDurable: Bool = false) {
        (self.system, self.isDurable) = (system, isDurable)
        queue = WorkQueue(mostThreads: mostThreads)
    }

    /// Runs work as soon as a thread is available.
    package func soon(_ work: @escaping @Sendable () -> Void) {
        add(at: .now, work)
    }

    /// Runs work after a delay, in seconds.
    package func after(_ delay: Double, _ work: @escaping @Sendable () -> Void) {
        add(at: .now + .seconds(delay), work)
    }

    private func add(at time: SuspendingClock.Instant, _ work: @escaping @Sendable () -> Void) {
        perform(signal.withLock { queue.add(at: time, work) })
    }

    /// Whether either scheduler has no thread.
    static var isAnyStarved: Bool { shared.isStarved || durable.isStarved }

    /// Whether there is no thread, because the system has refused to create one.
    package var isStarved: Bool { isWithoutThreads.load(ordering: .relaxed) }

    /// Tries again to start a thread for the work that waits for one.
    package func startThreadIfStarved() {
        guard isStarved else { return }
        perform(signal.withLock { queue.help() })
    }

    private func perform(_ help: WorkQueue.Help) {
        switch help {
        case .none: break
        case .signal: signal.signal()
        case .thread: startThread()
        }
    }

    private func startThread() {
        do {
            try BackgroundThread.start(system) { [self] in
                Self.$isDurable.withValue(isDurable) { runThread() }
            }
            signal.withLock { isWithoutThreads.store(false, ordering: .relaxed) }
        } catch {
            // The other threads run the work, if there are any.
            signal.withLock { isWithoutThreads.store(queue.threadFailed(), ordering: .relaxed) }
        }
    }

    private func runThread() {
        var idleSince = SuspendingClock.Instant.now
        signal.withLock { queue.stopWaiting(isTimekeeper: false) }
        while let (work, help) = nextWork(idleSince) {
            perform(help)
            work()
            idleSince = .now
        }
    }

    /// Waits for work.
    ///
    /// - Returns: The work, and the help that the remaining work needs; `nil` when the thread must end.
    private func nextWork(_ idleSince: SuspendingClock.Instant) -> (WorkQueue.Work, WorkQueue.Help)? {
        signal.withLock {
            while true {
                let (step, isTimekeeper) = queue.next(now: .now, idleSince: idleSince)
                switch step {
                case .run(let work, let help): return (work, help)
                case .end: return nil
                case .wait(let time):
                    signal.wait(until: time)
                    queue.stopWaiting(isTimekeeper: isTimekeeper)
                }
            }
        }
    }
}

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

    /// The time after which a thread without work ends.
    ///
    /// One thread never ends, because the system may refuse to create another one later.
    static let idleTime = Duration.seconds(5)

    /// A type of its own, because the array is slower with tuples.
    private struct Entry {
        let time: SuspendingClock.Instant
        let work: Work
    }

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
    mutating func help() -> Help {
        guard !entries.isEmpty else { return .none }
        if idleThreads > 0 { return hasTimekeeper ? .none : .signal }
        guard threads < mostThreads else { return .none }
        threads += 1
        // The new thread counts as waiting, so that no further thread is started for the same work.
        idleThreads += 1
        return .thread
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
    mutating func stopWaiting(isTimekeeper: Bool) {
        idleThreads -= 1
        if isTimekeeper { hasTimekeeper = false }
    }

    /// Returns the next step of a thread that has no work, and whether the thread waits for the earliest entry.
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

    /// Removes and returns work that is due.
    mutating func takeDue(now: SuspendingClock.Instant) -> Work? {
        guard let first = entries.last, first.time <= now else { return nil }
        entries.removeLast()
        return first.work
    }
}
