// SPDX-License-Identifier: Apache-2.0

extension CommandInvocation {
    /// Prints each change of some settings.
    func watch() async throws {
        let watched = try settings.settings(forKeys: operands)
        // The subscriptions come first, so that no change is missed between the current values and the changes.
        let watchers = watched.suites.map { suite in
            SuiteWatcher(suite, watched.filter { $0.suite == suite }, console, isJSON: has(.json))
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
    /// The stored form of each value at the start.
    private let initial: [StoredValue?]

    init(_ suite: SettingsSuite, _ settings: [AnySetting], _ console: CommandConsole, isJSON: Bool) {
        self.settings = settings
        self.console = console
        self.isJSON = isJSON
        changes = suite.changes(of: settings.flatMap(\.base.storedKeys.all))
        initial = settings.map(\.base.currentStoredValue)
    }

    /// The lines of the values at the start.
    var currentLines: [String] { zip(settings, initial).map(line) }

    /// Prints the changes until the task is canceled, the suite is finished, or the output has no reader.
    func run() async throws {
        var last = initial
        for await change in changes {
            var lines: [String] = []
            for (index, setting) in settings.enumerated()
            where setting.base.storedKeys.all.contains(where: { change[$0] != nil }) {
                let value = setting.base.currentStoredValue
                guard value != last[index] else { continue }
                last[index] = value
                lines.append(line(setting, value))
            }
            try console.show(lines: lines)
        }
    }

    private func line(_ setting: AnySetting, _ value: StoredValue?) -> String {
        let value = value.map { setting.shownValue($0) }
        if isJSON {
            let object: StoredValue = ["key": .string(setting.key), "value": value ?? .null]
            return console.isOutputTerminal ? TerminalText.escapedJSON(object.jsonText) : object.jsonText
        }
        let text = value.map { "=" + TerminalText.escaped(setting.isSecret ? $0.text : setting.base.text(of: $0)) }
        return TerminalText.escaped(setting.key) + (text ?? "")
    }
}
