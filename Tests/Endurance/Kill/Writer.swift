// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// A process that sets 1, 2, 3 and so on, each thread a key of its own, and notes each number when its set has returned.
struct Writer {
    private let child: Child
    private let threads: Int
    private let firstWriter: Int
    private let pattern: Round.Pattern

    init(_ child: Child) throws {
        guard child.numbers.count == 3, let pattern = Round.Pattern(rawValue: child.numbers[2]) else {
            throw UsageError("\(Child.flag) is for the program itself")
        }
        self.child = child
        (threads, firstWriter, self.pattern) = (child.numbers[0], child.numbers[1], pattern)
    }

    /// The key of a writer.
    static func setting(_ writer: Int, in suite: SettingsSuite) -> Setting<Int> {
        Setting("writer\(writer)", default: 0, suite: suite)
    }

    func run() {
        child.runThreads(threads) { try write(firstWriter + $0) }
    }

    /// Does not end but by being killed, or with its parent.
    private func write(_ writer: Int) throws {
        let suite = child.suite
        let setting = Self.setting(writer, in: suite)
        let tally = child.ledger.tally(writer)
        while true {
            switch pattern {
            case .steady:
                try tally.next(setting.set)
            case .bursts:
                for _ in 0..<20 { try tally.next(setting.set) }
                child.ledger[.done, writer].add()
                pause(.milliseconds(260))
            case .folds:
                for _ in 0..<5 { try tally.next(setting.set) }
                try suite.fold()
            }
        }
    }
}

/// A process that begins after the others were killed, reads what is kept, and changes something itself.
struct Looker {
    static let key = "looker"

    private let child: Child
    private let isAbrupt: Bool

    init(_ child: Child) throws {
        guard let number = child.numbers.first else { throw UsageError("\(Child.flag) is for the program itself") }
        self.child = child
        isAbrupt = number == 1
    }

    func run() throws {
        let suite = child.suite
        for writer in 0..<Round.maximumWriters {
            child.ledger[.kept, writer].value = try Writer.setting(writer, in: suite).load() ?? 0
        }
        let start = ContinuousClock.now
        try Setting(Self.key, default: 0, suite: suite).update { $0 += 1 }
        let time = ContinuousClock.now - start
        // After five seconds it would have failed: whoever is dead must hold nobody up at all.
        if time > .seconds(4) { child.findings.note("kill: the first change after it took \(time)") }
        if isAbrupt { _exit(0) }
    }
}
