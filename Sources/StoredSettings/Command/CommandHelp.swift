// SPDX-License-Identifier: Apache-2.0

/// The help of a command and of its subcommands, generated from their definitions.
struct CommandHelp {
    let program: CommandProgram

    init(_ program: CommandProgram) {
        self.program = program
    }

    /// The line that shows how a command is typed.
    func line(_ command: CommandDefinition, _ form: String) -> String {
        ["\(program)", command.name, form].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// The lines of the help of all commands.
    var overview: [String] {
        ["Usage: \(program) COMMAND [ARGUMENT…]", "", "Shows and changes the settings of \(program.executable).", ""]
            + ["Commands:"] + table(CommandDefinition.all.map { ($0.name, $0.summary) })
            + ["", "Exit codes:"] + table(CommandExit.meanings.map { ("\($0.code)", $0.meaning) })
            + ["", "'\(program) help COMMAND' has more on a command."]
    }

    /// The lines of the help of one command.
    func lines(of command: CommandDefinition) -> [String] {
        let forms = command.forms.enumerated()
            .map { ($0 == 0 ? "Usage: " : "       ") + line(command, $1) + " [OPTION…]" }
        return forms + ["", command.summary + "."]
            + (command.discussion.isEmpty ? [] : [""] + wrapped(command.discussion))
            + ["", "Options:"] + table(optionRows(of: command))
    }

    private func optionRows(of command: CommandDefinition) -> [(String, String)] {
        command.allOptions.map { option in
            let value = option.choices.isEmpty ? option.value : option.choices.joined(separator: "|")
            let name = option.name == "--help" ? "-h, --help" : option.name
            return ([name, value].compactMap { $0 }.joined(separator: " "), option.summary)
        }
    }

    /// The width of paragraphs.
    private static let width = 80

    private func wrapped(_ text: String) -> [String] {
        text.split(separator: " ")
            .reduce(into: []) { lines, word in
                if let last = lines.last, last.count + 1 + word.count <= Self.width {
                    lines[lines.count - 1] += " " + word
                } else {
                    lines.append(String(word))
                }
            }
    }

    private func table(_ rows: [(String, String)]) -> [String] {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { "  " + TerminalText.padded($0.0, to: width) + "  " + $0.1 }
    }

    /// The help of all commands as a page of Markdown.
    var markdown: [String] {
        ["# \(program)", "", "Shows and changes the settings of \(program.executable).", ""]
            + ["| command | what it does |", "| --- | --- |"]
            + CommandDefinition.all.map { "| [`\($0.name)`](#\($0.name)) | \($0.summary) |" }
            + ["", "## Exit codes", "", "| code | meaning |", "| --- | --- |"]
            + CommandExit.meanings.map { "| \($0.code) | \($0.meaning) |" }
            + CommandDefinition.all.flatMap(section)
    }

    private func section(of command: CommandDefinition) -> [String] {
        ["", "## \(command.name)", "", "```"] + command.forms.map { line(command, $0) + " [OPTION…]" } + ["```", ""]
            + [command.summary + "."] + (command.discussion.isEmpty ? [] : ["", command.discussion])
            + ["", "| option | what it does |", "| --- | --- |"]
            + optionRows(of: command)
            .map { option, summary in
                "| `\(option.split(separator: "|").joined(separator: "\\|"))` | \(summary) |"
            }
    }
}
