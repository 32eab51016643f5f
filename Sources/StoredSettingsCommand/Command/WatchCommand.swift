// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension CommandInvocation {
    /// Prints each change of some settings.
    package func watch() async throws {
        let watched = operands.isEmpty ? settings.all : try operands.map(settings.settableSetting)
        // The subscriptions come first, so that no change is missed between the current values and the changes.
        let watchers = try settings.suites.compactMap { suite -> SuiteWatcher? in
            // Without declarations, any key may be set later.
            let added = operands.isEmpty && !settings.isDeclared ? settings.settableSetting : nil
            let own = watched.filter { $0.suite == suite }
            guard !own.isEmpty || added != nil else { return nil }
            return try SuiteWatcher(
                suite,
                own,
                console,
                isJSON: has(.json),
                isDeclared: settings.isDeclared,
                added: added
            )
        }
        if has(.initial) { try console.show(lines: watchers.flatMap(\.currentLines)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for watcher in watchers { group.addTask { try await watcher.run() } }
            // The first failure ends all tasks: the output has no reader.
            try await group.waitForAll()
        }
    }
}

/// The settings of one suite whose changes are printed.
private struct SuiteWatcher: Sendable {
    private let settings: [AnySetting]
    private let console: CommandConsole
    private let isJSON: Bool
    private let changes: SettingsSuite.Changes
    /// Returns the setting with a key that has no value at the start; `nil` if only some settings are watched.
    private let added: (@Sendable (String) throws -> AnySetting)?
    /// Each value at the start; none while it is unknown.
    private let initial: [CurrentValue]
    private let isKnown: Bool

    init(
        _ suite: SettingsSuite,
        _ settings: [AnySetting],
        _ console: CommandConsole,
        isJSON: Bool,
        isDeclared: Bool,
        added: (@Sendable (String) throws -> AnySetting)?
    ) throws {
        self.console = console
        self.isJSON = isJSON
        self.added = added
        let keys = added == nil ? Set(settings.flatMap(\.base.storedKeys.all)) : nil
        // A value can change because a layer does.
        changes = SettingsSuite.Changes(of: suite, keys: keys, includesLayers: true)
        // Values of a file that cannot be read are unknown, and not removed. If it is corrected from here on, that is a change.
        let isKnown = isDeclared || !suite.keys.isEmpty || suite.engine.store.problem == nil
        // Without declarations, a key may have been set since.
        self.settings = try added.map { try suite.keys.map($0) } ?? settings
        initial = self.settings.map { isKnown ? $0.base.current : CurrentValue(value: nil) }
        self.isKnown = isKnown
    }

    /// The lines of the values at the start.
    var currentLines: [String] { isKnown ? zip(settings, initial).map(line) : [] }

    /// Prints the changes until the task is canceled, the suite is finished, or the output has no reader.
    func run() async throws {
        var (settings, last) = (settings, initial)
        for await change in changes {
            var lines: [String] = []
            if let added {
                let known = Set(settings.map(\.key))
                let new = change.keys.filter { !known.contains($0) }.sorted()
                settings += try new.map(added)
                last += new.map { _ in CurrentValue(value: nil) }
            }
            for (index, setting) in settings.enumerated()
            where setting.base.storedKeys.all.contains(where: { change[$0] != nil }) {
                let current = setting.base.current
                guard current.value != last[index].value else { continue }
                last[index] = current
                lines.append(line(setting, current))
            }
            try console.show(lines: lines)
        }
    }

    private func line(_ setting: AnySetting, _ current: CurrentValue) -> String {
        if isJSON {
            let object: StoredValue = ["key": .string(setting.key), "value": setting.redactedValue(current)]
            return console.isOutputTerminal ? TerminalText.escapedJSON(object.jsonText) : object.jsonText
        }
        let isHidden = setting.isSecret || current.isFromSecretFile
        let text = current.value.map { value in
            "=" + TerminalText.escaped(isHidden ? SettingTraits.redactedText : setting.base.text(of: value))
        }
        return TerminalText.escaped(setting.key) + (text ?? "")
    }
}
