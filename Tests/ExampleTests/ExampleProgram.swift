// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import TestSupport
import Testing

/// An example program in its own process, which stores its settings in the test's directory.
final class ExampleProgram {
    private let process: ChildProcess

    /// Starts a program of the package, or the one with a path.
    ///
    /// The output goes to files, so that the program never waits for a reader, unless the test reads it.
    init(
        _ program: String,
        _ arguments: [String] = [],
        home: String,
        variables: [String: String] = [:],
        input: ChildProcess.Input = .none,
        output: FileHandle? = nil,
        errors: FileHandle? = nil
    ) throws {
        process = try ChildProcess(
            [program.hasPrefix("/") ? program : Surroundings.program(program)] + arguments,
            environment: ["STORED_SETTINGS_HOME": home].merging(variables) { $1 },
            input: input,
            output: output?.fileDescriptor,
            errors: errors?.fileDescriptor
        )
    }

    /// The lines of the standard output so far.
    var lines: [String] { process.output.text.split(separator: "\n").map(String.init) }

    /// The standard error so far.
    var errors: String { process.errors.text }

    /// Waits for a number of lines, and ends the test if there are fewer.
    ///
    /// The caller checks for more.
    func waitForLines(_ count: Int) async throws {
        await eventually("the program prints \(count) lines", of: process) { lines.count >= count }
        try #require(lines.count >= count)
    }

    /// Waits for the program to exit, and returns its exit code, or the signal that has ended it; ends it and fails the test after
    /// a time limit.
    func exitCode(sourceLocation: SourceLocation = #_sourceLocation) async -> Int32 {
        await eventually("the program ends", of: process, sourceLocation: sourceLocation) { !process.isRunning }
        switch process.end() {
        case .exit(let code), .signal(let code): return code
        case .unknown: return -1
        }
    }

    /// Whether a signal has ended the program.
    var isEndedBySignal: Bool { if case .signal = process.ending { true } else { false } }

    var processIdentifier: pid_t { process.identifier }

    /// Sends a signal to the program, unless it has ended.
    func signal(_ number: CInt) { process.signal(number) }

    /// Writes to the program's input, which is a pipe.
    func write(_ text: String) throws { try process.write(text) }

    /// Ends the program if it is running.
    func end() { process.end() }
}

/// Runs a program to its end, expects success, and returns the lines of its output.
@discardableResult
func output(
    of name: String,
    _ arguments: [String] = [],
    home: String,
    variables: [String: String] = [:],
    mayReport: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws -> [String] {
    let program = try ExampleProgram(name, arguments, home: home, variables: variables)
    let code = await program.exitCode(sourceLocation: sourceLocation)
    let errors = program.errors
    #expect(code == 0, "\(arguments) \(errors)", sourceLocation: sourceLocation)
    #expect(mayReport || errors.isEmpty, "\(errors)", sourceLocation: sourceLocation)
    return program.lines
}
