// SPDX-License-Identifier: Apache-2.0

/// The work that waits for the threads of a ``WorkScheduler``, and how many threads there are to do it.
///
/// It takes no lock and starts nothing: it says what a thread is to do, and the scheduler does it.
struct WorkQueue {
    typealias Work = @Sendable () -> Void

    /// What a thread does next.
    enum Step {
        /// Sees to the work that is left, and runs this.
        case run(Work, Help)
        /// Waits for a signal, at most until then.
        case wait(until: SuspendingClock.Instant)
        case end
    }

    /// What is needed for the work that is left.
    enum Help {
        case none
        /// A thread that waits is to be woken.
        case signal
        /// Another thread is to be started, which is counted already.
        case thread
    }

    private struct Entry {
        var time: SuspendingClock.Instant
        var number: UInt64
        var work: Work

        func isBefore(_ other: Entry) -> Bool { (time, number) < (other.time, other.number) }
    }

    /// How long a thread stays without work.
    ///
    /// One stays for good, since the system may refuse another later.
    static let idleTime = Duration.seconds(5)

    private let mostThreads: Int
    /// A heap: no entry is before that at half of its index.
    private var entries: [Entry] = []
    private var lastNumber: UInt64 = 0
    private(set) var threads = 0
    /// The threads that wait.
    private(set) var idleThreads = 0
    /// Whether one of them waits until the earliest entry is due; the others wait for signals alone.
    private var hasTimekeeper = false

    init(mostThreads: Int) {
        self.mostThreads = mostThreads
    }

    var isEmpty: Bool { entries.isEmpty }

    /// Adds work.
    mutating func add(at time: SuspendingClock.Instant, _ work: @escaping Work) -> Help {
        lastNumber += 1
        let entry = Entry(time: time, number: lastNumber, work: work)
        let isEarliest = entries.first.map(entry.isBefore) ?? true
        insert(entry)
        guard idleThreads > 0 else { return help() }
        guard isEarliest || time <= .now else { return .none }
        // The thread that is woken takes the time from the new entry.
        hasTimekeeper = false
        return .signal
    }

    /// Sees to it that a thread waits until the work that is left is due, as long as there may be another.
    private mutating func help() -> Help {
        guard !entries.isEmpty else { return .none }
        if idleThreads > 0 { return hasTimekeeper ? .none : .signal }
        guard threads < mostThreads else { return .none }
        threads += 1
        // It begins as one that waits, so that no other is started in its place.
        idleThreads += 1
        return .thread
    }

    /// Asks for a thread where none could be started.
    mutating func replaceThread() -> Help {
        threads == 0 ? help() : .none
    }

    /// Notes that a thread which was counted cannot be started.
    ///
    /// - Returns: Whether there is none.
    mutating func threadFailed() -> Bool {
        threads -= 1
        idleThreads -= 1
        return threads == 0
    }

    /// Notes that a thread waits no more, so that it asks for the next step.
    ///
    /// - Parameter isTimekeeper: Whether it waited until an entry was due.
    mutating func stopWaiting(isTimekeeper: Bool) {
        idleThreads -= 1
        if isTimekeeper { hasTimekeeper = false }
    }

    /// What a thread that does nothing does next.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - idleSince: When it had work last.
    /// - Returns: The step, and whether the thread waits for the earliest entry.
    mutating func next(now: SuspendingClock.Instant, idleSince: SuspendingClock.Instant) -> (Step, isTimekeeper: Bool) {
        if let first = entries.first, first.time <= now {
            let work = removeFirst().work
            return (.run(work, help()), false)
        }
        let end = idleSince + Self.idleTime
        if let first = entries.first, !hasTimekeeper {
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

    /// Takes work that is due, for a thread that is none of the scheduler's.
    mutating func takeDue(now: SuspendingClock.Instant) -> Work? {
        guard let first = entries.first, first.time <= now else { return nil }
        return removeFirst().work
    }

    // MARK: - The heap

    private mutating func insert(_ entry: Entry) {
        entries.append(entry)
        var index = entries.count - 1
        while index > 0, entries[index].isBefore(entries[(index - 1) / 2]) {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func removeFirst() -> Entry {
        entries.swapAt(0, entries.count - 1)
        let first = entries.removeLast()
        var index = 0
        while 2 * index + 1 < entries.count {
            var child = 2 * index + 1
            if child + 1 < entries.count, entries[child + 1].isBefore(entries[child]) { child += 1 }
            guard entries[child].isBefore(entries[index]) else { break }
            entries.swapAt(index, child)
            index = child
        }
        return first
    }
}
