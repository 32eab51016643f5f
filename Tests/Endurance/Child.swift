// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettings

/// The arguments and shared files of a child process.
struct Child: Sendable {
    enum Task: String {
        case write
        case inspect
        case load
        #if os(Linux)
        case step
        #endif
    }

    static let flag = "--child"

    let ledger: Ledger
    let findings: Findings
    /// The path of the settings file.
    let path: String
    /// The arguments of the task.
    let numbers: [Int]
    private let parent = getppid()

    /// The arguments of a process that runs a task.
    static func arguments(_ task: Task, in directory: String, settingsAt path: String, _ numbers: [Int]) -> [String] {
        [task.rawValue, directory, path] + numbers.map(String.init)
    }

    static func ledger(in directory: String) throws -> Ledger {
        try Ledger(at: "\(directory)/ledger")
    }

    static func run(_ arguments: [String]) throws {
        guard arguments.count >= 3, let task = Task(rawValue: arguments[0]) else {
            throw UsageError("\(flag) is for internal use")
        }
        let child = Child(
            ledger: try ledger(in: arguments[1]),
            findings: Findings(in: arguments[1]),
            path: arguments[2],
            numbers: arguments.dropFirst(3).compactMap { Int($0) }
        )
        switch task {
        case .write: try Writer(child).run()
        case .inspect: try Inspector(child).run()
        case .load: try LoadProcess(child, claims: Claims(in: arguments[1])).run()
        #if os(Linux)
        case .step: try Stepper(child).run()
        #endif
        }
    }

    var suite: SettingsSuite {
        SettingsSuite(fileAt: path, reporter: findings)
    }

    /// Runs threads until all have ended; exits if the parent process has ended.
    func runThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) {
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            Thread.detachNewThread {
                do {
                    try body(number)
                } catch {
                    findings.record("a thread of process \(getpid()) ended: \(error)")
                }
                group.leave()
            }
        }
        while group.wait(timeout: .now() + .milliseconds(100)) == .timedOut { exitIfOrphaned() }
    }

    /// Waits for a condition; exits if the parent process has ended.
    func wait(until condition: () -> Bool) {
        while !condition() {
            exitIfOrphaned()
            pause(.microseconds(200))
        }
    }

    private func exitIfOrphaned() {
        if getppid() != parent { _exit(1) }
    }
}

extension ChildProcess {
    /// Starts this program as a child process.
    convenience init(child arguments: [String]) throws {
        guard let program = Bundle.main.executablePath else { throw Failure("the path of this program is unknown") }
        try self.init([program, Child.flag] + arguments)
    }

    /// Kills the process with SIGKILL.
    ///
    /// - Returns: A description of the failure if the process had already ended in another way.
    func killed() -> String? {
        // A stopped process is killed as well.
        [.signal(SIGKILL), .exit(0)].contains(end()) ? nil : description
    }

    /// Waits until the process ends by itself, and kills it if it is stuck.
    ///
    /// - Returns: A description of the failure if the process did not end normally.
    func finished() -> String? {
        do {
            return try waitUntilEnd() == .exit(0) ? nil : description
        } catch {
            return "\(error)"
        }
    }
}
