// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// Processes that write to the same file at the same time.
final class Crowd {
    /// What each process does without a pause.
    enum Task: String {
        /// Sets a setting of its own.
        case set
        /// Acquires an `flock`, writes 64 bytes, and releases it.
        case append
    }

    static let flag = "--crowd"

    /// How long a pass takes, in nanoseconds.
    private static let duration = 400_000_000.0

    /// The result of one pass.
    struct Pass {
        /// How many writes all processes made.
        var count = 0
        /// The longest time that one write took, in nanoseconds.
        var longest = 0.0

        /// The time of the pass per write, in nanoseconds.
        var timePerWrite: Double { Crowd.duration / Double(max(count, 1)) }
    }

    private let members: [Child]

    init(_ count: Int, _ task: Task, at path: String) throws {
        members = try (0..<count).map { try Child([Self.flag, path, task.rawValue, "\($0)"]) }
        // The first pass opens the file.
        _ = try run()
    }

    func run() throws -> Pass {
        for member in members { try member.send("") }
        return try members.reduce(into: Pass()) { pass, member in
            let numbers = try member.receiveNumbers()
            guard numbers.count == 2 else { throw Failure("a process of the crowd prints no result") }
            pass.count += Int(numbers[0])
            pass.longest = max(pass.longest, numbers[1])
        }
    }

    func end() throws {
        for member in members { try member.end() }
    }
}

extension Crowd {
    /// Writes for the length of a pass after each line of the input, until the input ends.
    static func run(_ arguments: [String]) throws {
        guard arguments.count == 3, let task = Task(rawValue: arguments[1]) else {
            throw UsageError("\(flag) is for internal use")
        }
        let write = try operation(task, at: arguments[0], number: arguments[2])
        while readLine() != nil {
            let start = Double(Clock.now())
            var (now, count, longest) = (start, 0, 0.0)
            while now - start < duration {
                try write()
                let end = Double(Clock.now())
                (count, longest, now) = (count + 1, max(longest, end - now), end)
            }
            try FileHandle.standardOutput.write(contentsOf: Data("\(count) \(longest)\n".utf8))
        }
    }

    private static func operation(_ task: Task, at path: String, number: String) throws -> () throws -> Void {
        switch task {
        case .append:
            return try Floors.lockedAppend(at: path)
        case .set:
            let setting = Setting("key\(number)", default: 0, suite: SettingsSuite(fileAt: path))
            var value = 0
            return {
                value += 1
                try setting.set(value)
            }
        }
    }
}
