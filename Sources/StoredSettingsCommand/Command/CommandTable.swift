// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension CommandDefinition {
    /// All commands for a catalog, in the order of the help.
    static let all: [CommandDefinition] = (reading + generating + writing).map(\.limitedToSuite) + [completion, help]

    private static let reading = [
        CommandDefinition(
            name: "list",
            summary: "Print all settings with their values",
            discussion: """
                A row has the key, the value, the layer that the value comes from, and the help. On a terminal, rows are cut \
                to its width. The value of a secret is ••••.
                """,
            options: [.json, .keys],
            body: .immediate { try $0.list() }
        ),
        CommandDefinition(
            name: "get",
            forms: ["KEY"],
            summary: "Print the value of one setting",
            discussion: """
                Prints the text alone, which set accepts. If the value is nil, prints nothing, and the exit code is 1. \
                A secret, or a value from a secret file, needs --reveal. On a terminal, control characters are escaped.
                """,
            options: [.json, .reveal],
            operands: .key,
            body: .immediate { try $0.get() }
        ),
        CommandDefinition(
            name: "explain",
            forms: ["[KEY…]"],
            summary: "Print where values come from, what they hide, and what is wrong with them",
            operands: .keys,
            body: .immediate { try $0.explain() }
        ),
        CommandDefinition(
            name: "watch",
            forms: ["[KEY…]"],
            summary: "Print each change of a value, from any process, until interrupted",
            discussion: """
                A line is key=text, without =text for a value that is nil. With --json, a line is an object. If values \
                change faster than the lines can be written, only the newest ones are printed. Changes of layers are printed, too.
                """,
            options: [.json, .initial],
            operands: .keys,
            body: .suspending { try await $0.watch() }
        ),
        CommandDefinition(
            name: "validate",
            summary: "Check the values of all sources, and print every problem",
            discussion: """
                Problems are printed to standard error, and the exit code is then 78. Warnings are printed, too. An unknown \
                key is one that no setting has, or the name of a member that a structure does not have.
                """,
            options: [.json, .unknownKeys],
            body: .immediate { try $0.validate() }
        ),
        CommandDefinition(
            name: "path",
            summary: "Print the path of the settings file",
            discussion: "Several suites have a line each: the name of the suite, a tab, and the path.",
            options: [.json],
            body: .immediate { try $0.path() }
        ),
    ]

    private static let generating = [
        CommandDefinition(
            name: "schema",
            summary: "Print a JSON Schema of the settings file",
            discussion: "An editor completes and checks a file that names the schema in its member \"$schema\".",
            body: .immediate { try $0.console.show(json: $0.settings.catalog.jsonSchema(for: $0.onlySuite())) }
        ),
        CommandDefinition(
            name: "sample",
            summary: "Print a settings file with all settings, their defaults, and their help as comments",
            discussion: "With --json, the file has no comments.",
            options: [.json],
            body: .immediate { invocation in
                let hasComments = !invocation.has(.json)
                let catalog = invocation.settings.catalog
                let suite = try invocation.onlySuite()
                try invocation.console.show(json: catalog.sampleFile(for: suite, hasComments: hasComments))
            }
        ),
        CommandDefinition(
            name: "markdown",
            summary: "Print a table of all settings in Markdown",
            body: .immediate { try $0.console.show(json: $0.settings.catalog.markdown()) }
        ),
    ]

    private static let writing = [
        CommandDefinition(
            name: "set",
            forms: ["KEY VALUE", "KEY=VALUE…", "KEY --stdin"],
            summary: "Store values",
            discussion: """
                All values are checked first. Those of one suite are stored in one transaction, so either all of them are \
                stored or none. With --stdin, the value is standard input without the line break at its end and without a \
                byte order mark, so a secret is not visible in the list of processes or in the history of the shell. On a \
                terminal, it is one line, and that of a secret is not shown. Of a structure, some members are enough: limits=burst=5 keeps the others.
                """,
            options: [.standardInput],
            operands: .values,
            body: .suspending { try await $0.set() }
        ),
        CommandDefinition(
            name: "unset",
            forms: ["KEY…"],
            summary: "Remove stored values, so that the defaults are used",
            discussion: """
                The values of one suite are removed in one transaction. A stored key that no setting has can be removed, too, \
                and so can the value under the old key of a renamed setting.
                """,
            operands: .someKeys,
            body: .suspending { try await $0.unset() }
        ),
        CommandDefinition(
            name: "export",
            summary: "Print the stored values as a JSON object",
            discussion: """
                Secrets are left out without --reveal, and stored keys that no setting has without --force. The record of \
                migrations is included. If there are several suites, the object has a member for each of them.
                """,
            options: [.allValues, .reveal, .force],
            body: .immediate { try $0.exportValues() }
        ),
        CommandDefinition(
            name: "import",
            forms: ["FILE", "-"],
            summary: "Store the values of a JSON object that export has printed",
            discussion: """
                The whole object is checked first, and every problem is printed. It can contain comments. The values of one suite are then stored in \
                one transaction. With --replace, values that the object does not contain are removed, except for secrets \
                and the record of migrations; stored keys that no setting has are removed only if --force is given, too. - is standard input.
                """,
            options: [.replace, .force],
            operands: .file,
            body: .suspending { try await $0.importValues() }
        ),
        CommandDefinition(
            name: "edit",
            summary: "Edit the stored values in an editor",
            discussion: """
                Opens the output of export in $VISUAL, $EDITOR or vi, in a file that only this user can read, with the \
                help as comments. The editor must not end before the file is closed (code --wait). The result is \
                checked as a whole, and only the differences are stored, in one transaction for each suite. A removed \
                member is unset. If another process has changed a value that was edited, nothing is stored. A result \
                that cannot be stored can be edited again, or is left in the file, whose path is printed.
                """,
            options: [.reveal, .force],
            body: .suspending { try await $0.edit() }
        ),
    ]

    private static let completion = CommandDefinition(
        name: "completion",
        forms: ["bash", "zsh", "fish"],
        summary: "Print a script with which a shell completes commands, keys and values",
        discussion: "For bash, put 'source <(\(programWord) completion bash)' into ~/.bashrc.",
        operands: .shell,
        body: .immediate { try $0.complete() }
    )

    private static let help = CommandDefinition(
        name: "help",
        forms: ["[COMMAND]"],
        summary: "Print the help of all commands, or of one",
        options: [.markdown],
        operands: .command,
        body: .immediate { try $0.help() }
    )
}

extension CommandDefinition.Option {
    package static let keys = Self(name: "--keys", summary: "Print only the keys")
    package static let initial = Self(name: "--initial", summary: "Print the current values first")
    package static let unknownKeys = Self(
        name: "--unknown-keys",
        value: "MODE",
        choices: ["reject", "warn", "accept"],
        summary: "Whether an unknown key is a problem (default) or not"
    )
    package static let standardInput = Self(name: "--stdin", summary: "Read the value from standard input")
    package static let allValues = Self(name: "--all", summary: "Print the values in use, with overrides and defaults")
    package static let force = Self(name: "--force", summary: "Include keys and members that no setting has")
    package static let replace = Self(name: "--replace", summary: "Remove the values that the object does not contain")
    package static let markdown = Self(
        name: "--markdown",
        summary: "Print the help of all commands as a page of Markdown"
    )
}
