// SPDX-License-Identifier: Apache-2.0

/// Something whose time is taken, or whose memory: what a row is about, or what it is compared with.
struct Operation {
    let name: String

    /// What a sample counts.
    var unit = Unit.nanoseconds

    /// Whether a sample is one run, so that the spread of the samples is that of the operation.
    let isSingle: Bool

    /// Takes one sample, for each run.
    let sample: () async throws -> Double

    /// Runs it a number of times.
    let run: (Int) async throws -> Void
}

extension Operation {
    /// An operation long enough that each run can be timed alone.
    static func each(_ name: String, _ body: @escaping () throws -> Void) -> Operation {
        Operation(name: name, isSingle: true) {
            max(try Clock.time(body) - Clock.cost, 0)
        } run: { count in
            for _ in 0..<count { try body() }
        }
    }

    /// An operation that takes its own time.
    static func timingItself(_ name: String, _ body: @escaping () async throws -> Double) -> Operation {
        Operation(name: name, isSingle: true, sample: body) { count in
            for _ in 0..<count { _ = try await body() }
        }
    }

    /// An operation of nanoseconds, timed many at once.
    ///
    /// - Parameters:
    ///   - name: The operation.
    ///   - parts: How many things one run does, where the figure is to be that of one of them.
    ///   - body: Runs it as often as it is told and returns a number that depends on every run, so that the optimiser
    ///     leaves none out.
    /// - Returns: The operation.
    static func loop(_ name: String, parts: Int = 1, _ body: @escaping (Int) -> Int) -> Operation {
        var slice: Int?
        return Operation(name: name, isSingle: false) {
            let count = slice ?? Slice.count(body)
            slice = count
            return Clock.time { Subscriber.keep(body(count)) } / Double(count * parts)
        } run: { count in
            Subscriber.keep(body(count))
        }
    }

    /// The same, by two threads: the time is what one run takes on one of them.
    static func threads(_ way: Meeting.Way, _ name: String, _ body: @escaping @Sendable (Int) -> Int) -> Operation {
        var slice: Int?
        return Operation(name: name, isSingle: false) {
            let count = slice ?? Slice.count(body)
            slice = count
            return try Meeting.time(way, count: count, body) / Double(count)
        } run: { count in
            Meeting.run(way, count: count, body)
        }
    }

    /// An operation that makes things: the figure is how much memory each of them takes.
    ///
    /// - Parameters:
    ///   - name: The operation.
    ///   - count: How many things it makes.
    ///   - make: Makes them, and returns what lets go of them.
    /// - Returns: The operation.
    static func memory(
        _ name: String,
        of count: Int,
        _ make: @escaping () async throws -> () async -> Void
    ) -> Operation {
        let sample = {
            let before = try Heap.used()
            let letGo = try await make()
            let after = try Heap.used()
            await letGo()
            return Double(after - before) / Double(count)
        }
        return Operation(name: name, unit: .bytes, isSingle: false, sample: sample) { count in
            for _ in 0..<count { _ = try await sample() }
        }
    }
}

/// How much of an operation is timed at once: so little that most slices pass without the system interrupting them, so
/// much that looking at the clock does not count.
enum Slice {
    private static let nanoseconds = 400_000.0

    static func count(_ body: (Int) -> Int) -> Int {
        var count = 16
        while count < 1 << 24 {
            if Clock.time({ Subscriber.keep(body(count)) }) >= nanoseconds { return count }
            count *= 2
        }
        return count
    }
}
