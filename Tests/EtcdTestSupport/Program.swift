// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program of this package that a test runs.
///
/// Its methods wait, so call them on a thread of your own.
package final class Program: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let process: ChildProcess
    private let output: String

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: The name of the executable.
    ///   - arguments: Its arguments.
    ///   - directory: The current directory, which also has the file with the output.
    /// - Throws: ``Failure`` if there is no such program.
    package init(_ name: String, _ arguments: [String], in directory: String) throws {
        output = "\(directory)/\(UUID().uuidString).out"
        process = try ChildProcess([try Self.path(of: name)] + arguments, in: directory, output: output)
    }

    /// The executables of the package are beside the tests.
    private static func path(of name: String) throws -> String {
        let arguments = CommandLine.arguments
        let bundles = arguments.firstIndex(of: "--test-bundle-path").map { arguments[($0 + 1)...].prefix(1) } ?? []
        let places = [Bundle.main.bundlePath, Bundle.main.executablePath ?? ""] + bundles + arguments.prefix(1)
        for place in places {
            let url = URL(fileURLWithPath: place).standardizedFileURL
            for directory in [url, url.deletingLastPathComponent()] {
                let path = directory.appendingPathComponent(name).path
                if FileManager.default.isExecutableFile(atPath: path) { return path }
            }
        }
        throw Failure(description: "there is no executable '\(name)' beside the tests")
    }

    /// What the program has printed.
    package var text: String {
        do {
            return try String(contentsOfFile: output, encoding: .utf8)
        } catch {
            return ""
        }
    }

    /// Waits until the program has printed a text, for ten minutes.
    package func waitForOutput(_ expected: String) throws {
        let deadline = ContinuousClock.now + .seconds(600)
        while !text.contains(expected) {
            guard ContinuousClock.now < deadline else { throw Failure(description: "only this is printed: \(text)") }
            guard process.isRunning else { throw Failure(description: "the program has ended: \(text)") }
            // The pace of the checks.
            usleep(1_000)
        }
    }

    /// Whether the program runs.
    package var isRunning: Bool { process.isRunning }

    /// Kills the program with `SIGKILL`.
    package func kill() {
        process.send(SIGKILL)
        process.waitUntilExit()
    }

    /// Waits for the end of the program.
    ///
    /// - Returns: Its output.
    package func finish() throws -> String {
        guard process.waitUntilExit() == 0 else { throw Failure(description: "the program has failed: \(text)") }
        return text
    }
}
