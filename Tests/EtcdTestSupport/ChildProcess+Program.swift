// SPDX-License-Identifier: Apache-2.0

package import ProcessSupport

/// A program of this package that a test runs.
///
/// These methods wait, so call them on a thread of your own.
extension ChildProcess {
    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: The name of the executable.
    ///   - arguments: Its arguments.
    ///   - directory: The current directory.
    /// - Throws: `ChildProcess.Failure` if there is no such program.
    package convenience init(program name: String, _ arguments: [String], in directory: String) throws {
        try self.init([try Surroundings.program(name)] + arguments, in: directory)
    }

    /// Waits until the program has printed a text.
    package func waitForOutput(_ expected: String) throws {
        var deadline = Deadline(after: Deadline.longest)
        while !output.text.contains(expected) {
            // In this order, so that the last output of a program that has ended is not missed.
            let isRunning = isRunning
            if output.text.contains(expected) { return }
            guard isRunning, !deadline.hasPassed else {
                throw ChildProcess.Failure("it has not printed '\(expected)': \(self)")
            }
            deadline.pauseOnThread()
        }
    }

    /// Waits for the end of the program.
    ///
    /// - Returns: Its output.
    package func finish() throws -> String {
        guard try waitUntilEnd() == .exit(0) else { throw ChildProcess.Failure("it has failed: \(self)") }
        return output.text
    }
}
