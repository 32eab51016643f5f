// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Two threads that do the same, each on a core of its own.
///
/// How fast a core is changes from one moment to the next where it shares its parts with a core of somebody else's. What
/// two threads do together is comparable with what each of the two does while the other core rests: on the same cores,
/// by the same code, begun in the same way.
final class Meeting: Sendable {
    private typealias Span = (start: UInt64, end: UInt64)

    enum Way {
        /// Both at the same time.
        case together
        /// First the one and then the other.
        case inTurn
    }

    /// For how long a meeting is tried, in nanoseconds.
    private static let patience: UInt64 = 5_000_000_000

    private let size: Int
    private let arrived = Atomic(0)
    private let spans = Mutex<[Span]>([])

    private init(_ size: Int) {
        self.size = size
    }

    /// The time that one thread takes, on average of the two, in nanoseconds.
    ///
    /// - Parameters:
    ///   - way: How they go about it.
    ///   - count: What each is told.
    ///   - body: What each does.
    /// - Returns: The time.
    /// - Throws: `Failure` where the machine has no two cores to spare.
    static func time(_ way: Way, count: Int, _ body: @escaping @Sendable (Int) -> Int) throws -> Double {
        guard Core.pair.count == 2 else { throw Failure("there are no two cores") }
        let deadline = Clock.now() + patience
        var hasMet = false
        repeat {
            let spans = run(way, count: count, body)
            let time = spans.map { Double($0.end - $0.start) }.reduce(0, +) / Double(spans.count)
            if way == .inTurn { return time }
            // Where one was held up at the door, the other has worked alone.
            guard gap(between: spans) <= time / 20 else { continue }
            hasMet = true
            if Multiplying.hasTwoCores { return time }
        } while Clock.now() < deadline
        throw Failure(hasMet ? "the two cores hinder each other all the time" : "two threads never came to run at once")
    }

    private static func gap(between spans: [Span]) -> Double {
        let starts = spans.map(\.start).sorted()
        guard let first = starts.first, let last = starts.last else { return 0 }
        return Double(last - first)
    }

    /// Lets new threads do it, while this one is asleep.
    ///
    /// - Returns: When each began and ended.
    @discardableResult
    static func run(
        _ way: Way,
        count: Int,
        _ body: @escaping @Sendable (Int) -> Int
    ) -> [(start: UInt64, end: UInt64)] {
        switch way {
        case .together: run(on: Core.pair, count, body)
        case .inTurn: Core.pair.flatMap { run(on: [$0], count, body) }
        }
    }

    private static func run(on cores: [Core], _ count: Int, _ body: @escaping @Sendable (Int) -> Int) -> [Span] {
        let meeting = Meeting(cores.count)
        let end = DispatchSemaphore(value: 0)
        for core in cores {
            Thread {
                core.stay()
                meeting.attend(count, body)
                end.signal()
            }
            .start()
        }
        for _ in cores { end.wait() }
        return meeting.spans.withLock(\.self)
    }

    private func attend(_ count: Int, _ body: (Int) -> Int) {
        arrived.add(1, ordering: .acquiringAndReleasing)
        // All spin until all are here.
        while arrived.load(ordering: .acquiring) < size {}
        let start = Clock.now()
        Subscriber.keep(body(count))
        let end = Clock.now()
        spans.withLock { $0.append((start, end)) }
    }
}
