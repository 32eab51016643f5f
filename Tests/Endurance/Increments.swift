// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettings

/// Processes that start at the same moment and each add 1 to one key of a new suite.
///
/// The sum has to be exact.
struct Increments {
    struct Result: Encodable {
        var processes = Increments.processes
        var updatesPerProcess = Increments.count
        var sum = 0
        var seconds = 0.0

        var description: String {
            let (all, rate) = (processes * updatesPerProcess, Double(sum) / seconds)
            return """
                increments: \(processes) processes × \(Format.count(updatesPerProcess)) updates of one key: \
                \(Format.count(sum))\(sum == all ? ", exact" : " of \(Format.count(all))")
                  \(Format.number(seconds)) s, \(Format.count(Int(rate))) a second
                """
        }
    }

    static let key = "total"
    static let count = 5_000
    private static let processes = 4

    private let workspace: Workspace
    private let ledger: Ledger

    init(in workspace: Workspace) throws {
        self.workspace = workspace
        ledger = try Child.ledger(in: workspace.directory)
    }

    func run() throws -> Result {
        ledger.clear()
        let path = workspace.path("increments/settings.json")
        let processes = try (0..<Self.processes)
            .map {
                try ChildProcess(child: Child.arguments(.increment, in: workspace.directory, settingsAt: path, [$0]))
            }
        guard try wait(until: { ledger.sum(.process) == Self.processes }) else {
            throw Failure("the processes do not start")
        }
        let start = ContinuousClock.now
        ledger[.run, 0].value = 1
        var failures: [String] = []
        // Waits until the last update has returned, not until the last process has ended.
        _ = try wait(Deadline.longest) {
            processes.indices.allSatisfy { ledger[.process, $0].value == 2 || !processes[$0].isRunning }
        }
        var result = Result()
        result.seconds = (ContinuousClock.now - start).seconds
        for process in processes {
            if let failure = process.finished() { failures.append(failure) }
        }
        result.sum = try Document(at: path).integer(Self.key) ?? 0
        let stored = Setting(Self.key, default: 0, suite: SettingsSuite(fileAt: path, reporter: workspace.findings))
            .value
        if result.sum != Self.processes * Self.count { failures.append("the file has \(result.sum)") }
        if stored != result.sum { failures.append("the file has \(result.sum), but a suite over it has \(stored)") }
        for failure in failures { workspace.findings.record("increments: \(failure)") }
        return result
    }
}

/// One of the processes.
struct Incrementer {
    private let child: Child

    init(_ child: Child) {
        self.child = child
    }

    func run() throws {
        guard let number = child.numbers.first else { throw UsageError("\(Child.flag) is for internal use") }
        let setting = Setting(Increments.key, default: 0, suite: child.suite)
        child.ledger[.process, number].value = 1
        child.wait { child.ledger[.run, 0].value == 1 }
        for _ in 0..<Increments.count {
            try setting.update { $0 += 1 }
        }
        child.ledger[.process, number].value = 2
    }
}
