// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// Processes that add one to one key of a suite that is not there yet, all from the same moment on.
///
/// The law: the sum is exact.
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
                try ChildProcess(Child.arguments(.increment, in: workspace.directory, settingsAt: path, [$0]))
            }
        guard try wait(until: { ledger.sum(.process) == Self.processes }) else {
            throw Failure("the processes do not begin")
        }
        let start = ContinuousClock.now
        ledger[.run, 0].value = 1
        var complaints: [String] = []
        // Until the last update has returned, and not until the last process has ended.
        _ = try wait(.seconds(600)) {
            processes.indices.allSatisfy { ledger[.process, $0].value == 2 || !processes[$0].isRunning }
        }
        var result = Result()
        result.seconds = (ContinuousClock.now - start).seconds
        for process in processes {
            if let complaint = try process.finish(within: .seconds(600)) { complaints.append(complaint) }
        }
        result.sum = try Document(at: path).integer(Self.key) ?? 0
        let kept = Setting(Self.key, default: 0, suite: SettingsSuite(fileAt: path, reporter: workspace.findings)).value
        if result.sum != Self.processes * Self.count { complaints.append("the file has \(result.sum)") }
        if kept != result.sum { complaints.append("the file has \(result.sum), and a suite over it \(kept)") }
        for complaint in complaints { workspace.findings.note("increments: \(complaint)") }
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
        guard let number = child.numbers.first else { throw UsageError("\(Child.flag) is for the program itself") }
        let setting = Setting(Increments.key, default: 0, suite: child.suite)
        child.ledger[.process, number].value = 1
        child.wait { child.ledger[.run, 0].value == 1 }
        for _ in 0..<Increments.count {
            try setting.update { $0 += 1 }
        }
        child.ledger[.process, number].value = 2
    }
}
