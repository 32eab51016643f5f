// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Two threads that do the same at the same time.
final class Meeting: Sendable {
    private typealias Span = (start: UInt64, end: UInt64)

    private let arrived = Atomic(0)
    private let spans = Mutex<[Span]>([])

    /// The time that one thread takes, on average of the two, in nanoseconds.
    ///
    /// - Throws: `Failure` where the machine has no two cores to spare.
    static func time(_ body: @escaping @Sendable (Int) -> Int, count: Int) throws -> Double {
        for _ in 0..<200 {
            let spans = run(body, count: count)
            let times = spans.map { Double($0.end - $0.start) }
            let starts = spans.map(\.start)
            guard let shortest = times.min(), let first = starts.min(), let last = starts.max() else { continue }
            // Where one was held up at the door, the other has worked alone.
            if Double(last - first) <= shortest / 20 { return times.reduce(0, +) / Double(times.count) }
        }
        throw Failure("two threads never came to run at once")
    }

    @discardableResult
    static func run(_ body: @escaping @Sendable (Int) -> Int, count: Int) -> [(start: UInt64, end: UInt64)] {
        let meeting = Meeting()
        let end = DispatchSemaphore(value: 0)
        Thread {
            meeting.attend(body, count)
            end.signal()
        }
        .start()
        meeting.attend(body, count)
        end.wait()
        return meeting.spans.withLock(\.self)
    }

    private func attend(_ body: (Int) -> Int, _ count: Int) {
        arrived.add(1, ordering: .acquiringAndReleasing)
        // Both spin until both are here.
        while arrived.load(ordering: .acquiring) < 2 {}
        let start = Clock.now()
        Sink.keep(body(count))
        let end = Clock.now()
        spans.withLock { $0.append((start, end)) }
    }
}
