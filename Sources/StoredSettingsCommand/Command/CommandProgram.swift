// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The words that people type before a subcommand, and the subcommands that there are.
package struct CommandProgram: Sendable, CustomStringConvertible {
    /// The name of the executable, such as `tool`.
    let executable: String
    /// The word after it, such as `config`.
    let name: String
    /// Paragraphs at the start of the help.
    let introduction: [String]
    /// All commands, in the order of the help.
    let commands: [CommandDefinition]
    let exitCodes: [(code: Int32, meaning: String)]
    let completion: Completion

    /// What a shell completes before the name of a command, and where it finds keys.
    package enum Completion: Sendable {
        /// The word is the name of a command, and the keys are those of its settings.
        case name
        /// The word is one of those that the executable prints for some arguments. For this word and further arguments, it
        /// prints the keys.
        case printed(words: [String], keys: [String])
    }

    /// Creates the words before the subcommands of a ``SettingsCommand``.
    init(executable: String, name: String) {
        self.init(
            executable: executable,
            name: name,
            introduction: ["Shows and changes the settings of \(executable)."],
            commands: CommandDefinition.all,
            exitCodes: CommandExit.meanings,
            completion: .name
        )
    }

    package init(
        executable: String,
        name: String,
        introduction: [String],
        commands: [CommandDefinition],
        exitCodes: [(code: Int32, meaning: String)],
        completion: Completion
    ) {
        self.executable = executable
        self.name = name
        self.introduction = introduction
        self.commands = commands
        self.exitCodes = exitCodes
        self.completion = completion
    }

    package var description: String { name.isEmpty ? executable : "\(executable) \(name)" }

    /// Returns the command with a name.
    func command(named name: String) throws -> CommandDefinition {
        if let command = commands.first(where: { $0.name == name }) { return command }
        let names = commands.map(\.name)
        let fix =
            Similarity.best(for: name, among: names).map { "Did you mean '\($0)'?" }
            ?? "The commands are \(names.joined(separator: ", "))"
        throw CommandFailure.usage("there is no command '\(name)'", fix: fix)
    }
}
