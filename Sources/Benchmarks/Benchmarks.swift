// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Prints the speed of the library, each result beside a floor that was measured in the same run.
///
/// The program creates a directory, starts itself again to measure there, and removes the directory. So nothing is
/// left, however the measuring process ends.
@main
struct Benchmarks {
    static func main() {
        Interruption.allow()
        // The main function is not asynchronous, because that would end the main thread, which instruction counters do
        // not survive. The task is detached, because it would wait for this thread otherwise.
        let end = DispatchSemaphore(value: 0)
        Task.detached {
            await run()
            end.signal()
        }
        end.wait()
    }

    private static func run() async {
        let arguments = CommandLine.arguments.dropFirst()
        do {
            switch arguments.first {
            case Child.flag: try Child.run(Array(arguments.dropFirst()))
            case ShortProcess.flag: try ShortProcess.run(Array(arguments.dropFirst()))
            case Crowd.flag: try Crowd.run(Array(arguments.dropFirst()))
            case Worker.flag: try await Worker.run(Array(arguments.dropFirst()))
            default: try await start(Array(arguments))
            }
        } catch let error as UsageError {
            Console.printError("Benchmarks: \(error.message)")
            exit(64)
        } catch {
            Console.printError("Benchmarks: \(error)")
            exit(1)
        }
    }

    private static func start(_ arguments: [String]) async throws {
        let options = try Options(arguments)
        if options.isHelpWanted { return print(Options.help) }
        guard !isDebugBuild else {
            throw UsageError("a debug build gives meaningless results; use: swift run -c release Benchmarks")
        }
        guard !options.rows.isEmpty else { throw UsageError("no row matches --filter; see --help") }
        if let count = options.count { return try await Worker.run(options.rows, count: count) }
        exit(try Worker.start(arguments))
    }

    /// Whether assertions are checked, as in builds without optimization.
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

/// All rows, in the order in which they are printed.
enum Rows {
    static let all =
        reads + making + sets + codable + opening + checkpoints + waking + subscribers + memory + userDefaults

    private static let reads = scalarReads + [coherentRead] + threadedReads + textReads + threadedTextReads
}
