// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Two threads that do the same work on separate cores.
///
/// The speed of a core varies from moment to moment if it shares its parts with a core of another machine. The work of
/// two threads is only comparable with the work of each thread while the other core rests: on the same cores, with the
/// same code, started in the same way.
final class PairedThreads: Sendable {
    private typealias Span = (start: UInt64, end: UInt64)

    enum Mode {
        /// Both threads at the same time.
        case together
        /// One thread after the other.
        case sequential
    }

    /// The time limit for a valid sample, in nanoseconds.
    private static let timeLimit: UInt64 = 5_000_000_000

    private let size: Int
    private let arrived = Atomic(0)
    private let spans = Mutex<[Span]>([])

    private init(_ size: Int) {
        self.size = size
    }

    /// The average time of the two threads, in nanoseconds.
    ///
    /// - Parameters:
    ///   - mode: Whether the threads run at the same time.
    ///   - count: The argument of the body.
    ///   - body: The work of each thread.
    /// - Returns: The time.
    /// - Throws: `Failure` if the machine does not have two free cores.
    static func time(_ mode: Mode, count: Int, _ body: @escaping @Sendable (Int) -> Int) throws -> Double {
        guard Core.pair.count == 2 else { throw Failure("there are no two cores") }
        let deadline = Clock.now() + timeLimit
        var hasOverlapped = false
        repeat {
            let spans = run(mode, count: count, body)
            let time = spans.map { Double($0.end - $0.start) }.reduce(0, +) / Double(spans.count)
            if mode == .sequential { return time }
            // If one thread was delayed, the other has worked alone.
            guard gap(between: spans) <= time / 20 else { continue }
            hasOverlapped = true
            if MultiplierLoad.hasSeparateCores { return time }
        } while Clock.now() < deadline
        throw Failure(
            hasOverlapped ? "the two cores always slow each other down" : "two threads never ran at the same time"
        )
    }

    private static func gap(between spans: [Span]) -> Double {
        let starts = spans.map(\.start).sorted()
        guard let first = starts.first, let last = starts.last else { return 0 }
        return Double(last - first)
    }

    /// Runs the work on new threads, while this thread sleeps.
    ///
    /// - Returns: The start and the end of each thread's work.
    @discardableResult
    static func run(
        _ mode: Mode,
        count: Int,
        _ body: @escaping @Sendable (Int) -> Int
    ) -> [(start: UInt64, end: UInt64)] {
        switch mode {
        case .together: run(on: Core.pair, count, body)
        case .sequential: Core.pair.flatMap { run(on: [$0], count, body) }
        }
    }

    private static func run(on cores: [Core], _ count: Int, _ body: @escaping @Sendable (Int) -> Int) -> [Span] {
        let threads = PairedThreads(cores.count)
        let end = DispatchSemaphore(value: 0)
        for core in cores {
            Thread {
                core.bindCurrentThread()
                threads.run(count, body)
                end.signal()
            }
            .start()
        }
        for _ in cores { end.wait() }
        return threads.spans.withLock(\.self)
    }

    private func run(_ count: Int, _ body: (Int) -> Int) {
        arrived.add(1, ordering: .acquiringAndReleasing)
        // All threads spin until the last one has arrived.
        while arrived.load(ordering: .acquiring) < size {}
        let start = Clock.now()
        BlackHole.consume(body(count))
        let end = Clock.now()
        spans.withLock { $0.append((start, end)) }
    }
}

/// Work that uses only a core's multiplier and no memory.
///
/// Two threads that do this work on separate cores do not slow each other down.
enum MultiplierLoad {
    /// The number of multiplications in about 50 microseconds.
    private static let count = 8_000

    /// Whether the two cores are separate physical cores at the moment.
    ///
    /// Two cores of a virtual machine may temporarily share one physical core, without notice. Any two threads then
    /// slow each other down.
    static var hasSeparateCores: Bool {
        let alone = averageTime(.sequential)
        return averageTime(.together) <= 1.1 * alone
    }

    private static func averageTime(_ mode: PairedThreads.Mode) -> Double {
        let times = PairedThreads.run(mode, count: count, work).map { Double($0.end - $0.start) }
        return times.reduce(0, +) / Double(times.count)
    }

    /// Independent chains of multiplications: while one chain waits for its last result, the others continue.
    @Sendable private static func work(_ count: Int) -> Int {
        let factor: UInt = 6_364_136_223_846_793_005
        var (a, b, c, d, e, f) = (UInt(1), UInt(2), UInt(3), UInt(4), UInt(5), UInt(6))
        for _ in 0..<count {
            a = a &* factor &+ 1
            b = b &* factor &+ 3
            c = c &* factor &+ 5
            d = d &* factor &+ 7
            e = e &* factor &+ 9
            f = f &* factor &+ 11
        }
        return Int(bitPattern: a ^ b ^ c ^ d ^ e ^ f)
    }
}
