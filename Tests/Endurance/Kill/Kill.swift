// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Kills processes at random moments of their sets and of their checkpointing, and has a fresh process look what is kept.
///
/// The law: under each key, the number kept is the last one acknowledged, or the one that was under way.
final class Kill {
    /// So often another file is begun, which is not there at first.
    private static let roundsPerFile = 10

    private let rounds: Int
    private let workspace: Workspace
    private let ledger: Ledger
    private var chance: Chance
    private var result = Result()

    struct Result: Encodable {
        var rounds = 0
        var roundsByPattern: [String: Int] = [:]
        var acknowledged = 0
        var lost = 0
        /// Sets that were under way and are kept.
        var keptUnacknowledged = 0
        var seconds = 0.0

        var description: String {
            let kinds = roundsByPattern.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            return """
                kill: \(rounds) rounds (\(kinds.joined(separator: ", "))) in \(Format.number(seconds)) s
                  \(Format.count(acknowledged)) sets acknowledged, lost: \(lost)
                  \(Format.count(keptUnacknowledged)) kept that were under way
                """
        }
    }

    init(rounds: Int, seed: UInt64, in workspace: Workspace) throws {
        self.rounds = rounds
        self.workspace = workspace
        ledger = try Child.ledger(in: workspace.directory)
        chance = Chance(seed: seed)
    }

    func run() throws -> Result {
        let beginning = ContinuousClock.now
        for number in 0..<rounds {
            Console.showProgress("kill: \(number) of \(rounds)")
            let isFirst = number.isMultiple(of: Self.roundsPerFile)
            if isFirst { ledger.clear() }
            try perform(Round(&chance, isFirst: isFirst), number: number)
        }
        Console.showProgress("")
        result.seconds = (ContinuousClock.now - beginning).seconds
        return result
    }

    private func perform(_ round: Round, number: Int) throws {
        let path = workspace.path("kill-\(number / Self.roundsPerFile)/settings.json")
        let before = acknowledged
        try kill(round, settingsAt: path, number: number)
        result.rounds += 1
        result.roundsByPattern["\(round.pattern)", default: 0] += 1
        result.acknowledged += acknowledged - before

        let looker = try start(.look, settingsAt: path, [round.isLookerAbrupt ? 1 : 0])
        if let complaint = try looker.finish() { return note("the looker: \(complaint)", number) }
        for (writer, key) in Self.keys { check(writer, key, number: number) }
        if !round.isLookerAbrupt { try checkDocument(at: path, number: number) }
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
        if !hasBegun { note("no set has returned within a minute", number) }
        pause(round.delay)
        for process in processes { process.signal(SIGKILL) }
        for process in processes {
            if let complaint = try process.end() { note(complaint, number) }
        }
    }

    /// All sets that were acknowledged since the file was begun.
    private var acknowledged: Int {
        (0..<Writer.keys).reduce(0) { $0 + ledger.sum(.acknowledged, $1) }
    }

    private static var keys: [(writer: Int, key: Int)] {
        (0..<Round.maximumWriters).flatMap { writer in (0..<Writer.keys).map { (writer, $0) } }
    }

    private func check(_ writer: Int, _ key: Int, number: Int) {
        let (kept, tally) = (ledger[.kept, writer, key].value, ledger.tally(writer, key))
        let (acknowledged, begun) = (tally.acknowledged.value, tally.begun.value)
        if kept < acknowledged {
            result.lost += acknowledged - kept
            note("key \(key) of writer \(writer) is \(kept), and \(acknowledged) was acknowledged", number)
        }
        if kept > acknowledged {
            // And none of an earlier round, whose end has been seen.
            if kept != begun { note("key \(key) of writer \(writer) is \(kept), and \(begun) was begun last", number) }
            result.keptUnacknowledged += 1
        }
        // What somebody has seen is acknowledged.
        tally.acknowledged.raise(to: kept)
    }

    /// Whoever ends in order leaves all that is kept in the file that people see.
    private func checkDocument(at path: String, number: Int) throws {
        let document = try Document(at: path)
        for (writer, key) in Self.keys {
            let seen = document.integer(Writer.name(writer, key)) ?? 0
            let kept = ledger[.kept, writer, key].value
            if seen != kept { note("the file has \(seen) in key \(key) of writer \(writer), not \(kept)", number) }
        }
    }

    private func start(_ task: Child.Task, settingsAt path: String, _ numbers: [Int]) throws -> ChildProcess {
        try ChildProcess(Child.arguments(task, in: workspace.directory, settingsAt: path, numbers))
    }

    private func note(_ text: String, _ round: Int) {
        workspace.findings.note("kill, round \(round): \(text)")
    }
}
