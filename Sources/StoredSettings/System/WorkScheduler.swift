// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Platform.md, "Background work runs on the library's own threads".

import Synchronization

/// Does the library's work in the background, on a few threads of its own.
///
/// A thread is started when there is work and all others are busy, so that work which waits for a disk or for code of the
/// application delays no other. All but one end when there was nothing to do for a while.
///
/// Unchecked: `queue` is used only while the lock of `signal` is held.
final class WorkScheduler: @unchecked Sendable {
    /// How many threads there are at most.
    ///
    /// Work that comes when all are busy is done later.
    static let mostThreads = 16

    private static let schedulers = PerProcess { WorkScheduler() }

    /// The scheduler of this process.
    static var shared: WorkScheduler { schedulers.current }

    private let system: SystemCalls
    private let signal = ThreadSignal()
    private var queue: WorkQueue
    private let isWithoutThreads = Atomic(false)
    private let isHelped = Atomic(false)

    init(mostThreads: Int = mostThreads, _ system: SystemCalls = SystemCalls()) {
        self.system = system
        queue = WorkQueue(mostThreads: mostThreads)
    }

    /// Runs work as soon as a thread has time for it.
    func soon(_ work: @escaping @Sendable () -> Void) {
        add(at: .now, work)
    }

    /// Runs work after a delay, in seconds.
    func after(_ delay: Double, _ work: @escaping @Sendable () -> Void) {
        add(at: .now + .seconds(delay), work)
    }

    private func add(at time: SuspendingClock.Instant, _ work: @escaping @Sendable () -> Void) {
        perform(signal.withLock { queue.add(at: time, work) })
    }

    // MARK: - Without threads

    /// Whether there is work, and no thread that could do it: the system has refused to start one.
    var isStarved: Bool { isWithoutThreads.load(ordering: .relaxed) }

    /// Tries to start a thread again, and does the work that is due itself when that fails.
    ///
    /// Does nothing when there is a thread. Call it under no lock and outside of transactions: the work takes locks, and
    /// may run code of the application.
    func helpIfStarved() {
        // One caller at a time, since work calls this, too.
        guard isStarved, !isHelped.exchange(true, ordering: .acquiring) else { return }
        defer { isHelped.store(false, ordering: .releasing) }
        perform(signal.withLock { queue.replaceThread() })
        while isStarved, let work = signal.withLock({ queue.takeDue(now: .now) }) { work() }
    }

    // MARK: - Threads

    private func perform(_ help: WorkQueue.Help) {
        switch help {
        case .none: break
        case .signal: signal.signal()
        case .thread: startThread()
        }
    }

    private func startThread() {
        do {
            try BackgroundThread.start(system) { [self] in runThread() }
            signal.withLock { isWithoutThreads.store(false, ordering: .relaxed) }
        } catch {
            // The other threads do the work, if there are any.
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
    /// - Returns: `nil` when the thread is to end.
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
