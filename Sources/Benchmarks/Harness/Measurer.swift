// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// The amount of time to spend.
struct Effort {
    /// The number of passes, in which the operations of a row take turns.
    var passes: Int
    /// The duration of each operation's turn in a pass, in nanoseconds.
    var turn: UInt64

    static let full = Effort(passes: 7, turn: 60_000_000)
    static let quick = Effort(passes: 5, turn: 15_000_000)
}

/// Measures operations in turns, A B A B, so that disturbances affect all of them.
struct Measurer {
    /// More samples than this in one turn add no information.
    private static let mostSamples = 20_000

    private let effort: Effort

    init(_ effort: Effort) {
        self.effort = effort
    }

    /// Takes samples of all operations.
    ///
    /// - Parameters:
    ///   - operations: The operations to measure.
    ///   - leastSamples: The minimum number of samples of each operation, regardless of their duration.
    ///   - alternatesRuns: Whether the operations alternate after each run. See ``Row/alternatesRuns``.
    /// - Returns: The samples, in the order of the operations.
    /// - Throws: The error of an operation.
    func measure(
        _ operations: [Operation],
        leastSamples: Int,
        alternatesRuns: Bool = false
    ) async throws -> [Samples] {
        for operation in operations {
            _ = try await turn([operation], effort.turn / 2, leastSamples: 1)
        }
        let least = (leastSamples + effort.passes - 1) / effort.passes
        if alternatesRuns { return try await alternate(operations, rounds: least) }
        // If a sample is many runs, the operations alternate after each sample: the closer they are in time, the more
        // they share disturbances. Single runs continue for a whole turn, because a repeated run finds its memory in
        // the processor's cache.
        let turns = operations.contains(where: \.isSingle) ? operations.map { [$0] } : [operations]
        var passes = operations.map { _ in [[Double]]() }
        for _ in 0..<effort.passes {
            var samples: [[Double]] = []
            for operations in turns {
                samples += try await turn(operations, effort.turn * UInt64(operations.count), leastSamples: least)
            }
            for (index, samples) in samples.enumerated() { passes[index].append(samples) }
        }
        return zip(operations, passes).map { Samples(operation: $0, passes: $1) }
    }

    /// The pause before each run of an operation that alternates with others, in nanoseconds.
    ///
    /// It is long enough that the work which the previous run has left to other threads and processes is done.
    private static let pause: UInt64 = 3_000_000

    private func alternate(_ operations: [Operation], rounds: Int) async throws -> [Samples] {
        var passes = operations.map { _ in [[Double]]() }
        for _ in 0..<effort.passes {
            for index in passes.indices { passes[index].append([]) }
            for _ in 0..<rounds {
                // No operation always follows the same other one.
                for index in operations.indices.shuffled() {
                    try await Task.sleep(nanoseconds: Self.pause)
                    passes[index][passes[index].count - 1].append(try await operations[index].sample())
                }
            }
        }
        return zip(operations, passes).map { Samples(operation: $0, passes: $1) }
    }

    private func turn(
        _ operations: [Operation],
        _ duration: UInt64,
        leastSamples: Int
    ) async throws -> [[Double]] {
        let end = Clock.now() + duration
        var samples = operations.map { _ in [Double]() }
        var count = 0
        repeat {
            for (index, operation) in operations.enumerated() {
                samples[index].append(try await operation.sample())
            }
            count += 1
        } while count < leastSamples || (Clock.now() < end && count < Self.mostSamples)
        return samples
    }
}

/// The clock of all measurements, which is the same in every process of the machine.
enum Clock {
    /// Nanoseconds since an arbitrary moment.
    static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

    /// The cost of reading the clock, which is subtracted from every run that is timed individually, in nanoseconds.
    static let cost: Double = {
        let costs = (0..<5_001)
            .map { _ in
                let start = now()
                return Double(now() - start)
            }
        return costs.median
    }()

    /// The duration of a body, in nanoseconds.
    static func time(_ body: () throws -> Void) rethrows -> Double {
        let start = now()
        try body()
        return Double(now() - start)
    }
}
