// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The measuring process, with its own home directory.
///
/// Foundation determines the home directory before the first line of a program runs, so this has to be another process.
enum Worker {
    static let flag = "--worker"

    /// Starts the process, waits for its end, and removes its files.
    ///
    /// - Returns: The exit code.
    static func start(_ arguments: [String]) throws -> CInt {
        let directory = try Workspace.makeDirectory()
        defer { Workspace.remove(directory) }
        let process = try Process.thisProgram([flag, directory] + arguments)
        var environment = ProcessInfo.processInfo.environment
        for name in ["HOME", "CFFIXED_USER_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "STORED_SETTINGS_HOME"] {
            environment[name] = directory
        }
        process.environment = environment
        try process.run()
        Interruption.passOn(to: process.processIdentifier)
        process.waitUntilExit()
        Interruption.end()
        return process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
    }

    /// Runs rows in this process without measuring, so that a tool can count its instructions.
    ///
    /// Rows with `UserDefaults` fail unless the environment of this process redirects its files.
    static func run(_ rows: [Row], count: Int) async throws {
        let directory = try Workspace.makeDirectory()
        defer { Workspace.remove(directory) }
        let workspace = Workspace(directory)
        for row in rows { try await row.run(count, in: workspace) }
    }

    /// The main function of the measuring process.
    static func run(_ arguments: [String]) async throws {
        guard let directory = arguments.first else { throw UsageError("\(flag) is for internal use") }
        let options = try Options(Array(arguments.dropFirst()))
        let workspace = Workspace(directory)
        var report = Report(machine: Machine(workspace))
        let measurer = Measurer(options.effort)
        for (index, row) in options.rows.enumerated() {
            Console.showProgress("\(index + 1)/\(options.rows.count) \(row.name)")
            report.rows.append(await row.measure(with: measurer, in: workspace))
        }
        Console.showProgress("")
        report.machine.recordEnd()
        if options.isChart {
            print(Chart(report).svg())
        } else {
            print(options.isJSON ? try report.json() : report.table())
        }
        guard report.rows.allSatisfy({ $0.failure == nil }) else { exit(1) }
    }
}

extension Process {
    /// Another process of this program.
    static func thisProgram(_ arguments: [String]) throws -> Process {
        guard let program = Bundle.main.executablePath else { throw Failure("the path of this program is unknown") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        return process
    }
}
