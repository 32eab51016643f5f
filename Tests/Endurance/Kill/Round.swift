// SPDX-License-Identifier: Apache-2.0

/// A randomly chosen way to kill writers.
struct Round {
    /// The write pattern of the killed processes.
    enum Pattern: Int, CaseIterable {
        /// One set after the other.
        case steady
        /// Some sets, then a pause that is longer than the delay of a checkpoint.
        case bursts
        /// Some sets, then a checkpoint.
        case checkpoints
    }

    /// The event after which ``delay`` starts.
    enum Start {
        /// No event: the process may not even have opened the file.
        case none
        /// The first set.
        case set
        /// The end of a burst.
        case burst
    }

    static let maximumWriters = 4

    let pattern: Pattern
    let processes: Int
    let threads: Int
    let firstWriter: Int
    let start: Start
    let delay: Duration
    /// Whether the inspector exits without cleanup, so that the next process finds the state that the kill left.
    let isInspectorAbrupt: Bool

    /// - Parameters:
    ///   - random: The source of the choices.
    ///   - isFirst: Whether there is no file yet, so that a kill during its creation is likely.
    init(_ random: inout SeededRandom, isFirst: Bool) {
        isInspectorAbrupt = random.below(2) == 0
        (processes, threads) = [(1, 1), (1, 1), (1, 4), (2, 2), (4, 1)][random.below(5)]
        firstWriter = random.below(Self.maximumWriters - processes * threads + 1)
        switch isFirst ? 0 : random.below(10) {
        case 0:
            (pattern, start, delay) = (.steady, .none, random.milliseconds(0...60))
        case 1..<6:
            (pattern, start, delay) = (.steady, .set, random.milliseconds(0...40))
        case 6, 7:
            // The checkpoint is due 200 ms after the last set.
            (pattern, start, delay) = (.bursts, .burst, random.milliseconds(195...215))
        default:
            (pattern, start, delay) = (.checkpoints, .set, random.milliseconds(0...40))
        }
    }
}
