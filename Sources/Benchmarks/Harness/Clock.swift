// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// The clock that all times are taken by: it is the same in every process of the machine.
enum Clock {
    /// Nanoseconds since some moment.
    static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

    /// What it costs to look at the clock, which is taken off every run that is timed alone, in nanoseconds.
    static let cost: Double = {
        let costs = (0..<5_001)
            .map { _ in
                let start = now()
                return Double(now() - start)
            }
        return costs.median
    }()

    /// How long something took, in nanoseconds.
    static func time(_ body: () throws -> Void) rethrows -> Double {
        let start = now()
        try body()
        return Double(now() - start)
    }
}
