// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// A process that sets 1, 2, 3 and so on, each thread keys of its own, and notes each number when its set has returned.
struct Writer {
    /// A writer goes round its keys: what is kept then tells of its last sets, and not of the very last alone.
    static let keys = 16

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

    /// A key of a writer: every other writer has long ones, with which the journal soon reaches its bound.
    static func name(_ writer: Int, _ key: Int) -> String {
        "writer\(writer)-\(key)" + String(repeating: "-", count: writer.isMultiple(of: 2) ? 0 : 2_000)
    }

    static func setting(_ writer: Int, _ key: Int, in suite: SettingsSuite) -> Setting<Int> {
        Setting(name(writer, key), default: 0, suite: suite)
    }

    func run() {
        child.runThreads(threads) { try write(firstWriter + $0) }
    }

    /// Does not end but by being killed, or with its parent.
    private func write(_ writer: Int) throws {
        let suite = child.suite
        let settings = (0..<Self.keys).map { Self.setting(writer, $0, in: suite) }
        let tallies = (0..<Self.keys).map { child.ledger.tally(writer, $0) }
        var sets = 0
        while true {
            let key = sets % Self.keys
            try tallies[key].next(settings[key].set)
            sets += 1
            switch pattern {
            case .steady: break
            case .bursts where sets.isMultiple(of: 20):
                child.ledger[.done, writer].add()
                pause(.milliseconds(260))
            case .checkpoints where sets.isMultiple(of: 5): try suite.checkpoint()
            case .bursts, .checkpoints: break
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
            for key in 0..<Writer.keys {
                child.ledger[.kept, writer, key].value = try Writer.setting(writer, key, in: suite).load() ?? 0
            }
        }
        let start = ContinuousClock.now
        try Setting(Self.key, default: 0, suite: suite).update { $0 += 1 }
        let time = ContinuousClock.now - start
        // After five seconds it would have failed: whoever is dead must hold nobody up at all.
        if time > .seconds(4) { child.findings.note("kill: the first change after it took \(time)") }
        if isAbrupt { _exit(0) }
    }
}
