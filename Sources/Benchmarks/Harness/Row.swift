// SPDX-License-Identifier: Apache-2.0

/// One operation of the library and its comparisons.
struct Row: Sendable {
    let group: String
    let name: String
    /// The minimum number of samples, regardless of their duration.
    var leastSamples = 3
    /// Whether the operations alternate after each run, in a random order and with a pause.
    ///
    /// Use it for differences that are small compared with the time of an operation: the speed of a server varies more from one
    /// turn to the next. The number of samples is the minimum number.
    var alternatesRuns = false
    /// Prepares the measurement, which is released before the next row is prepared.
    let prepare: @Sendable (Workspace) async throws -> Trial
}

/// A row that is ready to be measured.
struct Trial {
    let subject: Operation
    let comparisons: [Comparison]
    /// Stops the tasks and processes of the measurement.
    var finish: () async throws -> Void = {}

    struct Comparison {
        /// Creates the operation that the subject is compared with; `nil` for a bar that is a time.
        let other: () throws -> Operation?
        /// The bars; empty if the design has none.
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
    /// Measures the row.
    ///
    /// A failure is part of the result, and the next row is measured.
    func measure(with measurer: Measurer, in workspace: Workspace) async -> RowResult {
        do {
            let trial = try await prepare(workspace)
            let others = try trial.comparisons.map { try $0.other() }
            let operations = [trial.subject] + others.compactMap(\.self)
            var samples =
                try await
                measurer.measure(
                    operations,
                    leastSamples: leastSamples,
                    alternatesRuns: alternatesRuns
                )[...]
            try await trial.finish()
            guard let subject = samples.popFirst() else { throw Failure("there are no samples") }
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

    /// Runs the row's operation a number of times without measuring.
    func run(_ count: Int, in workspace: Workspace) async throws {
        let trial = try await prepare(workspace)
        try await trial.subject.run(count)
        try await trial.finish()
    }
}

/// The reason why a row could not be measured.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A limit that the design sets for a row.
enum Bar {
    /// At most this multiple of the comparison.
    case atMost(Double)
    /// At most this many nanoseconds more than the comparison.
    case atMostAbove(Double)
    /// Faster than the comparison by this factor.
    case faster(Double)
    /// Two threads together achieve this multiple of the throughput of one.
    case together(Double)
    /// At most this median in nanoseconds.
    case median(Double)
    case p99(Double)

    /// Whether the bar is met; `nil` if its value was not measured.
    func isMet(by subject: Measurement, ratio: Double?) -> Bool? {
        switch self {
        case .atMost(let limit): ratio.map { $0 <= limit }
        case .atMostAbove(let limit): ratio.map { subject.difference(for: $0) <= limit }
        case .faster(let factor): ratio.map { $0 * factor <= 1 }
        case .together(let factor): ratio.map { $0 * factor <= 2 }
        case .median(let limit): subject.median <= limit
        case .p99(let limit): subject.p99.map { $0 <= limit }
        }
    }
}
