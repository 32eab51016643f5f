// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The end of a wait, on a clock that runs slower while the machine is busy.
///
/// A wait checks its condition again and again, with short pauses between. If eight threads want to run on two processors, or if a
/// pause takes four times as long as it should, a quarter of the time counts. On a quiet machine, it is the wall clock.
package struct Deadline {
    /// The time after which a test gives up waiting.
    ///
    /// It is no measure of speed: it only ends a test that is stuck.
    package static let longest = Duration.seconds(30)

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
        usleep(UInt32(Self.pause / .microseconds(1)))
        count(pauseFrom: start)
    }

    /// Whether no time is left.
    package var hasPassed: Bool { left <= .zero }

    /// The number of threads of the machine that want to run, by processor; 1 where that is unknown.
    private static var crowding: Double {
        #if os(Linux)
        let words = FileManager.default.contents(atPath: "/proc/loadavg")
            .map { String(decoding: $0, as: UTF8.self).split(separator: " ") }
        // The fourth word is the number of threads that run or want to, this one among them, and that of all threads.
        guard let words, words.count > 3, let running = words[3].split(separator: "/").first.flatMap({ Double($0) })
        else {
            return 1
        }
        return max(1, (running - 1) / Double(ProcessInfo.processInfo.activeProcessorCount))
        #else
        return 1
        #endif
    }

    /// Counts the time since the last pause, and a pause.
    ///
    /// - Parameter pauseStart: When the pause that has just ended began.
    package mutating func count(pauseFrom pauseStart: ContinuousClock.Instant) {
        let now = ContinuousClock.now
        let slowness = max(1, (now - pauseStart) / Self.usualPause, Self.crowding)
        left -= (now - start) / slowness
        start = now
    }
}
