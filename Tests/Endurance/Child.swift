// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// What a process of the run is told, and has in common with the others.
struct Child: Sendable {
    enum Task: String {
        case write
        case look
        case increment
        case load
    }

    static let flag = "--child"

    let ledger: Ledger
    let findings: Findings
    /// The path of the file of settings.
    let path: String
    /// What the task takes.
    let numbers: [Int]
    private let parent = getppid()

    /// The arguments of a process that is to do a task.
    static func arguments(_ task: Task, in directory: String, settingsAt path: String, _ numbers: [Int]) -> [String] {
        [task.rawValue, directory, path] + numbers.map(String.init)
    }

    static func ledger(in directory: String) throws -> Ledger {
        try Ledger(at: "\(directory)/ledger")
    }

    static func run(_ arguments: [String]) throws {
        guard arguments.count >= 3, let task = Task(rawValue: arguments[0]) else {
            throw UsageError("\(flag) is for the program itself")
        }
        let child = Child(
            ledger: try ledger(in: arguments[1]),
            findings: Findings(in: arguments[1]),
            path: arguments[2],
            numbers: arguments.dropFirst(3).compactMap { Int($0) }
        )
        switch task {
        case .write: try Writer(child).run()
        case .look: try Looker(child).run()
        case .increment: try Incrementer(child).run()
        case .load: try LoadProcess(child, claims: Claims(in: arguments[1])).run()
        }
    }

    var suite: SettingsSuite {
        SettingsSuite(fileAt: path, reporter: findings)
    }

    /// Runs threads until all have ended; ends the process when its parent has gone.
    func runThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) {
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            Thread.detachNewThread {
                do {
                    try body(number)
                } catch {
                    findings.note("a thread of process \(getpid()) ended: \(error)")
                }
                group.leave()
            }
        }
        while group.wait(timeout: .now() + .milliseconds(100)) == .timedOut { endWithoutParent() }
    }

    /// Waits, unless the parent is gone.
    func wait(until condition: () -> Bool) {
        while !condition() {
            endWithoutParent()
            pause(.microseconds(200))
        }
    }

    private func endWithoutParent() {
        if getppid() != parent { _exit(1) }
    }
}
