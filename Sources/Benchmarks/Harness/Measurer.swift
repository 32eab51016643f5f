// SPDX-License-Identifier: Apache-2.0

/// How much time to spend.
struct Effort {
    /// How many times the operations of a row take turns.
    var passes: Int
    /// For how long an operation is at it before the next has its turn, in nanoseconds.
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

    /// - Parameters:
    ///   - operations: What to measure.
    ///   - leastSamples: How many samples there have to be of each, whatever time they take.
    /// - Returns: The measurements, in the order of the operations.
    /// - Throws: What an operation throws.
    func measure(_ operations: [Operation], leastSamples: Int) async throws -> [Measurement] {
        for operation in operations {
            _ = try await turn(operation, effort.turn / 2, leastSamples: 1)
        }
        var passes = operations.map { _ in [[Double]]() }
        for _ in 0..<effort.passes {
            for (index, operation) in operations.enumerated() {
                let least = (leastSamples + effort.passes - 1) / effort.passes
                passes[index].append(try await turn(operation, effort.turn, leastSamples: least))
            }
        }
        return zip(passes, operations).map { Measurement(passes: $0, isSingle: $1.isSingle) }
    }

    private func turn(_ operation: Operation, _ duration: UInt64, leastSamples: Int) async throws -> [Double] {
        let end = Clock.now() + duration
        var samples: [Double] = []
        repeat {
            samples.append(try await operation.sample())
        } while samples.count < leastSamples || (Clock.now() < end && samples.count < Self.mostSamples)
        return samples
    }
}
