// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A random number generator with a seed (xorshift64*).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// - Parameters:
    ///   - seed: The seed of the run.
    ///   - stream: A number that distinguishes the generators of one run.
    init(seed: UInt64, stream: Int = 0) {
        // The state must not be zero, because it would stay zero.
        state = (seed &+ UInt64(truncatingIfNeeded: stream) &* 0x9E37_79B9_7F4A_7C15) | 1
        for _ in 0..<8 { _ = next() }
    }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    mutating func below(_ limit: Int) -> Int {
        Int.random(in: 0..<limit, using: &self)
    }

    mutating func milliseconds(_ range: ClosedRange<Double>) -> Duration {
        .microseconds(Int.random(in: Int(range.lowerBound * 1e3)...Int(range.upperBound * 1e3), using: &self))
    }
}

/// Blocks this thread for a duration that is the input of a run, such as the moment of a kill.
func pause(_ duration: Duration) {
    Thread.sleep(forTimeInterval: duration.seconds)
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
