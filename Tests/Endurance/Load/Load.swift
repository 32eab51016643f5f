// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// Loads one file with everything at once, while processes are killed, stopped and started anew.
///
/// The laws are in ``History``; the streams and the file that people see are held to them at the end.
final class Load {
    private let seconds: Int
    private let seed: UInt64
    private let workspace: Workspace
    private let path: String
    private let ledger: Ledger
    private let history: History
    private var chance: Chance
    private var processes: [ChildProcess] = []
    private var incarnations = [Int](repeating: 0, count: LoadPlan.processes)
    private var result = LoadResult()

    init(seconds: Int, seed: UInt64, in workspace: Workspace) throws {
        (self.seconds, self.seed, self.workspace) = (seconds, seed, workspace)
        path = workspace.path("load/settings.json")
        ledger = try Child.ledger(in: workspace.directory)
        history = History(ledger: ledger, findings: workspace.findings)
        chance = Chance(seed: seed)
    }

    func run() throws -> LoadResult {
        ledger.clear()
        let beginning = ContinuousClock.now
        processes = try (0..<LoadPlan.processes).map { try start($0) }
        try disturb(until: beginning + .seconds(seconds))
        result.seconds = (ContinuousClock.now - beginning).seconds
        if try rest() {
            try checkStreams()
            try leave()
            try checkFile()
        } else {
            history.note("the threads did not come to rest within a minute")
        }
        result.count(ledger)
        return result
    }

    private func start(_ number: Int) throws -> ChildProcess {
        for state in [LoadPlan.State.begun, LoadPlan.State.isResting] { ledger[.process, number, state].value = 0 }
        for watch in 0...LoadPlan.watches { ledger[.seen, number, watch].value = -1 }
        defer { incarnations[number] += 1 }
        let numbers = [number, Int(truncatingIfNeeded: seed >> 1), incarnations[number]]
        return try ChildProcess(Child.arguments(.load, in: workspace.directory, settingsAt: path, numbers))
    }

    // MARK: - While it runs

    private func disturb(until end: ContinuousClock.Instant) throws {
        while ContinuousClock.now < end {
            pause(chance.milliseconds(20...250))
            try Interruption.check()
            Console.showProgress("load: \(result.kills) kills")
            let number = chance.below(LoadPlan.processes)
            if chance.below(5) == 0 {
                processes[number].signal(SIGSTOP)
                pause(chance.milliseconds(0...150))
                result.stops += 1
            }
            // Some are killed while they are stopped.
            if chance.below(4) == 0 {
                processes[number].signal(SIGCONT)
            } else {
                if let complaint = try processes[number].end() { history.note(complaint) }
                result.kills += 1
                processes[number] = try start(number)
            }
        }
        Console.showProgress("")
    }

    // MARK: - At the end

    /// Ends the threads, and leaves the streams.
    private func rest() throws -> Bool {
        // A process that has just been started is given the time to begin.
        _ = try wait { isEvery(LoadPlan.State.begun) || !processes.allSatisfy(\.isRunning) }
        ledger[.run, 0].value = LoadPlan.Phase.resting.rawValue
        return try wait { isEvery(LoadPlan.State.isResting) || !processes.allSatisfy(\.isRunning) }
    }

    private func isEvery(_ state: Int) -> Bool {
        (0..<LoadPlan.processes).allSatisfy { ledger[.process, $0, state].value == 1 }
    }

    /// Every stream has given what is there in the end.
    private func checkStreams() throws {
        let contents = history.check { suite.snapshot() }
        let beginning = ContinuousClock.now
        var late: [String] = []
        let areThere = try wait(.seconds(10)) {
            late = (0..<LoadPlan.residents)
                .flatMap { process in
                    (0...LoadPlan.watches).compactMap { lateness(of: $0, process, contents) }
                }
            return late.isEmpty
        }
        result.convergence = (ContinuousClock.now - beginning).seconds
        if !areThere { for text in late { history.note(text) } }
    }

    private func lateness(of watch: Int, _ process: Int, _ contents: [String: StoredValue]) -> String? {
        let key =
            if watch == LoadPlan.watches {
                LoadPlan.pairKeys.0
            } else {
                switch LoadPlan.watched(process: process, watch) {
                case .number(let writer): OwnKey.number.name(writer)
                case .counter(let counter): LoadPlan.sumKey(counter)
                }
            }
        let (seen, there) = (ledger[.seen, process, watch].value, contents.integer(key))
        return seen == there ? nil : "10 s after all was quiet, a stream of \(key) has given \(seen), not \(there)"
    }

    private func leave() throws {
        ledger[.run, 0].value = LoadPlan.Phase.leaving.rawValue
        for process in processes {
            if let complaint = try process.finish() { history.note(complaint) }
        }
    }

    /// The file that people see has it all, and nothing is left beside it.
    private func checkFile() throws {
        let contents = history.check { suite.snapshot() }
        try suite.checkpoint()
        let differences = try Document(at: path).differences(from: contents)
        if !differences.isEmpty { history.note("the file differs in \(differences.prefix(5))") }
        result.keys = contents.count
        let names = try FileManager.default.contentsOfDirectory(atPath: workspace.path("load")).sorted()
        let drafts = names.filter { $0.hasSuffix(".new") }
        if !drafts.isEmpty { history.note("drafts are left: \(drafts)") }
    }

    /// A suite that was not open before, since nobody keeps it.
    private var suite: SettingsSuite {
        SettingsSuite(fileAt: path, reporter: workspace.findings)
    }
}
