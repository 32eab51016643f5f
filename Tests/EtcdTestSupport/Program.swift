// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport

/// A program of this package that a test runs.
///
/// Its methods wait, so call them on a thread of your own.
package final class Program: Sendable {
    private let process: ChildProcess

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: The name of the executable.
    ///   - arguments: Its arguments.
    ///   - directory: The current directory.
    /// - Throws: `ChildProcess.Failure` if there is no such program.
    package init(_ name: String, _ arguments: [String], in directory: String) throws {
        process = try ChildProcess([try Surroundings.program(name)] + arguments, in: directory)
    }

    /// What the program has printed.
    package var text: String { process.output.text }

    /// Waits until the program has printed a text.
    package func waitForOutput(_ expected: String) throws {
        var deadline = Deadline(after: Deadline.longest)
        while !text.contains(expected) {
            // In this order, so that the last output of a program that has ended is not missed.
            let isRunning = isRunning
            if text.contains(expected) { return }
            guard isRunning, !deadline.hasPassed else {
                throw ChildProcess.Failure("it has not printed '\(expected)': \(process)")
            }
            deadline.pauseOnThread()
        }
    }

    /// Whether the program runs.
    package var isRunning: Bool { process.isRunning }

    /// Kills the program with `SIGKILL`.
    package func kill() { process.end() }

    /// Waits for the end of the program.
    ///
    /// - Returns: Its output.
    package func finish() throws -> String {
        guard try process.waitUntilEnd() == .exit(0) else { throw ChildProcess.Failure("it has failed: \(process)") }
        return text
    }
}
