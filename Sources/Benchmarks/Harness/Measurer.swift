// SPDX-License-Identifier: Apache-2.0

/// How much time to spend.
struct Effort {
    /// How many times the operations of a row take turns.
    var passes: Int
    /// For how long an operation is at it in each pass, in nanoseconds.
    var turn: UInt64

    static let full = Effort(passes: 7, turn: 60_000_000)
    static let quick = Effort(passes: 5, turn: 15_000_000)
}

/// Measures operations in turns, A B A B, so that what disturbs the machine disturbs all of them.
struct Measurer {
    /// More samples than this in one turn add nothing.
    private static let mostSamples = 20_000

    private let effort: Effort

    init(_ effort: Effort) {
        self.effort = effort
    }

    /// Takes samples of all operations.
    ///
    /// - Parameters:
    ///   - operations: What to measure.
    ///   - leastSamples: How many samples there have to be of each, whatever time they take.
    /// - Returns: The samples, in the order of the operations.
    /// - Throws: What an operation throws.
    func measure(_ operations: [Operation], leastSamples: Int) async throws -> [Samples] {
        for operation in operations {
            _ = try await turn([operation], effort.turn / 2, leastSamples: 1)
        }
        // Where a sample is many runs, the next one may be another operation's: the nearer in time they are, the more do
        // the same things disturb them. Single runs go on for a whole turn, as the same thing once more finds its memory
        // in the processor's cache.
        let turns = operations.contains(where: \.isSingle) ? operations.map { [$0] } : [operations]
        let least = (leastSamples + effort.passes - 1) / effort.passes
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
