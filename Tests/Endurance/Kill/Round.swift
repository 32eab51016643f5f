// SPDX-License-Identifier: Apache-2.0

/// One way to be killed.
struct Round {
    /// How those who are killed write.
    enum Pattern: Int, CaseIterable {
        /// One set after the other.
        case steady
        /// Some sets, then a pause that is longer than the store waits before it checkpoints.
        case bursts
        /// Some sets, then a checkpoint.
        case checkpoints
    }

    /// What to wait for before the time of ``delay`` begins.
    enum Start {
        /// Nothing: the process may not even have opened the file.
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
    /// Whether the one who looks afterwards ends without a chance to tidy up, so that the next finds what the killed left.
    let isLookerAbrupt: Bool

    /// - Parameters:
    ///   - chance: Chooses.
    ///   - isFirst: Whether there is no file yet, so that it is worth while to be killed while it is made.
    init(_ chance: inout Chance, isFirst: Bool) {
        isLookerAbrupt = chance.below(2) == 0
        (processes, threads) = [(1, 1), (1, 1), (1, 4), (2, 2), (4, 1)][chance.below(5)]
        firstWriter = chance.below(Self.maximumWriters - processes * threads + 1)
        switch isFirst ? 0 : chance.below(10) {
        case 0:
            (pattern, start, delay) = (.steady, .none, chance.milliseconds(0...60))
        case 1..<6:
            (pattern, start, delay) = (.steady, .set, chance.milliseconds(0...40))
        case 6, 7:
            // The checkpoint is due 200 ms after the last set.
            (pattern, start, delay) = (.bursts, .burst, chance.milliseconds(195...215))
        default:
            (pattern, start, delay) = (.checkpoints, .set, chance.milliseconds(0...40))
        }
    }
}
