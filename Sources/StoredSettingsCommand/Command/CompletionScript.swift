// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension CommandInvocation {
    /// Prints a completion script.
    package func complete() throws {
        let shells = ["bash": BashCompletion.lines, "zsh": ZshCompletion.lines, "fish": FishCompletion.lines]
        guard let lines = shells[operands[0]] else {
            throw CommandFailure.usage(
                "there is no completion for '\(operands[0])'",
                fix: "Use one of \(shells.keys.sorted().joined(separator: ", "))"
            )
        }
        try console.show(lines: lines(CompletionWords(program, settings)))
    }
}

/// The words that a shell completes.
struct CompletionWords {
    let program: CommandProgram
    /// The keys of all settings and of members of structures, each once.
    let keys: [String]
    /// The values of the settings that have a list of them.
    let values: [(key: String, values: [String])]

    init(_ program: CommandProgram, _ settings: CommandSettings) {
        self.program = program
        let all = settings.declared.flatMap { [$0.key] + $0.base.memberNames }
        keys = all.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        values = keys.compactMap { key in
            guard let setting = settings.declared.first(where: { $0.key == key }) else { return nil }
            let isBoolean = setting.base.valueType is Bool.Type || setting.base.valueType is Bool?.Type
            return (setting.choices ?? (isBoolean ? ["true", "false"] : nil)).map { (key, $0) }
        }
    }

    /// The words that the script completes.
    var title: String {
        switch program.completion {
        case .name: "\(program.executable) \(program.name)"
        case .printed: program.executable
        }
    }

    /// A name for the functions of a script.
    var function: String {
        "_" + String(title.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// Whether the first word is the name of a command.
    var isNamed: Bool {
        if case .name = program.completion { true } else { false }
    }

    /// The names of all commands.
    var commands: [String] { program.commands.map(\.name) }

    /// Returns the fixed words after a command; `nil` for keys and files.
    func words(after command: CommandDefinition) -> [String]? {
        switch command.operands {
        case .shell: command.forms
        case .command: program.commands.map(\.name)
        case .none: []
        case .key, .keys, .someKeys, .values, .file: nil
        }
    }

    /// Returns the words that can follow some arguments.
    func words(after arguments: [String], isOption: Bool) -> [String] {
        guard let name = arguments.first else { return commands }
        guard let command = program.commands.first(where: { $0.name == name }) else { return [] }
        if isOption { return command.allOptions.map(\.name) }
        return switch command.operands {
        case .key where arguments.count > 1, .file: []
        case .values where arguments.count > 1: values.first { $0.key == arguments[1] }?.values ?? []
        case .key, .keys, .someKeys, .values: keys
        case .none, .shell, .command: words(after: command) ?? []
        }
    }

    /// A string as one word of a shell.
    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }

    /// Strings as words of a shell.
    static func quoted(_ texts: [String]) -> String {
        texts.map { quoted($0) }.joined(separator: " ")
    }
}

/// The completion for bash.
private enum BashCompletion {
    static func lines(_ words: CompletionWords) -> [String] {
        let (function, quoted) = (words.function, { (texts: [String]) in CompletionWords.quoted(texts) })
        let valueCases = words.values.map { "        \(quoted([$0.key]))) words=(\(quoted($0.values))) ;;" }
        let name = quoted([words.program.name])
        let (guardLine, firstWords) =
            switch words.program.completion {
            case .name:
                ("[[ ${COMP_WORDS[1]} == \(name) || $COMP_CWORD -eq 1 ]] || return 0", "words=(\(name))")
            case .printed(let arguments, _):
                // Nothing is offered for a path, so that bash offers the names of files.
                (
                    "[[ $COMP_CWORD -ne 1 || $current != */* ]] || return 0",
                    reading(quoted([words.program.executable] + arguments))
                )
            }
        return [
            "# Completion of '\(words.title)' for bash.",
            "\(function)() {",
            #"    local current="${COMP_WORDS[COMP_CWORD]}" word words=()"#,
            "    COMPREPLY=()",
            "    \(guardLine)",
            "    if [[ $COMP_CWORD -eq 1 ]]; then",
            "        \(firstWords)",
            "    elif [[ $COMP_CWORD -eq 2 ]]; then",
            "        words=(\(quoted(words.commands)))",
            "    else",
            #"        case "${COMP_WORDS[2]}" in"#,
        ]
            + words.program.commands.map { "        \($0.name)) \(action(for: $0, words, quoted)) ;;" }
            + ["        esac", "    fi"]
            + [
                #"    for word in "${words[@]}"; do"#,
                #"        [[ $word != "$current"* ]] || COMPREPLY+=("$(printf '%q' "$word")")"#,
                "    done", "}",
                "\(function)_value() {", "    words=()", #"    case "$1" in"#,
            ] + valueCases + ["    esac", "}"]
            + ["complete -o default -F \(function) \(quoted([words.program.executable]))"]
    }

    /// Reads the lines that a command prints into words, without `mapfile`, which the bash of macOS lacks.
    private static func reading(_ command: String) -> String {
        #"words=(); while IFS= read -r word || [[ $word ]]; do words+=("$word"); done < <(\#(command) 2>/dev/null)"#
    }

    private static func action(
        for command: CommandDefinition,
        _ words: CompletionWords,
        _ quoted: ([String]) -> String
    ) -> String {
        let options = "if [[ $current == -* ]]; then words=(\(quoted(command.allOptions.map(\.name)))); else "
        let keys =
            switch words.program.completion {
            case .name: "words=(\(quoted(words.keys)))"
            case .printed(_, let arguments):
                reading("\(quoted([words.program.executable])) \"${COMP_WORDS[1]}\" \(quoted(arguments))")
            }
        let body =
            switch command.operands {
            case .key: "if [[ $COMP_CWORD -eq 3 ]]; then \(keys); fi"
            case .keys, .someKeys: keys
            case .values:
                "if [[ $COMP_CWORD -eq 3 ]]; then \(keys); else "
                    + "\(words.function)_value \"${COMP_WORDS[3]}\"; fi"
            // Nothing is offered, so that bash offers the names of files.
            case .file: "return 0"
            case .none, .shell, .command: "words=(\(quoted(words.words(after: command) ?? [])))"
            }
        return options + body + "; fi"
    }
}

/// The completion for zsh.
private enum ZshCompletion {
    static func lines(_ words: CompletionWords) -> [String] {
        let (function, quoted) = (words.function, { (texts: [String]) in CompletionWords.quoted(texts) })
        var lines = [
            "#compdef \(words.program.executable)",
            "# Completion of '\(words.title)' for zsh.",
            "\(function)() {",
            "    if (( CURRENT == 2 )); then",
            "        \(firstWords(words))",
            "        return",
            "    fi",
        ]
        if words.isNamed {
            lines.append("    [[ $words[2] == \(quoted([words.program.name])) ]] || { _files; return }")
        }
        lines += [
            "    if (( CURRENT == 3 )); then",
            "        compadd -- \(quoted(words.commands))",
            "        return",
            "    fi",
            "    case $words[3] in",
        ]
        for command in words.program.commands {
            let options = quoted(command.allOptions.map(\.name))
            lines += [
                "    \(command.name))",
                "        if [[ $PREFIX == -* ]]; then",
                "            compadd -- \(options)",
                "        else",
                "            \(action(for: command, words, quoted))",
                "        fi",
                "        ;;",
            ]
        }
        lines += ["    esac", "}", "\(function)_value() {", "    case $1 in"]
        lines += words.values.map { "    \(quoted([$0.key]))) compadd -- \(quoted($0.values)) ;;" }
        return lines + ["    esac", "}", "compdef \(function) \(quoted([words.program.executable]))"]
    }

    private static func action(
        for command: CommandDefinition,
        _ words: CompletionWords,
        _ quoted: ([String]) -> String
    ) -> String {
        let keys =
            switch words.program.completion {
            case .name: "compadd -- \(quoted(words.keys))"
            case .printed(_, let arguments):
                "compadd -- ${(f)\"$(\(quoted([words.program.executable])) ${(Q)words[2]} \(quoted(arguments)) 2>/dev/null)\"}"
            }
        return switch command.operands {
        case .key: "(( CURRENT == 4 )) && \(keys)"
        case .keys, .someKeys: keys
        case .values: "if (( CURRENT == 4 )); then \(keys); else \(words.function)_value \"$words[4]\"; fi"
        case .file: "_files"
        case .none, .shell, .command: "compadd -- \(quoted(words.words(after: command) ?? []))"
        }
    }

    private static func firstWords(_ words: CompletionWords) -> String {
        switch words.program.completion {
        case .name: "compadd -- \(CompletionWords.quoted([words.program.name]))"
        case .printed(let arguments, _):
            "compadd -- ${(f)\"$(\(CompletionWords.quoted([words.program.executable] + arguments)) 2>/dev/null)\"}; _files"
        }
    }
}

/// The completion for fish.
private enum FishCompletion {
    static func lines(_ words: CompletionWords) -> [String] {
        let (function, executable) = (words.function, quoted([words.program.executable]))
        let complete = "complete -c \(executable)"
        // The test that the words belong to the command, and the words that may be the first.
        let (test, first) =
            switch words.program.completion {
            case .name: ("and test $words[2] = \(quoted([words.program.name])); ", quoted([words.program.name]))
            case .printed(let arguments, _):
                ("", quoted(["(\(executable) \(quoted(arguments)) 2>/dev/null)"]))
            }
        let begin = [
            "# Completion of '\(words.title)' for fish.",
            "# The position of the current word, after the name of the program and the command.",
            "function \(function)_at",
            "    set -l words (commandline -opc)",
            "    test (count $words) -ge 2; \(test)or return 1",
            "    test (count $words) -eq (math $argv[1] + 1); or return 1",
            "    test (count $argv) -lt 2; and return 0",
            "    contains -- $words[3] $argv[2..]",
            "end",
            "function \(function)_in",
            "    set -l words (commandline -opc)",
            "    test (count $words) -ge 3; \(test)and contains -- $words[3] $argv",
            "end",
            "function \(function)_key",
            "    set -l words (commandline -opc)",
            "    test (count $words) -eq 4; \(test)and test $words[3] = set; and test $words[4] = $argv[1]",
            "end",
            "\(complete) -n 'test (count (commandline -opc)) -eq 1' -a \(first)",
        ]
        let commands = words.program.commands.map { command in
            "\(complete) -f -n '\(function)_at 1' -a \(quoted([command.name])) -d \(quoted([command.summary]))"
        }
        let operands = words.program.commands.flatMap { command -> [String] in
            let condition =
                switch command.operands {
                case .key, .values, .shell, .command: "\(function)_at 2 \(command.name)"
                case .keys, .someKeys, .file, .none: "\(function)_in \(command.name)"
                }
            switch command.operands {
            case .file: return ["\(complete) -F -n '\(condition)'"]
            case .none: return ["\(complete) -f -n '\(condition)'"]
            case .shell, .command:
                return (words.words(after: command) ?? [])
                    .map { "\(complete) -f -n '\(condition)' -a \(quoted([$0]))" }
            case .key, .keys, .someKeys, .values:
                if case .printed(_, let arguments) = words.program.completion {
                    let keys = "(\(executable) (commandline -opc)[2] \(quoted(arguments)) 2>/dev/null)"
                    return ["\(complete) -f -n '\(condition)' -a \(quoted([keys]))"]
                }
                // `-a` splits its argument and expands it again, so that each key is quoted twice.
                return words.keys.map { "\(complete) -f -n '\(condition)' -a \(quoted([quoted([$0])]))" }
            }
        }
        let options = words.program.commands.flatMap { command in
            command.allOptions.map { option in
                let choices = quoted([option.choices.joined(separator: " ")])
                return "\(complete) -n '\(function)_in \(command.name)' -l \(option.name.dropFirst(2))"
                    + (option.value == nil ? "" : " -x") + (option.choices.isEmpty ? "" : " -a \(choices)")
                    + " -d \(quoted([option.summary]))"
            }
        }
        let values = words.values.map { key, values in
            let condition = quoted(["\(function)_key " + quoted([key])])
            let list = quoted([values.map { quoted([$0]) }.joined(separator: " ")])
            return "\(complete) -f -n \(condition) -a \(list)"
        }
        return begin + commands + operands + options + values
    }

    /// Strings as words of fish, in which a backslash escapes the quotation mark and itself.
    private static func quoted(_ texts: [String]) -> String {
        texts.map { text in
            "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "'"
        }
        .joined(separator: " ")
    }
}
