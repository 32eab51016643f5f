// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Kills, races and loads the file store for longer than a test may take, and prints the findings.
///
/// The program starts itself as the processes that share a file. They record started and finished changes in a ledger
/// that outlives them, and the stored values are checked against it.
@main
struct Endurance {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        do {
            if arguments.first == Child.flag { return try Child.run(Array(arguments.dropFirst())) }
            let options = try Options(Array(arguments))
            if options.isHelpWanted { return print(Options.help) }
            let report = try run(options)
            print(report.description)
            exit(report.isClean ? 0 : 1)
        } catch let error as UsageError {
            Console.printError("endurance: \(error.message)")
            exit(64)
        } catch {
            Console.printError("endurance: \(error)")
            exit(1)
        }
    }

    private static func run(_ options: Options) throws -> Report {
        Interruption.listen()
        let workspace = try Workspace()
        defer { workspace.remove() }
        var report = Report(seed: options.seed)
        if options.parts.contains(.kill) {
            report.kill = try Kill(rounds: options.rounds ?? 500, seed: options.seed, in: workspace).run()
        }
        if options.parts.contains(.load) {
            report.load = try Load(seconds: options.seconds, seed: options.seed, in: workspace).run()
        }
        if options.parts.contains(.reads) {
            report.reads = try Reads(seconds: options.seconds, in: workspace).run()
        }
        #if os(Linux)
        if options.parts.contains(.steps) {
            report.steps = try Steps(rounds: options.rounds ?? 2_000, seed: options.seed, in: workspace).run()
        }
        #endif
        report.findings = try workspace.findings.all()
        return report
    }
}
