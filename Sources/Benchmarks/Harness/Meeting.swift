// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Threads that do the same at the same time; also one thread alone, so that it goes about it as two do.
final class Meeting: Sendable {
    private typealias Span = (start: UInt64, end: UInt64)

    /// For how long a meeting is tried, in nanoseconds.
    private static let patience: UInt64 = 5_000_000_000

    private let size: Int
    private let arrived = Atomic(0)
    private let spans = Mutex<[Span]>([])

    private init(_ size: Int) {
        self.size = size
    }

    /// The time that one thread takes, on average of all, in nanoseconds.
    ///
    /// - Parameters:
    ///   - threads: How many there are.
    ///   - count: What each is told.
    ///   - body: What each does.
    /// - Returns: The time.
    /// - Throws: `Failure` where the machine has not so many cores to spare.
    static func time(threads: Int, count: Int, _ body: @escaping @Sendable (Int) -> Int) throws -> Double {
        let deadline = Clock.now() + patience
        repeat {
            let spans = run(threads: threads, count: count, body)
            let times = spans.map { Double($0.end - $0.start) }
            let starts = spans.map(\.start)
            guard let shortest = times.min(), let first = starts.min(), let last = starts.max() else { continue }
            // Where one was held up at the door, the others have worked alone.
            if Double(last - first) <= shortest / 20 { return times.reduce(0, +) / Double(times.count) }
        } while Clock.now() < deadline
        throw Failure("\(threads) threads never came to run at once")
    }

    /// Lets new threads meet, while this one is asleep.
    ///
    /// - Returns: When each began and ended.
    @discardableResult
    static func run(
        threads: Int,
        count: Int,
        _ body: @escaping @Sendable (Int) -> Int
    ) -> [(start: UInt64, end: UInt64)] {
        let meeting = Meeting(threads)
        let end = DispatchSemaphore(value: 0)
        for _ in 0..<threads {
            Thread {
                meeting.attend(count, body)
                end.signal()
            }
            .start()
        }
        for _ in 0..<threads { end.wait() }
        return meeting.spans.withLock(\.self)
    }

    private func attend(_ count: Int, _ body: (Int) -> Int) {
        arrived.add(1, ordering: .acquiringAndReleasing)
        // All spin until all are here.
        while arrived.load(ordering: .acquiring) < size {}
        let start = Clock.now()
        Sink.keep(body(count))
        let end = Clock.now()
        spans.withLock { $0.append((start, end)) }
    }
}
