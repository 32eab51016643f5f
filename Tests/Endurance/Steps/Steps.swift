// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import Foundation
import StoredSettings

/// Stops and kills a process during its changes, while this process makes changes as well.
///
/// Every acknowledged change has to be stored, and none may be stored twice. A stopped process may delay the changes of
/// others until it continues. A killed one may not: a change that waits for it fails after five seconds.
///
/// There are two ways to find a moment. A process that is executed in steps is stopped at instructions that are evenly
/// distributed over a change. That is slow, so all that a change does at most every few milliseconds is due. A process that
/// makes changes without a pause is stopped at any time, usually within the shortest path.
final class Steps {
    struct Result {
        var stops = 0
        var kills = 0
        /// How many of them were at a certain instruction.
        var stepped = 0
        /// The number of instructions of each change, with all that can be due, as far as it was executed in steps.
        var instructions: [String: Int] = [:]
        /// The stops during which another change had to wait.
        var waits = 0
        /// The time that a change took at most after a kill.
        var longestChange = 0.0
        var seconds = 0.0

        var description: String {
            let changes = instructions.sorted { $0.key < $1.key }.map { "\($0.key) of \($0.value)" }
            return """
                steps: \(stops) stops and \(kills) kills, \(stepped) of them at \
                single instructions (\(changes.joined(separator: ", "))), in \(Format.number(seconds)) s
                  other changes had to wait for the stopped process \(waits) times; \
                the longest change after a kill took \(Format.number(longestChange * 1_000)) ms
                """
        }
    }

    /// One of so many rounds is executed in steps, because that takes long.
    private static let roundsPerSteppedRound = 10
    /// The time for which a process makes changes between two stops, in milliseconds.
    private static let timeBetweenStops = 0.0...3
    /// The longest time for which a process is executed in steps at once.
    private static let steppingLimit = Duration.seconds(10)

    private let rounds: Int
    private let workspace: Workspace
    private let ledger: Ledger
    private let path: String
    private let changes: OwnChanges
    private var random: SeededRandom
    private var result = Result()

    /// - Parameters:
    ///   - rounds: The number of stops, and of kills.
    ///   - seed: The seed of the run.
    ///   - workspace: The directory of the run.
    /// - Throws: ``Failure`` if the ledger cannot be mapped.
    init(rounds: Int, seed: UInt64, in workspace: Workspace) throws {
        (self.rounds, self.workspace) = (rounds, workspace)
        ledger = try Child.ledger(in: workspace.directory)
        path = workspace.path("steps/settings.json")
        let reporter = StepsReporter(findings: workspace.findings)
        changes = OwnChanges(SettingsSuite(fileAt: path, reporter: reporter), ledger, workspace.findings)
        random = SeededRandom(seed: seed)
    }

    func run() throws -> Result {
        let startTime = ContinuousClock.now
        ledger.clear()
        for change in Stepper.Change.allCases {
            let count = rounds / Stepper.Change.allCases.count
            let stepped = count / Self.roundsPerSteppedRound
            let instructions = stepped == 0 ? 0 : try stopStepped(change, stepped)
            if stepped > 0 { result.instructions[change.key] = instructions }
            for instruction in positions(stepped, of: instructions) {
                try Interruption.check()
                let process = try start(change, isPausing: true)
                let (instruction, _) = try process.run(atMost: instruction, within: Self.steppingLimit)
                try kill(process, change, "a kill at instruction \(instruction)")
            }
            result.stepped += 2 * stepped
            try stopAnywhere(change, count - stepped)
            for _ in 0..<count - stepped {
                try Interruption.check()
                let process = try start(change, isPausing: false)
                try process.resume()
                pause(random.milliseconds(Self.timeBetweenStops))
                try kill(process, change, "a kill")
            }
        }
        // Otherwise the suite makes a checkpoint when it is released, perhaps after the directory was removed.
        try changes.suite.checkpoint()
        result.seconds = (ContinuousClock.now - startTime).seconds
        return result
    }

    /// Stops a process at instructions that are evenly distributed over its changes.
    ///
    /// - Returns: The number of instructions of a change.
    private func stopStepped(_ change: Stepper.Change, _ count: Int) throws -> Int {
        let process = try start(change, isPausing: true)
        let (instructions, isCut) = try process.run(atMost: .max, within: Self.steppingLimit)
        if isCut { try process.runToPause() }
        for instruction in positions(count, of: instructions) {
            try Interruption.check()
            let (instruction, isInside) = try process.run(atMost: instruction, within: Self.steppingLimit)
            try makeBesideStopped(change)
            if isInside { try process.runToPause() }
            changes.make(change)
            try changes.checkAndCorrect(change, "a stop at instruction \(instruction)")
        }
        try process.kill()
        return instructions
    }

    /// Stops a process that makes changes without a pause, at random moments.
    private func stopAnywhere(_ change: Stepper.Change, _ count: Int) throws {
        let process = try start(change, isPausing: false)
        for _ in 0..<count {
            try Interruption.check()
            try process.resume()
            pause(random.milliseconds(Self.timeBetweenStops))
            try process.stop()
            try makeBesideStopped(change)
            _ = try changes.check(change, "a stop")
        }
        try kill(process, change, "the last stop")
    }

    private func kill(_ process: TracedProcess, _ change: Stepper.Change, _ place: String) throws {
        try process.kill()
        result.kills += 1
        let start = ContinuousClock.now
        changes.make(change)
        let time = ContinuousClock.now - start
        result.longestChange = max(result.longestChange, time.seconds)
        try changes.checkAndCorrect(change, place)
    }

    private func makeBesideStopped(_ change: Stepper.Change) throws {
        result.stops += 1
        if try !changes.makeWithoutWaiting(change) { result.waits += 1 }
    }

    private func start(_ change: Stepper.Change, isPausing: Bool) throws -> TracedProcess {
        let numbers = [change.rawValue, isPausing ? 1 : 0]
        return try TracedProcess(Child.arguments(.step, in: workspace.directory, settingsAt: path, numbers))
    }

    /// Numbers below a limit in random order, each with the same frequency.
    private func positions(_ count: Int, of limit: Int) -> [Int] {
        (0..<count).map { $0 * limit / count + random.below(max(limit / count, 1)) }.shuffled(using: &random)
    }
}

/// Records any error but that of a checkpoint that waits for the stopped process.
private final class StepsReporter: SettingsReporter {
    private let findings: Findings

    init(findings: Findings) {
        self.findings = findings
    }

    func report(_ error: SettingsError) {
        if error.code != .lockTimedOut { findings.report(error) }
    }
}
#endif
