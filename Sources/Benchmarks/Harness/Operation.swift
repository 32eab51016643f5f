// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An operation whose time or memory is measured: the subject of a row or a comparison.
struct Operation {
    let name: String

    /// The unit of a sample.
    var unit = Unit.nanoseconds

    /// Whether a sample is one run, so that the spread of the samples is that of the operation.
    let isSingle: Bool

    /// Takes one sample, per run.
    let sample: () async throws -> Double

    /// Runs the operation a number of times.
    let run: (Int) async throws -> Void
}

extension Operation {
    /// An operation that is long enough to time each run individually.
    static func each(_ name: String, _ body: @escaping () throws -> Void) -> Operation {
        Operation(name: name, isSingle: true) {
            max(try Clock.time(body) - Clock.cost, 0)
        } run: { count in
            for _ in 0..<count { try body() }
        }
    }

    /// An operation that measures its own time.
    static func timingItself(_ name: String, _ body: @escaping () async throws -> Double) -> Operation {
        Operation(name: name, isSingle: true, sample: body) { count in
            for _ in 0..<count { _ = try await body() }
        }
    }

    /// An operation that takes nanoseconds, so that many runs are timed at once.
    ///
    /// - Parameters:
    ///   - name: The operation.
    ///   - parts: The number of parts in one run, if the result is that of one part.
    ///   - body: Runs the operation a number of times and returns a number that depends on every run, so that the
    ///     optimizer removes none.
    /// - Returns: The operation.
    static func loop(_ name: String, parts: Int = 1, _ body: @escaping (Int) -> Int) -> Operation {
        var slice: Int?
        return Operation(name: name, isSingle: false) {
            let count = slice ?? Slice.count(body)
            slice = count
            return Clock.time { BlackHole.consume(body(count)) } / Double(count * parts)
        } run: { count in
            BlackHole.consume(body(count))
        }
    }

    /// The same operation on two threads; the result is the time of one run on one thread.
    static func threads(_ mode: PairedThreads.Mode, _ name: String, _ body: @escaping @Sendable (Int) -> Int)
        -> Operation
    {
        var slice: Int?
        return Operation(name: name, isSingle: false) {
            let count = slice ?? Slice.count(body)
            slice = count
            return try PairedThreads.time(mode, count: count, body) / Double(count)
        } run: { count in
            PairedThreads.run(mode, count: count, body)
        }
    }

    /// An operation that creates objects; the result is the memory of each.
    ///
    /// - Parameters:
    ///   - name: The operation.
    ///   - count: The number of objects.
    ///   - make: Creates the objects and returns a closure that releases them.
    /// - Returns: The operation.
    static func memory(
        _ name: String,
        of count: Int,
        _ make: @escaping () async throws -> () async -> Void
    ) -> Operation {
        let sample = {
            let before = try Heap.used()
            let release = try await make()
            let after = try Heap.used()
            await release()
            return Double(after - before) / Double(count)
        }
        return Operation(name: name, unit: .bytes, isSingle: false, sample: sample) { count in
            for _ in 0..<count { _ = try await sample() }
        }
    }
}

/// The number of runs that are timed together.
///
/// A slice is short enough that the system seldom interrupts it, and long enough that reading the clock does not
/// matter.
enum Slice {
    private static let nanoseconds = 400_000.0

    static func count(_ body: (Int) -> Int) -> Int {
        var count = 16
        while count < 1 << 24 {
            if Clock.time({ BlackHole.consume(body(count)) }) >= nanoseconds { return count }
            count *= 2
        }
        return count
    }
}

/// Consumes unused results, so that the optimizer cannot remove the code that computed them.
enum BlackHole {
    private static let total = Atomic(0)

    static func consume(_ value: Int) {
        total.wrappingAdd(value, ordering: .relaxed)
    }

    /// The sum of the results of a read that runs a number of times.
    ///
    /// Each value is passed to a function, as in a program; otherwise the optimizer may combine several reads.
    @inline(__always)
    static func sum(_ count: Int, _ read: () -> Int) -> Int {
        var sum = 0
        for _ in 0..<count { sum = add(read(), to: sum) }
        return sum
    }

    /// Adds the value in a register, so that only the measured code accesses memory.
    @inline(never)
    private static func add(_ value: Int, to sum: Int) -> Int {
        sum &+ value
    }
}
