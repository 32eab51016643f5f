// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The help of a command and of its subcommands, generated from their definitions.
struct CommandHelp {
    let program: CommandProgram

    init(_ program: CommandProgram) {
        self.program = program
    }

    /// The line that shows how a command is typed.
    func line(_ command: CommandDefinition, _ form: String) -> String {
        [command.isGlobal ? program.executable : "\(program)", command.name, form].filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    /// The lines of the help of all commands.
    var overview: [String] {
        ["Usage: \(program) COMMAND [ARGUMENT…]", ""] + program.introduction.flatMap { wrapped($0) + [""] }
            + ["Commands:"] + table(program.commands.map { ($0.name, $0.summary) })
            + ["", "Exit codes:"] + table(program.exitCodes.map { ("\($0.code)", $0.meaning) })
            + ["", "'\(helpLine)' has more on a command."]
    }

    private var helpLine: String {
        program.commands.first { $0.name == "help" }.map { line($0, "COMMAND") } ?? "\(program)"
    }

    /// The lines of the help of one command.
    func lines(of command: CommandDefinition) -> [String] {
        let forms = command.forms.enumerated()
            .map { ($0 == 0 ? "Usage: " : "       ") + line(command, $1) + " [OPTION…]" }
        return forms + ["", command.summary + "."]
            + (command.discussion.isEmpty ? [] : [""] + wrapped(discussion(of: command)))
            + ["", "Options:"] + table(optionRows(of: command))
    }

    private func discussion(of command: CommandDefinition) -> String {
        let parts = command.discussion.split(separator: CommandDefinition.programWord, omittingEmptySubsequences: false)
        return parts.joined(separator: "\(program)")
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
        ["# \(program)", ""] + program.introduction.flatMap { [$0, ""] }
            + ["| command | what it does |", "| --- | --- |"]
            + program.commands.map { "| [`\($0.name)`](#\($0.name)) | \($0.summary) |" }
            + ["", "## Exit codes", "", "| code | meaning |", "| --- | --- |"]
            + program.exitCodes.map { "| \($0.code) | \($0.meaning) |" }
            + program.commands.flatMap(section)
    }

    private func section(of command: CommandDefinition) -> [String] {
        ["", "## \(command.name)", "", "```"] + command.forms.map { line(command, $0) + " [OPTION…]" } + ["```", ""]
            + [command.summary + "."] + (command.discussion.isEmpty ? [] : ["", discussion(of: command)])
            + ["", "| option | what it does |", "| --- | --- |"]
            + optionRows(of: command)
            .map { option, summary in
                "| `\(option.split(separator: "|").joined(separator: "\\|"))` | \(summary) |"
            }
    }
}
