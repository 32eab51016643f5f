// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// An example program in its own process, which stores its settings in the test's directory.
final class ExampleProgram {
    private let process = Process()
    private let outputPath: String
    private let errorsPath: String

    /// Starts a program.
    ///
    /// The output goes to files in the directory, so that the program never waits for a reader, unless the test reads it.
    convenience init(
        _ name: String,
        _ arguments: [String] = [],
        home: String,
        variables: [String: String] = [:],
        input: FileHandle = .nullDevice,
        output: FileHandle? = nil,
        errors: FileHandle? = nil
    ) throws {
        try self.init(
            at: Self.path(of: name),
            arguments,
            home: home,
            variables: variables,
            input: input,
            output: output,
            errors: errors
        )
    }

    /// The path of a program that the package builds.
    static func path(of name: String) throws -> String {
        try #require(executable(named: name), "\(name) is not beside the tests").path
    }

    /// Starts the program with a path.
    init(
        at path: String,
        _ arguments: [String],
        home: String,
        variables: [String: String] = [:],
        input: FileHandle = .nullDevice,
        output: FileHandle? = nil,
        errors: FileHandle? = nil
    ) throws {
        let executable = URL(fileURLWithPath: path)
        let run = "\(home)/\(executable.lastPathComponent)-\(UUID().uuidString)"
        (outputPath, errorsPath) = ("\(run).out", "\(run).err")
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ["STORED_SETTINGS_HOME": home].merging(variables) { $1 }
        process.standardInput = input
        process.standardOutput = try output ?? Self.newFile(at: outputPath)
        process.standardError = try errors ?? Self.newFile(at: errorsPath)
        try process.run()
    }

    /// The lines of the standard output so far.
    var lines: [String] {
        get throws { try outputPath.fileContents.split(separator: "\n").map(String.init) }
    }

    /// The standard error so far.
    var errors: String {
        get throws { try errorsPath.fileContents }
    }

    /// Waits for the program to exit and returns its exit code; ends it and fails the test after a time limit.
    func exitCode(sourceLocation: SourceLocation = #_sourceLocation) async -> Int32 {
        await eventually("the program ends", sourceLocation: sourceLocation) { !process.isRunning }
        end()
        return process.terminationStatus
    }

    /// Whether a signal has ended the program.
    var isEndedBySignal: Bool { process.terminationReason == .uncaughtSignal }

    var processIdentifier: pid_t { process.processIdentifier }

    /// Ends the program if it is running.
    func end() {
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
    }

    private static func newFile(at path: String) throws -> FileHandle {
        try Data().write(to: URL(fileURLWithPath: path))
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    /// The program beside the test bundle, where the build puts both.
    private static func executable(named name: String) -> URL? {
        let bundles = Bundle.allBundles.map(\.bundleURL).filter { $0.pathExtension == "xctest" }
        return (bundles.map { $0.deletingLastPathComponent() } + [Bundle.main.bundleURL])
            .map { $0.appendingPathComponent(name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
}
