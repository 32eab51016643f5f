// SPDX-License-Identifier: Apache-2.0

/// What was measured of one operation.
struct Measurement: Encodable {
    /// What the figures count.
    var unit: Unit
    /// The median of the passes' medians.
    var median: Double
    /// What 99 of 100 runs do not exceed; `nil` where runs were not timed one by one, or there are fewer than 100.
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

extension [Double] {
    var median: Double { quantile(0.5) }

    /// The element below which a part of the others lies; not a number where there is none.
    func quantile(_ part: Double) -> Double {
        let sorted = sorted()
        guard let last = sorted.last else { return .nan }
        let index = Int(Double(sorted.count) * part)
        return index < sorted.count ? sorted[index] : last
    }
}
