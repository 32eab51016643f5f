// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport

/// Kills processes at random moments of sets and checkpoints, and checks the stored values in a new process.
///
/// The number stored under each key has to be the last acknowledged one or the one in progress.
final class Kill {
    /// The number of rounds after which a new file is created.
    private static let roundsPerFile = 10

    private let rounds: Int
    private let workspace: Workspace
    private let ledger: Ledger
    private var random: SeededRandom
    private var result = Result()

    struct Result {
        var rounds = 0
        var roundsByPattern: [String: Int] = [:]
        var acknowledged = 0
        var lost = 0
        /// Sets in progress that were stored.
        var storedUnacknowledged = 0
        var seconds = 0.0

        var description: String {
            let kinds = roundsByPattern.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            return """
                kill: \(rounds) rounds (\(kinds.joined(separator: ", "))) in \(Format.number(seconds)) s
                  \(acknowledged) sets acknowledged, lost: \(lost)
                  \(storedUnacknowledged) sets in progress were stored
                """
        }
    }

    init(rounds: Int, seed: UInt64, in workspace: Workspace) throws {
        self.rounds = rounds
        self.workspace = workspace
        ledger = try Child.ledger(in: workspace.directory)
        random = SeededRandom(seed: seed)
    }

    func run() throws -> Result {
        let startTime = ContinuousClock.now
        for number in 0..<rounds {
            let isFirst = number.isMultiple(of: Self.roundsPerFile)
            if isFirst { ledger.clear() }
            try perform(Round(&random, isFirst: isFirst), number: number)
        }
        result.seconds = (ContinuousClock.now - startTime).seconds
        return result
    }

    private func perform(_ round: Round, number: Int) throws {
        let path = workspace.path("kill-\(number / Self.roundsPerFile)/settings.json")
        let before = acknowledged
        try kill(round, settingsAt: path, number: number)
        result.rounds += 1
        result.roundsByPattern["\(round.pattern)", default: 0] += 1
        result.acknowledged += acknowledged - before

        let inspector = try start(.inspect, settingsAt: path, [round.isInspectorAbrupt ? 1 : 0])
        if let failure = inspector.finished() { return record("the inspector: \(failure)", number) }
        for (writer, key) in Self.keys { check(writer, key, number: number) }
        if !round.isInspectorAbrupt { try checkDocument(at: path, number: number) }
    }

    private func kill(_ round: Round, settingsAt path: String, number: Int) throws {
        let (sets, bursts) = (acknowledged, ledger.sum(.done))
        let processes = try (0..<round.processes)
            .map { process in
                let writer = round.firstWriter + process * round.threads
                return try start(.write, settingsAt: path, [round.threads, writer, round.pattern.rawValue])
            }
        let hasBegun = try wait {
            switch round.start {
            case .none: true
            case .set: acknowledged > sets
            case .burst: ledger.sum(.done) > bursts
            }
        }
        if !hasBegun { record("no set has returned within a minute", number) }
        pause(round.delay)
        for process in processes { process.signal(SIGKILL) }
        for process in processes {
            if let failure = process.killed() { record(failure, number) }
        }
    }

    /// The number of acknowledged sets since the file was created.
    private var acknowledged: Int {
        (0..<Writer.keys).reduce(0) { $0 + ledger.sum(.acknowledged, $1) }
    }

    private static var keys: [(writer: Int, key: Int)] {
        (0..<Round.maximumWriters).flatMap { writer in (0..<Writer.keys).map { (writer, $0) } }
    }

    private func check(_ writer: Int, _ key: Int, number: Int) {
        let (stored, tally) = (ledger[.stored, writer, key].value, ledger.tally(writer, key))
        let (acknowledged, begun) = (tally.acknowledged.value, tally.begun.value)
        if stored < acknowledged {
            result.lost += acknowledged - stored
            record("key \(key) of writer \(writer) is \(stored), but \(acknowledged) was acknowledged", number)
        }
        if stored > acknowledged {
            // It cannot come from an earlier round, whose end was recorded.
            if stored != begun {
                record("key \(key) of writer \(writer) is \(stored), but the last set was \(begun)", number)
            }
            result.storedUnacknowledged += 1
        }
        // A value that was read once is acknowledged.
        tally.acknowledged.raise(to: stored)
    }

    /// Checks that the file is complete after a process has exited normally.
    private func checkDocument(at path: String, number: Int) throws {
        let document = try Document(at: path)
        for (writer, key) in Self.keys {
            let seen = document.integer(Writer.name(writer, key)) ?? 0
            let stored = ledger[.stored, writer, key].value
            if seen != stored {
                record("the file has \(seen) in key \(key) of writer \(writer), not \(stored)", number)
            }
        }
    }

    private func start(_ task: Child.Task, settingsAt path: String, _ numbers: [Int]) throws -> ChildProcess {
        try ChildProcess(child: Child.arguments(task, in: workspace.directory, settingsAt: path, numbers))
    }

    private func record(_ text: String, _ round: Int) {
        workspace.findings.record("kill, round \(round): \(text)")
    }
}
