// SPDX-License-Identifier: Apache-2.0

/// All samples that were taken of one operation.
struct Samples {
    let operation: Operation
    /// The samples of each pass, in the order in which they were taken.
    let passes: [[Double]]

    var measurement: Measurement { Measurement(operation, passes: passes) }

    /// How many times the other's figure this one's is.
    ///
    /// Samples of many runs were taken in rounds, one of each operation: a round has a ratio of its own, which does not
    /// change when the machine becomes slower or faster for a while, as a median does.
    func ratio(to other: Samples) -> Double {
        guard !operation.isSingle, !other.operation.isSingle,
            zip(passes, other.passes).allSatisfy({ $0.count == $1.count })
        else { return measurement.median / other.measurement.median }
        return zip(passes, other.passes).map { zip($0, $1).map { $0 / $1 }.median }.median
    }
}
