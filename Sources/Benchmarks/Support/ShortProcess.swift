// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// A process that changes at most one value and exits.
enum ShortProcess {
    enum Task: String {
        case nothing
        case set
    }

    static let flag = "--short"

    /// The times of a process, in nanoseconds.
    struct Times {
        /// From the start of its task until it has ended.
        var total: Double
        /// Of the set.
        var set: Double
    }

    /// Runs a process.
    static func times(_ task: Task, at path: String) throws -> Times {
        // A checkpoint waits for up to 20 ms after the file was changed, because its times may not show another change.
        usleep(50_000)
        let process = try Process.thisProgram([flag, task.rawValue, path])
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // The end of the output is the end of the process: this one has closed its end of the pipe.
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let end = Double(Clock.now())
        process.waitUntilExit()
        let instants = text.split(separator: "\n").compactMap { Double($0) }
        guard instants.count == 2, process.terminationStatus == 0 else { throw Failure("a short process has failed") }
        return Times(total: end - instants[0], set: instants[1] - instants[0])
    }

    static func run(_ arguments: [String]) throws {
        guard arguments.count == 2, let task = Task(rawValue: arguments[0]) else {
            throw UsageError("\(flag) is for internal use")
        }
        // Not within the measured times: the first output.
        try FileHandle.standardOutput.write(contentsOf: Data("\n".utf8))
        let start = Clock.now()
        if task == .set {
            try Setting(Workspace.key(0), default: 0, suite: SettingsSuite(fileAt: arguments[1])).set(Int(start))
        }
        let end = Clock.now()
        try FileHandle.standardOutput.write(contentsOf: Data("\(start)\n\(end)\n".utf8))
        exit(0)
    }
}
