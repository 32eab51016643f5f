// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The arguments of one run of a command, and what it works on.
package struct CommandInvocation: Sendable {
    let command: CommandDefinition
    package let operands: [String]
    package var settings: CommandSettings
    package let program: CommandProgram
    package let console: CommandConsole
    /// The values of the options that are given; empty strings for options without a value.
    private let options: [String: String]

    /// Reads arguments.
    ///
    /// - Throws: ``CommandFailure`` for arguments that make no sense.
    init(
        _ arguments: [String],
        settings: CommandSettings,
        program: CommandProgram,
        console: CommandConsole
    ) throws {
        guard let name = arguments.first else {
            for line in CommandHelp(program).overview { console.show(message: line) }
            throw CommandFailure(CommandExit.usage)
        }
        let isHelp = ["-h", "--help"].contains(name)
        command = try program.command(named: isHelp ? "help" : name)
        let parsed = try Self.parse(arguments.dropFirst(), for: command, program)
        (operands, options) = (parsed.operands, parsed.options)
        self.program = program
        self.console = console
        self.settings = try options["--suite"].map(settings.limited) ?? settings
        guard options["--help"] == nil else { return }
        let count = command.operands.count
        if operands.count < count.lowerBound { throw wrongCount("an argument is missing") }
        if operands.count > count.upperBound {
            throw wrongCount("'\(operands[count.upperBound])' is one argument too many")
        }
    }

    /// Returns whether an option without a value is given.
    package func has(_ option: CommandDefinition.Option) -> Bool { options[option.name] != nil }

    /// Returns the value of an option; `nil` if it is not given.
    package func value(of option: CommandDefinition.Option) -> String? { options[option.name] }

    /// The failure of a wrong number of operands.
    func wrongCount(_ fact: String) -> CommandFailure {
        let usage = command.forms.map { CommandHelp(program).line(command, $0) }.joined(separator: "' or '")
        return .usage(fact, fix: "Use '\(usage)'")
    }

    private static func parse(
        _ arguments: ArraySlice<String>,
        for command: CommandDefinition,
        _ program: CommandProgram
    ) throws -> (operands: [String], options: [String: String]) {
        if arguments.contains(where: \.isRepaired) {
            throw CommandFailure.usage("an argument is not text in UTF-8", fix: "Write it in UTF-8")
        }
        var operands: [String] = []
        var options: [String: String] = [:]
        var rest = arguments
        while let argument = rest.popFirst() {
            if argument == "--" {
                operands += rest
                break
            }
            guard argument.first == "-", argument != "-", !isNumber(argument) else {
                operands.append(argument)
                continue
            }
            let parts =
                argument.signs.first
                .map { [String(argument[..<$0]), String(argument[argument.utf8.index(after: $0)...])] } ?? [argument]
            let name = parts[0] == "-h" ? "--help" : parts[0]
            guard let option = command.allOptions.first(where: { $0.name == name }) else {
                throw unknownOption(name, of: command, program)
            }
            guard option.value != nil else {
                guard parts.count == 1 else { throw CommandFailure.usage("\(name) takes no value", fix: "Omit it") }
                options[name] = ""
                continue
            }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                throw CommandFailure.usage("the value of \(name) is missing", fix: "Add it after \(name)")
            }
            guard option.choices.isEmpty || option.choices.contains(value) else {
                throw CommandFailure.usage(
                    "'\(value)' is no value of \(name)",
                    fix: "Use one of \(option.choices.joined(separator: ", "))"
                )
            }
            options[name] = value
        }
        return (operands, options)
    }

    /// Whether an argument is a negative number, not an option.
    private static func isNumber(_ argument: String) -> Bool {
        argument.dropFirst().first.map { $0.isNumber || $0 == "." } ?? false
    }

    private static func unknownOption(
        _ name: String,
        of command: CommandDefinition,
        _ program: CommandProgram
    ) -> CommandFailure {
        let names = command.allOptions.map(\.name)
        let fix =
            Similarity.best(for: name, among: names).map { "Did you mean \($0)?" }
            ?? "See '\(program) help \(command.name)'; write -- before a value that begins with a dash"
        return .usage("'\(command.name)' has no option \(name)", fix: fix)
    }
}
