// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// A process that sets 1, 2, 3 and so on.
///
/// Each thread has its own keys, and records each number when its set has returned.
struct Writer {
    /// A writer cycles through its keys, so that the stored values show several of its last sets.
    static let keys = 16

    private let child: Child
    private let threads: Int
    private let firstWriter: Int
    private let pattern: Round.Pattern

    init(_ child: Child) throws {
        guard child.numbers.count == 3, let pattern = Round.Pattern(rawValue: child.numbers[2]) else {
            throw UsageError("\(Child.flag) is for internal use")
        }
        self.child = child
        (threads, firstWriter, self.pattern) = (child.numbers[0], child.numbers[1], pattern)
    }

    /// The name of a writer's key.
    ///
    /// Every other writer has long keys, with which the journal soon reaches its limit.
    static func name(_ writer: Int, _ key: Int) -> String {
        "writer\(writer)-\(key)" + String(repeating: "-", count: writer.isMultiple(of: 2) ? 0 : 2_000)
    }

    static func setting(_ writer: Int, _ key: Int, in suite: SettingsSuite) -> Setting<Int> {
        Setting(name(writer, key), default: 0, suite: suite)
    }

    func run() {
        child.runThreads(threads) { try write(firstWriter + $0) }
    }

    /// Sets until the process is killed or its parent ends.
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

/// A process that starts after a kill, reads the stored values, and makes a change.
struct Inspector {
    static let key = "inspector"

    private let child: Child
    private let isAbrupt: Bool

    init(_ child: Child) throws {
        guard let number = child.numbers.first else { throw UsageError("\(Child.flag) is for internal use") }
        self.child = child
        isAbrupt = number == 1
    }

    func run() throws {
        let suite = child.suite
        for writer in 0..<Round.maximumWriters {
            for key in 0..<Writer.keys {
                child.ledger[.stored, writer, key].value = try Writer.setting(writer, key, in: suite).load() ?? 0
            }
        }
        // It fails after five seconds if the dead process still delays it.
        try Setting(Self.key, default: 0, suite: suite).update { $0 += 1 }
        if isAbrupt { _exit(0) }
    }
}
