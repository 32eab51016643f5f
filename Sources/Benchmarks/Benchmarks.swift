// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Prints how fast the library is, each figure beside a floor that was measured in the same run.
///
/// The program that is started makes a directory, starts itself once more to measure in it, and removes it, so that
/// nothing is left however the measuring ends.
@main
struct Benchmarks {
    static func main() {
        Interruption.allow()
        // Not an asynchronous main: that ends the main thread, which instruction counters do not survive. And detached,
        // since the task would wait for this thread otherwise.
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
            case Worker.flag: try await Worker.run(Array(arguments.dropFirst()))
            default: try await start(Array(arguments))
            }
        } catch let error as UsageError {
            Console.tell("Benchmarks: \(error.message)")
            exit(64)
        } catch {
            Console.tell("Benchmarks: \(error)")
            exit(1)
        }
    }

    private static func start(_ arguments: [String]) async throws {
        let options = try Options(arguments)
        if options.isHelpWanted { return print(Options.help) }
        guard !isDebugBuild else {
            throw UsageError("this is a debug build, whose figures mean nothing: swift run -c release Benchmarks")
        }
        guard !options.rows.isEmpty else { throw UsageError("no row has what --filter asks for; see --help") }
        if let count = options.count { return try await Worker.run(options.rows, count: count) }
        exit(try Worker.start(arguments))
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
