// SPDX-License-Identifier: Apache-2.0

/// The results of one operation.
struct Measurement: Encodable {
    /// The unit of the results.
    var unit: Unit
    /// The median of the medians of the passes.
    var median: Double
    /// The 99th percentile; `nil` if runs were not timed individually or there are fewer than 100.
    var p99: Double?
    var samples: Int

    init(_ operation: Operation, passes: [[Double]]) {
        let all = passes.flatMap(\.self)
        unit = operation.unit
        median = passes.map(\.median).median
        samples = all.count
        p99 = operation.isSingle && all.count >= 100 ? all.quantile(0.99) : nil
    }
}

extension Measurement {
    /// The difference from the comparison to which this is in a ratio.
    func difference(for ratio: Double) -> Double { median - median / ratio }
}

extension [Double] {
    var median: Double { quantile(0.5) }

    /// The element below which a fraction of the others lies; NaN if there is none.
    func quantile(_ fraction: Double) -> Double {
        let sorted = sorted()
        guard let last = sorted.last else { return .nan }
        let index = Int(Double(sorted.count) * fraction)
        return index < sorted.count ? sorted[index] : last
    }
}

/// The unit of a result.
enum Unit: String, Encodable {
    case nanoseconds
    case bytes
}

/// All samples of one operation.
struct Samples {
    let operation: Operation
    /// The samples of each pass, in the order in which they were taken.
    let passes: [[Double]]

    var measurement: Measurement { Measurement(operation, passes: passes) }

    /// The ratio of this operation's result to the other's.
    ///
    /// Samples of many runs are taken in rounds, with one sample of each operation. Each round has its own ratio.
    /// Unlike a median, the ratio does not change when the machine becomes slower or faster for a while.
    func ratio(to other: Samples) -> Double {
        guard !operation.isSingle, !other.operation.isSingle,
            zip(passes, other.passes).allSatisfy({ $0.count == $1.count })
        else { return measurement.median / other.measurement.median }
        return zip(passes, other.passes).map { zip($0, $1).map { $0 / $1 }.median }.median
    }
}
