// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The end of a wait, on a clock that runs slower while the machine is busy.
///
/// A wait checks its condition again and again, with short pauses between. A pause that takes four times as long as it should shows
/// that the process has a quarter of a processor, or none for a while, so only a quarter of the time counts. On a quiet
/// machine, the clock is that of the wall.
package struct Deadline {
    /// The length of a pause.
    package static let pause = Duration.milliseconds(2)
    /// What a pause takes on a quiet machine.
    private static let usualPause = Duration.microseconds(2_500)

    private var left: Duration
    private var start = ContinuousClock.now

    /// - Parameter limit: The time of the wait on a quiet machine.
    package init(after limit: Duration) {
        left = limit
    }

    /// Pauses on the calling thread.
    package mutating func pauseOnThread() {
        let start = ContinuousClock.now
        usleep(2_000)
        count(pauseFrom: start)
    }

    /// Whether no time is left.
    package var hasPassed: Bool { left <= .zero }

    /// Counts the time since the last pause, and a pause.
    ///
    /// - Parameter pauseStart: The time at which the pause began, which has just ended.
    package mutating func count(pauseFrom pauseStart: ContinuousClock.Instant) {
        let now = ContinuousClock.now
        let slowness = max(1, (now - pauseStart) / Self.usualPause)
        left -= (now - start) / slowness
        start = now
    }
}
