// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Prints how fast the library is, each figure beside a floor that was measured in the same run.
@main
struct Benchmarks {
    static func main() async {
        // First of all: Foundation looks where its files go when it is used first.
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            if arguments.first == Child.flag { return try Child.run(Array(arguments.dropFirst())) }
            try await run(try Options(arguments))
        } catch let error as UsageError {
            Console.tell("Benchmarks: \(error.message)")
            exit(64)
        } catch {
            Console.tell("Benchmarks: \(error)")
            exit(1)
        }
    }

    private static func run(_ options: Options) async throws {
        if options.isHelpWanted { return print(Options.help) }
        guard !isDebugBuild else {
            throw UsageError("this is a debug build, whose figures mean nothing: swift run -c release Benchmarks")
        }
        let rows = Rows.all.filter(options.selects)
        guard !rows.isEmpty else { throw UsageError("no row's name contains what --filter asks for; see --help") }

        let workspace = try Workspace()
        let interruption = Interruption(removing: workspace.directory)
        let outcome = await Result.of { try await perform(rows, options, workspace) }
        try workspace.remove()
        interruption.cancel()
        guard try outcome.get() else { exit(1) }
    }

    /// - Returns: Whether every row could be measured.
    private static func perform(_ rows: [Row], _ options: Options, _ workspace: Workspace) async throws -> Bool {
        if let count = options.count {
            for row in rows { try await row.run(count, in: workspace) }
            return true
        }
        var report = Report(machine: Machine(workspace))
        let measurer = Measurer(options.effort)
        for (index, row) in rows.enumerated() {
            Console.showProgress("\(index + 1)/\(rows.count) \(row.name)")
            report.rows.append(await row.measure(with: measurer, in: workspace))
        }
        Console.showProgress("")
        report.machine.noteEnd()
        print(options.isJSON ? try report.json() : report.table())
        return report.rows.allSatisfy { $0.failure == nil }
    }

    /// Whether assertions are checked, as they are where nothing is optimised.
    private static var isDebugBuild: Bool {
        var isDebugBuild = false
        assert(
            {
                isDebugBuild = true
                return true
            }()
        )
        return isDebugBuild
    }
}

extension Result where Failure == any Error {
    fileprivate static func of(_ body: () async throws -> Success) async -> Self {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
