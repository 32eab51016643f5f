// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension CommandInvocation {
    /// Prints all settings.
    package func list() throws {
        if has(.keys) {
            let keys = settings.all.map(\.key)
            guard !has(.json) else {
                return try console.show(json: StoredValue.array(keys.map(StoredValue.string)).prettyJSON)
            }
            return try console.show(lines: keys)
        }
        if has(.json) { return try console.show(json: StoredValue.array(settings.all.map(\.jsonObject)).prettyJSON) }
        var table = TerminalTable(
            header: settings.isDeclared ? ["KEY", "VALUE", "LAYER", "HELP"] : ["KEY", "TYPE", "VALUE"]
        )
        for (index, setting) in settings.all.enumerated() {
            guard settings.isDeclared else {
                table.rows.append([setting.key, setting.typeName, setting.text ?? "null"])
                continue
            }
            let layer = setting.layer
            table.rows.append([setting.key, setting.text ?? "nil", layer.description, setting.help.summary])
            if layer == .default { table.faint.insert(index) }
        }
        let lines = table.lines(columns: console.columns, isColored: console.isColored)
        try console.show(lines: lines, areStyled: true)
    }

    /// Prints one value.
    package func get() throws {
        let setting = try settings.setting(forKey: operands[0])
        let current = setting.base.current
        guard current.value == nil || !setting.isSecret && !current.isFromSecretFile || has(.reveal) else {
            throw CommandFailure.usage("the value of '\(setting.key)' is secret", fix: "Add --reveal to print it")
        }
        let value = current.value
        if has(.json) {
            try console.show(json: (value ?? .null).jsonText)
        } else if let text = value.map(setting.base.text) {
            try console.show(lines: [text])
        }
        if value == nil { throw CommandFailure(CommandExit.noValue) }
    }

    /// Prints where values come from.
    package func explain() throws {
        let isAll = operands.isEmpty && settings.isDeclared && value(of: .suite) == nil
        let text = isAll ? settings.catalog.explain().split(separator: "\n").map(String.init) : nil
        let lines = try text ?? settings.settings(forKeys: operands).map { $0.explain() }
        try console.show(lines: lines.map(TerminalText.escaped))
    }

    /// Returns the suite for output that is about one.
    func onlySuite() throws -> SettingsSuite? {
        let suites = settings.suites
        guard suites.count > 1 else { return suites.first }
        throw CommandFailure.usage("'\(command.name)' is about one suite", fix: settings.suiteOption(among: suites))
    }

    /// Checks all values.
    package func validate() throws {
        let mode: SettingsCatalog.UnknownKeys =
            switch value(of: .unknownKeys) {
            case "warn": .warn
            case "accept": .accept
            default: .reject
            }
        let found = settings.findProblems(unknownKeys: mode)
        let names = settings.suites.map(\.name)
        let (errors, warnings) = (found.errors.filter(isShown), found.warnings.filter(isShown))
        func isShown(_ error: SettingsError) -> Bool { error.suite.map(names.contains) ?? true }
        if has(.json) {
            let problems =
                errors.map { $0.jsonObject(severity: "error") } + warnings.map { $0.jsonObject(severity: "warning") }
            try console.show(json: StoredValue.array(problems).prettyJSON)
        } else {
            for warning in warnings { console.show(message: "warning: \(warning.message)") }
            for error in errors { console.show(message: "error: \(error.message)") }
        }
        if !errors.isEmpty { throw CommandFailure(CommandExit.configuration) }
        if !has(.json) { try console.show(lines: ["The settings are valid."]) }
    }

    /// Prints the file of each suite.
    package func path() throws {
        let suites = settings.suites
        let files = suites.map(\.persistence.path)
        if has(.json) {
            let names = zip(settings.suiteNames, files).map { ($0, $1.map(StoredValue.string) ?? .null) }
            try console.show(json: StoredValue.dictionary(Dictionary(names) { first, _ in first }).prettyJSON)
        } else {
            // Several suites are distinguished by their names. A path alone is printed as it is, for other programs.
            let lines = zip(settings.suiteNames, files)
                .compactMap { name, file in
                    file.map { suites.count == 1 ? $0 : "\(TerminalText.escaped(name))\t\($0)" }
                }
            try console.show(lines: lines)
        }
        let ephemeral = zip(suites, files).filter { $1 == nil }.map(\.0)
        guard !ephemeral.isEmpty else { return }
        throw CommandFailure(
            CommandExit.cannotCreate,
            messages: ephemeral.map { suite in
                "\(suite.name) has no file. Its values last as long as the process. Use a suite with a file."
            }
        )
    }

    /// Prints the help of all commands, or of one.
    package func help() throws {
        let help = CommandHelp(program)
        if has(.markdown) { return try console.show(lines: help.markdown) }
        try console.show(lines: operands.first.map { help.lines(of: try program.command(named: $0)) } ?? help.overview)
    }
}

extension SettingsError {
    fileprivate func jsonObject(severity: String) -> StoredValue {
        [
            "severity": .string(severity),
            "code": .string(code.description),
            "key": key.map(StoredValue.string) ?? .null,
            "suite": suite.map(StoredValue.string) ?? .null,
            "place": location.map { .string($0.description) } ?? .null,
            "message": .string(message),
        ]
    }
}
