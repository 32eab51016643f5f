// SPDX-License-Identifier: Apache-2.0

/// What was measured of one operation, in nanoseconds.
struct Measurement: Encodable {
    /// The median of the passes' medians.
    var median: Double
    /// What 99 of 100 runs do not exceed; `nil` where runs were not timed one by one, or there are fewer than 100.
    var p99: Double?
    var samples: Int

    init(passes: [[Double]], isSingle: Bool) {
        let all = passes.flatMap(\.self)
        median = passes.map(\.median).median
        samples = all.count
        p99 = isSingle && all.count >= 100 ? all.quantile(0.99) : nil
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
