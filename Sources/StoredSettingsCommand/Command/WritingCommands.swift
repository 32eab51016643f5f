// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension CommandInvocation {
    /// Stores values.
    package func set() async throws {
        let assignments = try assignments()
        var edits = SettingsEdits()
        var failures: [CommandFailure] = []
        for (setting, text) in assignments {
            do {
                edits.add(try setting.base.converted(text), for: setting)
            } catch {
                let typed = (error as? SettingsError)?.ofTypedText(consequence: "nothing is changed")
                failures.append(CommandFailure(typed ?? error))
            }
        }
        if let first = failures.first { throw CommandFailure(first.code, messages: failures.flatMap(\.messages)) }
        try await edits.store()
        if !settings.isDeclared, !has(.standardInput) {
            try console.show(lines: assignments.map { TerminalText.escaped($0.setting.explain()) })
        }
        for (setting, _) in assignments { showEffect(on: setting) }
    }

    /// Removes values.
    package func unset() async throws {
        var edits = SettingsEdits()
        var changed: [AnySetting] = []
        for key in operands {
            // Validation recommends to remove a key that no setting has.
            let owners = settings.suites.filter { suite in
                settings.undeclaredKeys(of: suite, in: [key: [:]]) == [key] && suite.contains(key)
            }
            if let renamed = try settings.setting(forOldKey: key) {
                // Validation recommends to remove a value under an old key that another one hides.
                edits.add([(key, nil)], in: renamed.suite)
                if !renamed.suite.contains(renamed.key) { changed.append(renamed) }
            } else if settings.all.contains(where: { $0.key == key }) || !settings.declared.members(key).isEmpty
                || owners.isEmpty
            {
                let setting = try settings.setting(forKey: key)
                edits.add(setting.base.removal, for: setting)
                changed.append(setting)
            } else {
                for suite in owners { edits.add([(key, nil)], in: suite) }
            }
        }
        try await edits.store()
        for setting in changed { showEffect(on: setting) }
    }

    /// Says when the stored value, or the default after its removal, is not the value that programs use.
    private func showEffect(on setting: AnySetting) {
        let used = setting.base.summary
        if used.hidesStore {
            console.show(message: "\(program): '\(setting.key)' is changed, but another layer hides it: \(used.text)")
        }
        if setting.traits.requiresRestart {
            console.show(
                message: """
                    \(program): '\(setting.key)' is changed. A program that is running uses the new value after a restart.
                    """
            )
        }
    }

    private typealias Assignment = (setting: AnySetting, text: String)

    private func assignments() throws -> [Assignment] {
        if has(.standardInput) {
            guard operands.count == 1 else { throw wrongCount("--stdin reads one value") }
            let setting = try settings.settableSetting(forKey: operands[0])
            return [(setting, try standardInput(for: setting))]
        }
        let isPair = operands.count == 2 && (hasSetting(operands[0]) || operands[0].signs.isEmpty)
        if isPair { return [(try settings.settableSetting(forKey: operands[0]), operands[1])] }
        if operands.count > 2, operands[0].signs.isEmpty, operands[1].signs.isEmpty {
            // The further words may be part of a secret.
            throw wrongCount("more than one value follows '\(try settings.settableSetting(forKey: operands[0]).key)'")
        }
        let assignments = try operands.map(assignment)
        var keys: Set<String> = []
        for (setting, _) in assignments where !keys.insert(setting.key).inserted {
            throw CommandFailure.usage("'\(setting.key)' is given twice", fix: "Give it once")
        }
        return assignments
    }

    /// Reads the value of a setting: one line on a terminal, which then shows no secret, and otherwise everything.
    private func standardInput(for setting: AnySetting) throws -> String {
        guard !console.isInputTerminal else {
            // Without a declaration, any value may be secret.
            let isHidden = setting.isSecret || !settings.isDeclared
            let prompt = "Value of '\(TerminalText.escaped(setting.key))': "
            if let text = try console.readLine(prompt, isHidden) { return text }
            throw CommandFailure(CommandExit.data, "there is no value. Nothing is changed. Type one.")
        }
        guard let text = String(valueIn: try console.read()) else {
            let fact = "standard input is not text in UTF-8, without null characters"
            throw CommandFailure(CommandExit.data, "\(fact). Nothing is changed. Use UTF-8.")
        }
        return text
    }

    private func hasSetting(_ key: String) -> Bool { settings.all.contains { $0.key == key } }

    /// Reads `key=value`; a key that contains `=` is found as well.
    private func assignment(_ text: String) throws -> Assignment {
        let signs = text.signs
        guard let first = signs.first else {
            guard hasSetting(text) || !settings.isDeclared else { throw settings.unknown(text) }
            throw wrongCount("the value of '\(text)' is missing")
        }
        let sign = signs.first { hasSetting(String(text[..<$0])) } ?? first
        let value = String(text[text.utf8.index(after: sign)...])
        return (try settings.settableSetting(forKey: String(text[..<sign])), value)
    }
}
