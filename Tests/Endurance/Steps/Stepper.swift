// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import StoredSettings

/// A process that repeats one change.
struct Stepper {
    /// The changes that are executed in steps.
    enum Change: Int, CaseIterable {
        /// A set of a value that is independent of the stored one.
        case set
        /// An addition of 1 to a number that other processes change as well.
        case update

        var key: String { "\(self)" }

        /// Makes the change, and records it.
        func make(_ setting: Setting<Int>, _ tally: Tally) throws {
            switch self {
            case .set: try tally.next(setting.set)
            case .update: _ = try tally.increment { try setting.update { $0 += 1 } }
            }
        }
    }

    /// The number of changes before the first step.
    private static let preparations = 4

    private let child: Child
    private let change: Change
    /// Whether to pause before each change, instead of only once.
    private let isPausing: Bool

    init(_ child: Child) throws {
        guard child.numbers.count == 2, let change = Change(rawValue: child.numbers[0]) else {
            throw UsageError("\(Child.flag) is for internal use")
        }
        (self.child, self.change, isPausing) = (child, change, child.numbers[1] == 1)
    }

    func run() throws {
        try TracedProcess.traceThisThread()
        let setting = Setting(change.key, default: 0, suite: child.suite)
        let tally = child.ledger.tally(change.rawValue)
        // Then the process has opened the journal, and the functions that a change calls are linked.
        for _ in 0..<Self.preparations { try change.make(setting, tally) }
        TracedProcess.pause()
        while true {
            try change.make(setting, tally)
            if isPausing { TracedProcess.pause() }
        }
    }
}
#endif
