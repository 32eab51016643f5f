// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A command has no code for a setting".

public import StoredSettings

/// A command that shows and changes all settings of a catalog, for the people who operate a program.
///
/// ```swift
/// @main struct Tool {
///     static func main() async {
///         if let code = await SettingsCommand(SettingsCatalog(ToolSettings())).runIfNamed() { exit(code) }
///         print("\(ToolSettings().port)")
///     }
/// }
/// ```
///
/// With that, `tool config` has the subcommands `list`, `get`, `set`, `unset`, `explain`, `watch`, `validate`, `path`, `schema`,
/// `sample`, `export`, `import`, `edit`, `completion` and `help`: see <doc:ConfigurationCommand>.
///
/// Values go to standard output, and messages to standard error. No output contains the value of a setting with the trait
/// `SettingTraits.secret`, unless the option `--reveal` is given. Creating a command takes no time.
public struct SettingsCommand: Sendable {
    private let settings: CommandSettings
    private let program: CommandProgram
    private let console: CommandConsole

    /// Creates a command.
    ///
    /// - Parameters:
    ///   - catalog: The settings.
    ///   - name: The name of the command, as people type it after the name of the program.
    ///   - program: The name of the program in help, messages and completion scripts; `nil` for that of the executable. Give
    ///     it if people start the program by another name.
    public init(_ catalog: SettingsCatalog, name: String = "config", program: String? = nil) {
        self.init(catalog, name: name, program: program, console: .process)
    }

    /// Creates a command that writes to closures instead of the streams of the process, so that a program can test what it prints.
    ///
    /// It is run as with a pipe as output, without input, and without the variables of the process.
    ///
    /// - Parameters:
    ///   - catalog: The settings.
    ///   - name: The name of the command, as people type it after the name of the program.
    ///   - program: The name of the program in help, messages and completion scripts.
    ///   - output: Receives what would be written to standard output, with line breaks.
    ///   - errors: Receives the messages for standard error, each with a line break.
    public init(
        _ catalog: SettingsCatalog,
        name: String = "config",
        program: String = "tool",
        output: @escaping @Sendable (String) -> Void,
        errors: @escaping @Sendable (String) -> Void
    ) {
        let console = CommandConsole(write: output, writeError: errors)
        self.init(catalog, name: name, program: program, console: console)
    }

    package init(
        _ catalog: SettingsCatalog,
        name: String = "config",
        program: String? = nil,
        console: CommandConsole
    ) {
        let program = CommandProgram(executable: program ?? console.program, name: name)
        self.init(CommandSettings(catalog), program, console)
    }

    /// Creates a command.
    ///
    /// - Parameters:
    ///   - settings: The settings.
    ///   - program: The words before a subcommand, and all subcommands.
    ///   - console: The streams and the environment.
    package init(_ settings: CommandSettings, _ program: CommandProgram, _ console: CommandConsole) {
        (self.settings, self.program, self.console) = (settings, program, console)
    }

    /// Runs the subcommand that some arguments name.
    ///
    /// It returns when the subcommand has ended, and does not end the process. A read runs on the actor of the caller. A
    /// write suspends the caller while it waits for other processes. `watch` ends when the task is canceled.
    ///
    /// - Parameters:
    ///   - arguments: The arguments after the name of the command, such as `["get", "port"]`.
    ///   - isolation: The actor of the caller.
    /// - Returns: The exit code for the process: 0 on success, 1 if the value to show is `nil`, and otherwise a code of
    ///   `sysexits.h`: 64 for wrong arguments, 65 for a value that a setting rejects, 78 for settings with problems.
    public func run(_ arguments: [String], isolation: isolated (any Actor)? = #isolation) async -> Int32 {
        do {
            let invocation = try CommandInvocation(arguments, settings: settings, program: program, console: console)
            guard !invocation.has(.help) else {
                try console.show(lines: CommandHelp(program).lines(of: invocation.command))
                return CommandExit.success
            }
            switch invocation.command.body {
            case .immediate(let body): try body(invocation)
            case .suspending(let body): try await body(invocation)
            }
            return CommandExit.success
        } catch {
            let failure = CommandFailure(error)
            let isChange = arguments.first.map(CommandDefinition.namesOfChanges.contains) ?? false
            for message in failure.messages(ofChange: isChange) { console.show(message: "\(program): \(message)") }
            return failure.code
        }
    }

    /// Returns the words to which a word can be completed, for a program with a completion of its own.
    ///
    /// ```swift
    /// let command = SettingsCommand(SettingsCatalog(ToolSettings()))
    /// print(command.completions(of: "val", after: []))     // ["validate"]
    /// ```
    ///
    /// They are those of the completion scripts: subcommands, options, keys, and the values of enums and Booleans. The names of
    /// files are not among them. Nothing is read from a store.
    ///
    /// - Parameters:
    ///   - word: The beginning of the word.
    ///   - arguments: The arguments between the name of the command and the word.
    /// - Returns: The words, in the order of the help and of the catalog.
    public func completions(of word: String, after arguments: [String]) -> [String] {
        CompletionWords(program, settings).words(after: arguments, isOption: word.hasPrefix("-"))
            .filter { $0.hasPrefix(word) }
    }

    /// Runs the subcommand that the process's arguments name, if the first argument is the name of this command.
    ///
    /// - Parameters:
    ///   - arguments: The arguments of the process, with the name of the program.
    ///   - isolation: The actor of the caller.
    /// - Returns: The exit code for the process, as ``run(_:isolation:)`` returns it; `nil` if the arguments do not name this
    ///   command. If the system reports no arguments, as Linux without `/proc`, an error is written to standard error.
    public func runIfNamed(
        _ arguments: [String] = CommandLine.arguments,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Int32? {
        if arguments.isEmpty { StandardErrorReporter.shared.report(.unknownArguments) }
        guard arguments.dropFirst().first == program.name else { return nil }
        return await run(Array(arguments.dropFirst(2)), isolation: isolation)
    }
}
