// SPDX-License-Identifier: Apache-2.0

extension CommandInvocation {
    /// Prints a completion script.
    func complete() throws {
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
    /// The keys of all settings, each once.
    let keys: [String]
    /// The values of the settings that have a list of them.
    let values: [(key: String, values: [String])]

    init(_ program: CommandProgram, _ settings: CommandSettings) {
        self.program = program
        keys = settings.all.reduce(into: []) { if !$0.contains($1.key) { $0.append($1.key) } }
        values = keys.compactMap { key in
            guard let setting = settings.all.first(where: { $0.key == key }) else { return nil }
            let isBoolean = setting.base.valueType is Bool.Type || setting.base.valueType is Bool?.Type
            return (setting.choices ?? (isBoolean ? ["true", "false"] : nil)).map { (key, $0) }
        }
    }

    /// A name for the functions of a script.
    var function: String {
        "_" + String("\(program)".map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// Returns the fixed words after a command; `nil` for keys and files.
    static func words(after command: CommandDefinition) -> [String]? {
        switch command.operands {
        case .shell: command.forms
        case .command: CommandDefinition.all.map(\.name)
        case .none: []
        case .key, .keys, .someKeys, .values, .file: nil
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
        return [
            "# Completion of '\(words.program)' for bash.",
            "\(function)() {",
            #"    local current="${COMP_WORDS[COMP_CWORD]}" word words=()"#,
            "    COMPREPLY=()",
            "    [[ ${COMP_WORDS[1]} == \(quoted([words.program.name])) || $COMP_CWORD -eq 1 ]] || return 0",
            "    if [[ $COMP_CWORD -eq 1 ]]; then",
            "        words=(\(quoted([words.program.name])))",
            "    elif [[ $COMP_CWORD -eq 2 ]]; then",
            "        words=(\(quoted(CommandDefinition.all.map(\.name))))",
            "    else",
            #"        case "${COMP_WORDS[2]}" in"#,
        ]
            + CommandDefinition.all.map { "        \($0.name)) \(action(for: $0, words, quoted)) ;;" }
            + ["        esac", "    fi"]
            + [
                #"    for word in "${words[@]}"; do"#,
                #"        [[ $word != "$current"* ]] || COMPREPLY+=("$(printf '%q' "$word")")"#,
                "    done", "}",
                "\(function)_value() {", "    words=()", #"    case "$1" in"#,
            ] + valueCases + ["    esac", "}"]
            + ["complete -o default -F \(function) \(quoted([words.program.executable]))"]
    }

    private static func action(
        for command: CommandDefinition,
        _ words: CompletionWords,
        _ quoted: ([String]) -> String
    ) -> String {
        let options = "if [[ $current == -* ]]; then words=(\(quoted(command.allOptions.map(\.name)))); else "
        let keys = "words=(\(quoted(words.keys)))"
        let body =
            switch command.operands {
            case .key: "if [[ $COMP_CWORD -eq 3 ]]; then \(keys); fi"
            case .keys, .someKeys: keys
            case .values:
                "if [[ $COMP_CWORD -eq 3 ]]; then \(keys); else "
                    + "\(words.function)_value \"${COMP_WORDS[3]}\"; fi"
            // Nothing is offered, so that bash offers the names of files.
            case .file: "return 0"
            case .none, .shell, .command: "words=(\(quoted(CompletionWords.words(after: command) ?? [])))"
            }
        return options + body + "; fi"
    }
}

/// The completion for zsh.
private enum ZshCompletion {
    static func lines(_ words: CompletionWords) -> [String] {
        let (function, quoted) = (words.function, { (texts: [String]) in CompletionWords.quoted(texts) })
        return [
            "#compdef \(words.program.executable)",
            "# Completion of '\(words.program)' for zsh.",
            "\(function)() {",
            "    if (( CURRENT == 2 )); then",
            "        compadd -- \(quoted([words.program.name]))",
            "        return",
            "    fi",
            "    [[ $words[2] == \(quoted([words.program.name])) ]] || { _files; return }",
            "    if (( CURRENT == 3 )); then",
            "        compadd -- \(quoted(CommandDefinition.all.map(\.name)))",
            "        return",
            "    fi",
            "    case $words[3] in",
        ]
            + CommandDefinition.all.flatMap { command in
                [
                    "    \(command.name))",
                    "        if [[ $PREFIX == -* ]]; then",
                    "            compadd -- \(quoted(command.allOptions.map(\.name)))",
                    "        else",
                    "            \(action(for: command, words, quoted))",
                    "        fi",
                    "        ;;",
                ]
            }
            + ["    esac", "}", "\(function)_value() {", "    case $1 in"]
            + words.values.map { "    \(quoted([$0.key]))) compadd -- \(quoted($0.values)) ;;" }
            + ["    esac", "}", "compdef \(function) \(quoted([words.program.executable]))"]
    }

    private static func action(
        for command: CommandDefinition,
        _ words: CompletionWords,
        _ quoted: ([String]) -> String
    ) -> String {
        let keys = "compadd -- \(quoted(words.keys))"
        return switch command.operands {
        case .key: "(( CURRENT == 4 )) && \(keys)"
        case .keys, .someKeys: keys
        case .values: "if (( CURRENT == 4 )); then \(keys); else \(words.function)_value \"$words[4]\"; fi"
        case .file: "_files"
        case .none, .shell, .command: "compadd -- \(quoted(CompletionWords.words(after: command) ?? []))"
        }
    }
}

/// The completion for fish.
private enum FishCompletion {
    static func lines(_ words: CompletionWords) -> [String] {
        let (function, name) = (words.function, quoted([words.program.name]))
        let complete = "complete -c \(quoted([words.program.executable]))"
        let begin = [
            "# Completion of '\(words.program)' for fish.",
            "# The position of the current word, after the name of the program and the command.",
            "function \(function)_at",
            "    set -l words (commandline -opc)",
            "    test (count $words) -ge 2; and test $words[2] = \(name); or return 1",
            "    test (count $words) -eq (math $argv[1] + 1); or return 1",
            "    test (count $argv) -lt 2; and return 0",
            "    contains -- $words[3] $argv[2..]",
            "end",
            "function \(function)_in",
            "    set -l words (commandline -opc)",
            "    test (count $words) -ge 3; and test $words[2] = \(name); and contains -- $words[3] $argv",
            "end",
            "function \(function)_key",
            "    set -l words (commandline -opc)",
            "    test (count $words) -eq 4; and test $words[2] = \(name); and test $words[3] = set; and test $words[4] = $argv[1]",
            "end",
            "\(complete) -n 'test (count (commandline -opc)) -eq 1' -a \(name)",
        ]
        let commands = CommandDefinition.all.map { command in
            "\(complete) -f -n '\(function)_at 1' -a \(quoted([command.name])) -d \(quoted([command.summary]))"
        }
        let operands = CommandDefinition.all.flatMap { command -> [String] in
            let condition =
                switch command.operands {
                case .key, .values, .shell, .command: "\(function)_at 2 \(command.name)"
                case .keys, .someKeys, .file, .none: "\(function)_in \(command.name)"
                }
            switch command.operands {
            case .file: return ["\(complete) -F -n '\(condition)'"]
            case .none: return ["\(complete) -f -n '\(condition)'"]
            case .shell, .command:
                return (CompletionWords.words(after: command) ?? [])
                    .map { "\(complete) -f -n '\(condition)' -a \(quoted([$0]))" }
            case .key, .keys, .someKeys, .values:
                // `-a` splits its argument and expands it again, so that each key is quoted twice.
                return words.keys.map { "\(complete) -f -n '\(condition)' -a \(quoted([quoted([$0])]))" }
            }
        }
        let options = CommandDefinition.all.flatMap { command in
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
