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

    /// Runs a process.
    ///
    /// - Returns: The time from the start of its task until it has ended, in nanoseconds.
    static func time(_ task: Task, at path: String) throws -> Double {
        // A checkpoint waits for up to 20 ms after the file was changed, because its times may not show another change.
        usleep(50_000)
        let process = try Process.thisProgram([flag, task.rawValue, path])
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let start = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Failure("a short process prints no number")
        }
        // The end of the output is the end of the process: this one has closed its end of the pipe.
        let rest = output.fileHandleForReading.availableData
        let end = Double(Clock.now())
        process.waitUntilExit()
        guard rest.isEmpty, process.terminationStatus == 0 else { throw Failure("a short process has failed") }
        return end - start
    }

    static func run(_ arguments: [String]) throws {
        guard arguments.count == 2, let task = Task(rawValue: arguments[0]) else {
            throw UsageError("\(flag) is for internal use")
        }
        let start = Clock.now()
        try FileHandle.standardOutput.write(contentsOf: Data("\(start)\n".utf8))
        if task == .set {
            try Setting(Workspace.key(0), default: 0, suite: SettingsSuite(fileAt: arguments[1])).set(Int(start))
        }
        exit(0)
    }
}
