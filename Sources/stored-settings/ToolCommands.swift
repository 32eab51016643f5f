// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsCommand

/// The commands for a suite without declarations, with their help.
enum ToolCommands {
    static let introduction = [
        "Shows, changes and checks the settings of any program that uses StoredSettings, without the program.",
        """
        SUITE is the name of a suite, as in SettingsSuite("com.acme.server"), or a path with a slash: that of a \
        settings file or of its directory, with a slash at its end if there is no such file yet. A name is looked up \
        as in a program with the same environment: in $STORED_SETTINGS_HOME, $STATE_DIRECTORY, $XDG_CONFIG_HOME or \
        ~/.config. For the settings of another user, run the command as that user (sudo -u USER), and for those of a \
        service, use the path (/var/lib/acme/com.acme.server/). After --, a suite can have the name of a command.
        """,
        """
        The files are used as by the program itself, with its locks and its journal, and a running program sees each change at \
        once. The declarations are in the program alone. So there are no defaults, a value may be one that the program rejects, \
        and values that are secret there are shown. If the program has a command of its own, prefer that.
        """,
        """
        With --etcd ADDRESS,… before SUITE, the suite is one that a fleet shares in etcd: stored-settings --etcd \
        http://10.0.0.1:2379 acme list. Its keys have the prefix settings/SUITE/, or another one with --prefix PREFIX. The user and \
        the password are read from the files that --user-file FILE and --password-file FILE name. A command uses the newest values \
        of the servers, and fails after five seconds if none can be reached.
        """,
    ]

    static let exitCodes: [(code: Int32, meaning: String)] = CommandExit.meanings.map { code, meaning in
        switch code {
        case CommandExit.noValue: (code, "there is no value for the key")
        case CommandExit.usage: (code, "the command or an option is wrong")
        case CommandExit.data: (code, "a value is not of its type, or the file to import is malformed")
        case CommandExit.noInput: (code, "there is no such suite, or the file to import cannot be read")
        case CommandExit.unavailable: (code, "the editor failed, or no server of etcd can be reached")
        case CommandExit.configuration: (code, "the settings file cannot be used, or doctor has found a problem")
        default: (code, meaning)
        }
    }

    /// All commands, in the order of the help.
    ///
    /// - Parameter place: The suite; `nil` for the help, and for commands that are not about one suite.
    /// - Returns: The commands.
    static func all(for place: (any ToolPlace)?) -> [CommandDefinition] {
        reading(place) + writing(place) + checking(place) + global
    }

    // MARK: - Reading

    private static func reading(_ place: (any ToolPlace)?) -> [CommandDefinition] {
        [
            CommandDefinition(
                name: "list",
                summary: "Print all keys with their values",
                discussion: "A row has the key, the type and the value. On a terminal, rows are cut to its width.",
                options: [.json, .keys],
                body: reader(place) { try $0.list() }
            ),
            CommandDefinition(
                name: "get",
                forms: ["KEY"],
                summary: "Print the value of one key",
                discussion: """
                    Prints the text alone, which set accepts. If there is no value, the exit code is 1. On a terminal, control \
                    characters are escaped.
                    """,
                options: [.json],
                operands: .key,
                body: reader(place) { try $0.get() }
            ),
            CommandDefinition(
                name: "explain",
                forms: ["[KEY…]"],
                summary: "Print each value with its type and the file that it is stored in",
                operands: .keys,
                body: reader(place) { try $0.explain() }
            ),
            CommandDefinition(
                name: "watch",
                forms: ["[KEY…]"],
                summary: "Print each change of a value, from any process, until interrupted",
                discussion: """
                    A line is key=text, without =text for a value that is removed. Without keys, all of them are watched, new \
                    ones included. With --json, a line is an object. If values change faster than the lines can be written, \
                    only the newest ones are printed.
                    """,
                options: [.json, .initial],
                operands: .keys,
                body: .suspending { invocation in
                    try place?.checkIsThere()
                    try await invocation.watch()
                }
            ),
            CommandDefinition(
                name: "validate",
                summary: "Check that the settings file can be read",
                discussion: """
                    The problem is printed to standard error, with line and column, and the exit code is then 78. Which values \
                    are valid is known only to the program. doctor checks everything else.
                    """,
                options: [.json],
                body: .immediate { invocation in
                    try place?.checkIsThere()
                    try invocation.validate()
                }
            ),
            CommandDefinition(
                name: "path",
                summary: "Print the path of the settings file, which need not exist",
                options: [.json],
                body: .immediate { try $0.path() }
            ),
        ]
    }

    /// A command that fails if there is no suite, or if its values are unknown.
    private static func reader(
        _ place: (any ToolPlace)?,
        _ body: @escaping @Sendable (CommandInvocation) throws -> Void
    ) -> CommandDefinition.Body {
        .immediate { invocation in
            try place?.checkIsThere()
            try invocation.settings.checkReadable()
            try body(invocation)
        }
    }

    // MARK: - Writing

    private static func writing(_ place: (any ToolPlace)?) -> [CommandDefinition] {
        [
            CommandDefinition(
                name: "set",
                forms: ["KEY VALUE", "KEY=VALUE…", "KEY --stdin"],
                summary: "Store values",
                discussion: """
                    A new value has the type of the value that it replaces: a string stays a string, even 5 or true. If there is \
                    none, a text that is valid JSON is read as JSON (5, true, [1, 2]), and any other text is a string. A number \
                    that would be stored as another text is a string, too (1.10, 1e3, 007). --type chooses another type. What \
                    was stored is printed, with its type. Elements of an array can be a list with commas. A date is ISO 8601, and data is \
                    base64; both are stored as strings. All values are checked first, and stored in one transaction. If there is \
                    no suite, it is created. With --stdin, the value is standard input without the line break at its end and \
                    without a byte order mark, and it is not printed; on a terminal, it is one line, which is not shown.
                    """,
                options: [.type, .standardInput],
                operands: .values,
                body: .suspending { invocation in
                    try place?.refresh()
                    try await typed(invocation, place).set()
                }
            ),
            CommandDefinition(
                name: "unset",
                forms: ["KEY…"],
                summary: "Remove values, in one transaction",
                operands: .someKeys,
                body: .suspending { invocation in
                    try place?.checkIsThere()
                    try await invocation.unset()
                }
            ),
            CommandDefinition(
                name: "export",
                summary: "Print all values as a JSON object",
                body: reader(place) { try $0.exportValues() }
            ),
            CommandDefinition(
                name: "import",
                forms: ["FILE", "-"],
                summary: "Store the values of a JSON object that export has printed",
                discussion: """
                    The whole object is checked first. It can contain comments. The values are then stored in one transaction. \
                    With --replace, values that the object does not contain are removed, except for the record of migrations. - \
                    is standard input.
                    """,
                options: [.replace],
                operands: .file,
                body: .suspending { invocation in
                    try place?.refresh()
                    try await invocation.importValues()
                }
            ),
            CommandDefinition(
                name: "edit",
                summary: "Edit the values in an editor",
                discussion: """
                    Opens the output of export in $VISUAL, $EDITOR or vi, in a file that only this user can read. The \
                    editor must not end before the file is closed (code --wait). The result is checked as a whole, and \
                    only the differences are stored, in one transaction. A removed member is unset. If another process \
                    has changed a value that was edited, nothing is stored. A result that cannot be stored can be \
                    edited again, or is left in the file, whose path is printed.
                    """,
                body: .suspending { invocation in
                    try place?.checkIsThere()
                    try invocation.settings.checkReadable()
                    try await invocation.edit()
                }
            ),
        ]
    }

    /// Returns an invocation whose settings have the type that an option chooses.
    private static func typed(_ invocation: CommandInvocation, _ place: (any ToolPlace)?) -> CommandInvocation {
        guard let place, let type = invocation.value(of: .type).flatMap(ValueType.init) else { return invocation }
        var invocation = invocation
        invocation.settings = CommandSettings(SuiteKeys(suite: place.suite, type: type))
        return invocation
    }

    // MARK: - Others

    private static func checking(_ place: (any ToolPlace)?) -> [CommandDefinition] {
        [
            CommandDefinition(
                name: "doctor",
                summary: "Find what is wrong with the files of the suite, and what to do about it",
                discussion: """
                    Checks the directory, modes, owners, attributes (chattr), links, the settings file, the journal, \
                    the locks, the last good copy, temporary files that were left over, the remaining watches of the \
                    system, the free space and the file system. Each problem has its consequence and its fix. The exit \
                    code is 78 if there is a problem. Nothing is changed, created or locked, and no value is printed, \
                    unless --repair is given. That \
                    renames a file that is not a journal, removes temporary files of dead processes, and completes what \
                    a killed process has left, as the next change would. \
                    --restore also replaces a settings file that is broken or missing by the last good copy with all \
                    later changes; the broken file is renamed, not removed. Every repair is printed.
                    """,
                options: [.json, .repair, .restore],
                body: .immediate { invocation in
                    guard let place = place as? SuitePlace else {
                        throw CommandFailure.usage(
                            "doctor examines files, and this suite is in etcd",
                            fix: "Examine the servers with 'etcdctl endpoint health'"
                        )
                    }
                    try place.checkIsThere()
                    try DoctorCommand(place, invocation).run()
                }
            ),
            CommandDefinition(
                name: "accept-cluster",
                summary: "Declare the servers of etcd to be the right ones for the suite",
                discussion: """
                    Programs that know values of the suite do not use those of a cluster with another identifier, or of one \
                    that lacks the changes that they know: the addresses could be wrong. They report that, and keep the \
                    values that they know, until this command has written a key into the cluster. It needs --etcd, and \
                    --prefix if the programs have one. It prints what it has marked.
                    """,
                body: .immediate { invocation in
                    guard let place = place as? FleetPlace else {
                        throw CommandFailure.usage(
                            "accept-cluster is about etcd, and this suite is in files",
                            fix: "Add --etcd with the addresses before the suite"
                        )
                    }
                    try invocation.console.show(lines: [place.acceptCluster()])
                }
            ),
        ]
    }

    private static let global = [
        CommandDefinition(
            name: "suites",
            summary: "Print the names of all suites of this user",
            discussion: "Those are the suites in the directory that the environment names; others have a path.",
            isGlobal: true,
            body: .immediate { try $0.console.show(lines: try SuitePlace.names()) }
        ),
        CommandDefinition(
            name: "completion",
            forms: ["bash", "zsh", "fish"],
            summary: "Print a script with which a shell completes suites, commands and keys",
            discussion: "For bash, put 'source <(stored-settings completion bash)' into ~/.bashrc.",
            operands: .shell,
            isGlobal: true,
            body: .immediate { try $0.complete() }
        ),
        CommandDefinition(
            name: "help",
            forms: ["[COMMAND]"],
            summary: "Print the help of all commands, or of one",
            options: [.markdown],
            operands: .command,
            isGlobal: true,
            body: .immediate { try $0.help() }
        ),
    ]
}

extension CommandDefinition.Option {
    static let type = Self(
        name: "--type",
        value: "TYPE",
        choices: ValueType.allCases.map(\.rawValue),
        summary: "The type of the new values"
    )
    static let repair = Self(name: "--repair", summary: "Repair what can be repaired without a loss")
    static let restore = Self(name: "--restore", summary: "Replace a broken settings file by the last good copy, too")
}
