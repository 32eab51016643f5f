// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "One set of commands works with and without declarations".

import StoredSettings
import StoredSettingsCommand

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// `stored-settings SUITE COMMAND …`: shows, changes and checks the settings of any program, without that program.
@main
struct StoredSettingsTool {
    static func main() async {
        let tool = StoredSettingsTool(console: .process)
        let arguments = SystemCalls.arguments()
        if arguments == nil { StandardErrorReporter.shared.report(.unknownArguments) }
        exit(await tool.run(arguments ?? []))
    }

    private let console: CommandConsole
    /// The name of the executable in help and messages, wherever it is installed.
    private static let name = "stored-settings"

    /// Runs a command, and returns the exit code of the process.
    private func run(_ arguments: [String]) async -> Int32 {
        var rest = arguments[...]
        guard let first = rest.first, !Self.isGlobal(first) else {
            let settings = SuiteKeys(suite: .inMemory())
            return await SettingsCommand(CommandSettings(settings), program(for: nil), console).run(arguments)
        }
        do {
            let options = try FleetPlace.Options(removedFrom: &rest)
            // A suite can have the name of a command.
            let isMarked = rest.first == "--"
            if isMarked { rest.removeFirst() }
            guard let word = rest.popFirst() else {
                throw CommandFailure.usage("the suite is missing", fix: "Add its name, or the path of its file")
            }
            guard !word.hasPrefix("-") || isMarked else {
                throw CommandFailure.usage("there is no option \(word)", fix: "See '\(Self.name) help'")
            }
            let place: any ToolPlace =
                try options.servers.isEmpty ? SuitePlace(word) : FleetPlace(word, options)
            let settings = SuiteKeys(suite: place.suite)
            return await SettingsCommand(CommandSettings(settings), program(for: place), console).run(Array(rest))
        } catch {
            let failure = CommandFailure(error)
            for message in failure.messages { console.show(message: "\(Self.name): \(message)") }
            return failure.code
        }
    }

    /// Whether a first argument is a command that is not about one suite.
    private static func isGlobal(_ word: String) -> Bool {
        ["-h", "--help"].contains(word) || ToolCommands.all(for: nil).contains { $0.isGlobal && $0.name == word }
    }

    private func program(for place: (any ToolPlace)?) -> CommandProgram {
        CommandProgram(
            executable: Self.name,
            name: place?.word ?? "SUITE",
            introduction: ToolCommands.introduction,
            commands: ToolCommands.all(for: place),
            exitCodes: ToolCommands.exitCodes,
            completion: .printed(words: ["suites"], keys: ["list", "--keys"])
        )
    }
}
