// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// A subcommand: its arguments, its help and its behavior.
///
/// The help, the documentation and the completion scripts are generated from the definitions of a ``CommandProgram``.
package struct CommandDefinition: Sendable {
    package let name: String
    /// The operands as the help shows them, one element for each form of the command.
    var forms = [""]
    /// What the command does, in one sentence without a period.
    let summary: String
    /// Further sentences, in which ``programWord`` stands for the words before the name of the command.
    var discussion = ""
    var options: [Option] = []
    /// What the operands are, for completion and for the check of their number.
    var operands = Operands.none
    /// Whether the command is not about the settings that the word before it names, so that it is typed without that word.
    package var isGlobal = false
    let body: Body

    package init(
        name: String,
        forms: [String] = [""],
        summary: String,
        discussion: String = "",
        options: [Option] = [],
        operands: Operands = .none,
        isGlobal: Bool = false,
        body: Body
    ) {
        self.name = name
        self.forms = forms
        self.summary = summary
        self.discussion = discussion
        self.options = options
        self.operands = operands
        self.isGlobal = isGlobal
        self.body = body
    }

    /// The behavior of a command.
    package enum Body: Sendable {
        /// Runs on the caller's actor.
        case immediate(@Sendable (CommandInvocation) throws -> Void)
        /// Waits for other processes, or for a person.
        case suspending(@Sendable (CommandInvocation) async throws -> Void)
    }

    /// An option of a command.
    package struct Option: Sendable {
        /// The name, with its dashes.
        package let name: String
        /// The name of the option's value; `nil` for an option without one.
        var value: String?
        /// The possible values; empty if any string is possible.
        var choices: [String] = []
        /// What the option does, in one sentence without a period.
        let summary: String

        package init(name: String, value: String? = nil, choices: [String] = [], summary: String) {
            self.name = name
            self.value = value
            self.choices = choices
            self.summary = summary
        }
    }

    /// The operands that a command accepts.
    package enum Operands: Sendable {
        case none
        /// The key of one setting.
        case key
        /// The keys of any number of settings.
        case keys
        /// The keys of at least one setting.
        case someKeys
        /// A key and a value, or any number of `key=value`.
        case values
        case file
        case shell
        case command

        /// The valid numbers of operands.
        var count: ClosedRange<Int> {
            switch self {
            case .none: 0...0
            case .key, .file, .shell: 1...1
            case .keys: 0...Int.max
            case .someKeys, .values: 1...Int.max
            case .command: 0...1
            }
        }
    }
}

extension CommandDefinition.Option {
    package static let json = Self(name: "--json", summary: "Print JSON")
    static let reveal = Self(name: "--reveal", summary: "Include the values of secrets")
    static let suite = Self(name: "--suite", value: "NAME", summary: "Use only the settings of one suite")
    static let help = Self(name: "--help", summary: "Print this help")
}

extension CommandDefinition {
    /// A character of a discussion that stands for the words before the name of the command.
    static let programWord: Character = "\u{FFFC}"

    /// All options, with the one that every command has.
    var allOptions: [Option] { options + [.help] }

    /// The names of the commands that change values.
    static let namesOfChanges = ["set", "unset", "import", "edit"]

    /// The same command for one or all of several suites.
    var limitedToSuite: CommandDefinition {
        var command = self
        command.options.append(.suite)
        return command
    }
}
