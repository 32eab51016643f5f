// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettings

/// Loads one file with all operations, while processes are killed, stopped and restarted.
///
/// ``History`` checks every read; the streams and the file are checked at the end.
final class Load {
    private let seconds: Int
    private let seed: UInt64
    private let workspace: Workspace
    private let path: String
    private let ledger: Ledger
    private let history: History
    private var random: SeededRandom
    private var processes: [ChildProcess] = []
    private var incarnations = [Int](repeating: 0, count: LoadPlan.processes)
    private var result = LoadResult()

    init(seconds: Int, seed: UInt64, in workspace: Workspace) throws {
        (self.seconds, self.seed, self.workspace) = (seconds, seed, workspace)
        path = workspace.path("load/settings.json")
        ledger = try Child.ledger(in: workspace.directory)
        history = History(ledger: ledger, findings: workspace.findings)
        random = SeededRandom(seed: seed)
    }

    func run() throws -> LoadResult {
        ledger.clear()
        let startTime = ContinuousClock.now
        processes = try (0..<LoadPlan.processes).map { try start($0) }
        try disturb(until: startTime + .seconds(seconds))
        result.seconds = (ContinuousClock.now - startTime).seconds
        if try endThreads() {
            try checkStreams()
            try endProcesses()
            try checkFile()
        } else {
            history.record("the threads did not end within a minute")
        }
        result.count(ledger)
        return result
    }

    private func start(_ number: Int) throws -> ChildProcess {
        for state in [LoadPlan.State.begun, LoadPlan.State.isIdle] { ledger[.process, number, state].value = 0 }
        for watch in 0...LoadPlan.watches { ledger[.seen, number, watch].value = -1 }
        defer { incarnations[number] += 1 }
        let numbers = [number, Int(truncatingIfNeeded: seed >> 1), incarnations[number]]
        return try ChildProcess(child: Child.arguments(.load, in: workspace.directory, settingsAt: path, numbers))
    }

    // MARK: - While it runs

    private func disturb(until end: ContinuousClock.Instant) throws {
        while ContinuousClock.now < end {
            pause(random.milliseconds(20...250))
            try Interruption.check()
            let number = random.below(LoadPlan.processes)
            if random.below(5) == 0 {
                processes[number].signal(SIGSTOP)
                pause(random.milliseconds(0...150))
                result.stops += 1
            }
            // Some processes are killed while they are stopped.
            if random.below(4) == 0 {
                processes[number].signal(SIGCONT)
            } else {
                if let failure = processes[number].killed() { history.record(failure) }
                result.kills += 1
                processes[number] = try start(number)
            }
        }
    }

    // MARK: - At the end

    /// Ends the threads while the streams continue.
    private func endThreads() throws -> Bool {
        // A process that has just started gets time to register.
        _ = try wait { isEvery(LoadPlan.State.begun) || !processes.allSatisfy(\.isRunning) }
        ledger[.run, 0].value = LoadPlan.Phase.draining.rawValue
        return try wait { isEvery(LoadPlan.State.isIdle) || !processes.allSatisfy(\.isRunning) }
    }

    private func isEvery(_ state: Int) -> Bool {
        (0..<LoadPlan.processes).allSatisfy { ledger[.process, $0, state].value == 1 }
    }

    /// Checks that every stream has delivered the final values.
    private func checkStreams() throws {
        let contents = history.check { suite.snapshot() }
        let startTime = ContinuousClock.now
        var late: [String] = []
        let areCurrent = try wait(.seconds(10)) {
            late = (0..<LoadPlan.residents)
                .flatMap { process in
                    (0...LoadPlan.watches).compactMap { lateness(of: $0, process, contents) }
                }
            return late.isEmpty
        }
        result.convergence = (ContinuousClock.now - startTime).seconds
        if !areCurrent { for text in late { history.record(text) } }
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
        let (seen, stored) = (ledger[.seen, process, watch].value, contents.integer(key))
        return seen == stored
            ? nil : "10 s after the last change, the last value of a stream of \(key) is \(seen), not \(stored)"
    }

    private func endProcesses() throws {
        ledger[.run, 0].value = LoadPlan.Phase.ending.rawValue
        for process in processes {
            if let failure = process.finished() { history.record(failure) }
        }
    }

    /// Checks that the file is complete and that no temporary file is left.
    private func checkFile() throws {
        let contents = history.check { suite.snapshot() }
        try suite.checkpoint()
        let differences = try Document(at: path).differences(from: contents)
        if !differences.isEmpty { history.record("the file differs in \(differences.prefix(5))") }
        result.keys = contents.count
        let names = try FileManager.default.contentsOfDirectory(atPath: workspace.path("load")).sorted()
        let drafts = names.filter { $0.hasSuffix(".new") }
        if !drafts.isEmpty { history.record("temporary files are left: \(drafts)") }
    }

    /// A suite that is opened for each use, because this process does not retain it.
    private var suite: SettingsSuite {
        SettingsSuite(fileAt: path, reporter: workspace.findings)
    }
}
