// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import Foundation
import StoredSettings
import Synchronization

/// Stops and kills a process during its changes, while this process makes changes as well.
///
/// Every acknowledged change has to be stored, and none may be stored twice. A stopped process may delay the changes of
/// others until it continues, but a killed one may not.
///
/// There are two ways to find a moment. A process that is executed in steps is stopped at instructions that are evenly
/// distributed over a change. That is slow, so all that a change does at most every few milliseconds is due. A process that
/// makes changes without a pause is stopped at any time, usually within the shortest path.
final class Steps {
    struct Result: Encodable {
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
            let changes = instructions.sorted { $0.key < $1.key }.map { "\($0.key) of \(Format.count($0.value))" }
            return """
                steps: \(Format.count(stops)) stops and \(Format.count(kills)) kills, \(Format.count(stepped)) of them at \
                single instructions (\(changes.joined(separator: ", "))), in \(Format.number(seconds)) s
                  the process was stopped with the lock \(Format.count(waits)) times; \
                the longest change after a kill took \(Format.number(longestChange * 1_000)) ms
                """
        }
    }

    /// One of so many rounds is executed in steps, because that takes long.
    private static let roundsPerSteppedRound = 10
    /// How long a change waits for a stopped process before it is canceled.
    private static let patience = Duration.milliseconds(30)
    /// The time within which a canceled change has to return.
    ///
    /// On a busy machine, its thread may have to wait.
    private static let cancellationLimit = Duration.seconds(60)
    /// How long a change may wait for a killed process: less than the time after which it would fail.
    private static let limit = Duration.seconds(4)
    /// The time for which a process makes changes between two stops, in milliseconds.
    private static let timeBetweenStops = 0.0...3
    /// The longest time for which a process is executed in steps at once.
    private static let steppingLimit = Duration.seconds(10)

    private let rounds: Int
    private let workspace: Workspace
    private let ledger: Ledger
    private let path: String
    private let suite: SettingsSuite
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
        suite = SettingsSuite(fileAt: path, reporter: StepsReporter(findings: workspace.findings))
        random = SeededRandom(seed: seed)
    }

    func run() throws -> Result {
        let startTime = ContinuousClock.now
        ledger.clear()
        for change in Stepper.Change.allCases {
            let count = rounds / Stepper.Change.allCases.count
            let stepped = max(count / Self.roundsPerSteppedRound, 1)
            let instructions = try stopStepped(change, stepped)
            result.instructions[change.key] = instructions
            for (number, instruction) in positions(stepped, of: instructions).enumerated() {
                try showProgress("stepped kills", change, number, stepped)
                let process = try start(change, isPausing: true)
                let (instruction, _) = try process.run(atMost: instruction, within: Self.steppingLimit)
                try kill(process, change, "a kill at instruction \(instruction)")
            }
            result.stepped += 2 * stepped
            try stopAnywhere(change, count - stepped)
            for number in 0..<count - stepped {
                try showProgress("kills", change, number, count - stepped)
                let process = try start(change, isPausing: false)
                try process.resume()
                pause(random.milliseconds(Self.timeBetweenStops))
                try kill(process, change, "a kill")
            }
        }
        // Otherwise the suite makes a checkpoint when it is released, perhaps after the directory was removed.
        try suite.checkpoint()
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
        for (number, instruction) in positions(count, of: instructions).enumerated() {
            try showProgress("stepped stops", change, number, count)
            let (instruction, isInside) = try process.run(atMost: instruction, within: Self.steppingLimit)
            try changeBesideStopped(change)
            if isInside { try process.runToPause() }
            changeNow(change)
            correct(change, by: try check(change, "a stop at instruction \(instruction)"))
        }
        try process.kill()
        return instructions
    }

    /// Stops a process that makes changes without a pause, at random moments.
    private func stopAnywhere(_ change: Stepper.Change, _ count: Int) throws {
        let process = try start(change, isPausing: false)
        for number in 0..<count {
            try showProgress("stops", change, number, count)
            try process.resume()
            pause(random.milliseconds(Self.timeBetweenStops))
            try process.stop()
            try changeBesideStopped(change)
            _ = try check(change, "a stop")
        }
        try kill(process, change, "the last stop")
    }

    private func kill(_ process: TracedProcess, _ change: Stepper.Change, _ place: String) throws {
        try process.kill()
        result.kills += 1
        let start = ContinuousClock.now
        changeNow(change)
        let time = ContinuousClock.now - start
        result.longestChange = max(result.longestChange, time.seconds)
        if time > Self.limit { record("a change took \(time) after \(place)", change) }
        correct(change, by: try check(change, place))
    }

    private func start(_ change: Stepper.Change, isPausing: Bool) throws -> TracedProcess {
        let numbers = [change.rawValue, isPausing ? 1 : 0]
        return try TracedProcess(Child.arguments(.step, in: workspace.directory, settingsAt: path, numbers))
    }

    /// Numbers below a limit in random order, each with the same frequency.
    private func positions(_ count: Int, of limit: Int) -> [Int] {
        (0..<count).map { $0 * limit / count + random.below(max(limit / count, 1)) }.shuffled(using: &random)
    }

    // MARK: - The changes of this process

    /// The changes of this process have the same form as those of the other one.
    ///
    /// Sets have their own key, so that the stored numbers show which process has set them.
    private func setting(_ change: Stepper.Change) -> Setting<Int> {
        Setting(change == .set ? "own" : change.key, default: 0, suite: suite)
    }

    private func tally(_ change: Stepper.Change) -> Tally {
        ledger.tally(Stepper.Change.allCases.count + change.rawValue)
    }

    private func changeNow(_ change: Stepper.Change) {
        let setting = setting(change)
        do {
            switch change {
            case .set: try tally(change).next(setting.set)
            case .update: _ = try tally(change).increment { try setting.update { $0 += 1 } }
            }
        } catch {
            record("a change failed: \(error)", change)
        }
    }

    /// Makes a change while the other process is stopped, and cancels it if it has to wait.
    private func changeBesideStopped(_ change: Stepper.Change) throws {
        result.stops += 1
        let (setting, tally) = (setting(change), tally(change))
        let end = DispatchSemaphore(value: 0)
        let outcome = Mutex<Swift.Result<Void, any Error>?>(nil)
        let number = tally.begun.value + 1
        let task = Task {
            do {
                switch change {
                case .set: try await setting.async.set(number)
                case .update: try await setting.async.update { $0 += 1 }
                }
                outcome.withLock { $0 = .success(()) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
            end.signal()
        }
        tally.begun.value = number
        if end.wait(for: Self.patience) == .timedOut {
            task.cancel()
            guard end.wait(for: Self.cancellationLimit) == .success else {
                throw Failure("a canceled change does not return")
            }
        }
        switch outcome.withLock({ $0 }) {
        case .success:
            tally.acknowledged.value = number
        case .failure(let error):
            tally.begun.value = number - 1
            result.waits += 1
            if !(error is CancellationError) { record("a change beside a stopped process failed: \(error)", change) }
        case nil:
            throw Failure("a change has no outcome")
        }
    }

    // MARK: - Checks

    /// Compares the stored numbers with those that the processes have acknowledged.
    ///
    /// - Returns: The number of changes of the other process that are stored.
    private func check(_ change: Stepper.Change, _ place: String) throws -> Int {
        let (child, own) = (ledger.tally(change.rawValue), tally(change))
        let stored = try Setting(change.key, default: 0, suite: suite).load() ?? 0
        let others = change == .set ? stored : stored - own.acknowledged.value
        // The last change of a process that is stopped or killed may be stored or not.
        let range = child.acknowledged.value...child.begun.value
        if !range.contains(others) {
            record("\(others) changes of the other process are stored instead of \(range), after \(place)", change)
        }
        if change == .set {
            let number = try setting(change).load() ?? 0
            if number != own.acknowledged.value {
                record("\(number) is stored instead of \(own.acknowledged.value), after \(place)", change)
            }
        }
        return others
    }

    /// Notes how many changes of a process are stored, which has been killed or pauses.
    private func correct(_ change: Stepper.Change, by number: Int) {
        let child = ledger.tally(change.rawValue)
        (child.acknowledged.value, child.begun.value) = (number, number)
    }

    private func showProgress(_ what: String, _ change: Stepper.Change, _ number: Int, _ count: Int) throws {
        Console.showProgress(number == count - 1 ? "" : "steps: \(what) in \(change): \(number) of \(count)")
        try Interruption.check()
    }

    private func record(_ text: String, _ change: Stepper.Change) {
        workspace.findings.record("steps, \(change): \(text)")
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

extension DispatchSemaphore {
    fileprivate func wait(for limit: Duration) -> DispatchTimeoutResult {
        wait(timeout: .now() + limit.seconds)
    }
}
#endif
