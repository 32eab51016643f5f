// SPDX-License-Identifier: Apache-2.0

/// A subcommand: its arguments, its help and its behavior.
///
/// The help, the documentation and the completion scripts are generated from the definitions in ``all``.
struct CommandDefinition: Sendable {
    let name: String
    /// The operands as the help shows them, one element for each form of the command.
    var forms = [""]
    /// What the command does, in one sentence without a period.
    let summary: String
    /// Further sentences.
    var discussion = ""
    var options: [Option] = []
    /// What the operands are, for completion and for the check of their number.
    var operands = Operands.none
    let body: Body

    /// The behavior of a command.
    enum Body: Sendable {
        /// Runs on the caller's actor.
        case immediate(@Sendable (CommandInvocation) throws -> Void)
        /// Waits for other processes, or for a person.
        case suspending(@Sendable (CommandInvocation) async throws -> Void)
    }

    /// An option of a command.
    struct Option: Sendable {
        /// The name, with its dashes.
        let name: String
        /// The name of the option's value; `nil` for an option without one.
        var value: String?
        /// The possible values; empty if any string is possible.
        var choices: [String] = []
        /// What the option does, in one sentence without a period.
        let summary: String
    }

    /// The operands that a command accepts.
    enum Operands: Sendable {
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
    static let json = Self(name: "--json", summary: "Print JSON")
    static let reveal = Self(name: "--reveal", summary: "Include the values of secrets")
    static let suite = Self(name: "--suite", value: "NAME", summary: "Use only the settings of one suite")
    static let help = Self(name: "--help", summary: "Print this help")
}

extension CommandDefinition {
    /// The command with a name.
    static func named(_ name: String) throws -> CommandDefinition {
        if let command = all.first(where: { $0.name == name }) { return command }
        let names = all.map(\.name)
        let fix =
            Similarity.best(for: name, among: names).map { "Did you mean '\($0)'?" }
            ?? "The commands are \(names.joined(separator: ", "))"
        throw CommandFailure.usage("there is no command '\(name)'", fix: fix)
    }

    /// Whether the command is about settings, so that it can be limited to a suite.
    var usesSettings: Bool {
        switch operands {
        case .shell, .command: false
        default: true
        }
    }

    /// All options, with those that several commands have.
    var allOptions: [Option] { options + (usesSettings ? [.suite] : []) + [.help] }
}
