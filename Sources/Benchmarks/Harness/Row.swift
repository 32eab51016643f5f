// SPDX-License-Identifier: Apache-2.0

/// One operation of the library and what it is compared with.
struct Row: Sendable {
    let group: String
    let name: String
    /// How many samples there have to be, whatever time they take.
    var leastSamples = 3
    /// Makes what is measured; it is let go of before the next row is made.
    let prepare: @Sendable (Workspace) async throws -> Trial
}

/// A row that is ready to be measured.
struct Trial {
    let subject: Operation
    let comparisons: [Comparison]
    /// Ends what was started for it.
    var finish: () async throws -> Void = {}

    struct Comparison {
        /// Makes what the subject is compared with, if it is; `nil` is for a bar that is a time.
        let other: () throws -> Operation?
        /// None where the design asks nothing.
        let bars: [Bar]

        init(_ other: @autoclosure @escaping () throws -> Operation?, _ bars: Bar...) {
            self.init(try other(), bars)
        }

        init(_ other: @autoclosure @escaping () throws -> Operation?, _ bars: [Bar]) {
            self.other = other
            self.bars = bars
        }
    }
}

extension Row {
    /// Measures the row; what fails is told in the result, and the next row has its turn.
    func measure(with measurer: Measurer, in workspace: Workspace) async -> RowResult {
        do {
            let trial = try await prepare(workspace)
            let others = try trial.comparisons.map { try $0.other() }
            let operations = [trial.subject] + others.compactMap(\.self)
            var samples = try await measurer.measure(operations, leastSamples: leastSamples)[...]
            try await trial.finish()
            guard let subject = samples.popFirst() else { throw Failure("nothing was measured") }
            let comparisons = zip(trial.comparisons, others)
                .flatMap { comparison, other in
                    let samples = other.flatMap { _ in samples.popFirst() }
                    let bars: [Bar?] = comparison.bars.isEmpty ? [nil] : comparison.bars
                    return
                        bars
                        .map { ComparisonResult(other?.name, $0, subject: subject, other: samples) }
                }
            return RowResult(group: group, name: name, measurement: subject.measurement, comparisons: comparisons)
        } catch {
            return RowResult(group: group, name: name, comparisons: [], failure: "\(error)")
        }
    }

    /// Runs the row's operation a number of times and nothing else.
    func run(_ count: Int, in workspace: Workspace) async throws {
        let trial = try await prepare(workspace)
        try await trial.subject.run(count)
        try await trial.finish()
    }
}

/// Why a row could not be measured.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
