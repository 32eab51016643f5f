// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "One set of commands works with and without declarations".

package import StoredSettings

/// The settings of a suite that has no declarations here: each key is a setting.
package protocol UndeclaredSettings: Sendable {
    var suite: SettingsSuite { get }

    /// Returns the setting with a key, which need not have a value.
    func setting(forKey key: String) -> AnySetting
}

/// The settings that a command shows and changes.
package struct CommandSettings: Sendable {
    /// The declarations; empty if there are none.
    let catalog: SettingsCatalog
    /// The settings of the catalog, in its order.
    let declared: [AnySetting]
    /// `nil` for the settings of a catalog.
    private let undeclared: (any UndeclaredSettings)?

    init(_ catalog: SettingsCatalog) {
        self.init(catalog, Array(catalog))
    }

    package init(_ undeclared: any UndeclaredSettings) {
        (catalog, declared) = (SettingsCatalog(), [])
        self.undeclared = undeclared
    }

    private init(_ catalog: SettingsCatalog, _ declared: [AnySetting]) {
        self.catalog = catalog
        self.declared = declared
        undeclared = nil
    }

    /// Whether the settings have declarations, which say what their values may be.
    ///
    /// Without declarations, every stored key is a setting, and every other key can become one.
    var isDeclared: Bool { undeclared == nil }

    /// The names of ``suites``, with a number where another suite has the same name.
    var suiteNames: [String] {
        var names: [String] = []
        for suite in suites {
            var (name, number) = (suite.name, 1)
            while names.contains(name) {
                number += 1
                name = "\(suite.name) (\(number))"
            }
            names.append(name)
        }
        return names
    }

    /// The settings: those of the catalog, or those that have a value now.
    var all: [AnySetting] {
        undeclared.map { undeclared in undeclared.suite.keys.map(undeclared.setting) } ?? declared
    }

    /// The suites of the settings, each once.
    var suites: [SettingsSuite] { undeclared.map { [$0.suite] } ?? declared.suites }

    /// The declared settings of one suite.
    func settings(of suite: SettingsSuite) -> [AnySetting] {
        declared.filter { $0.suite == suite }
    }

    /// Returns only the settings of the suite with one of ``suiteNames``.
    func limited(toSuite name: String) throws -> CommandSettings {
        let names = suiteNames
        guard let index = names.firstIndex(of: name) else {
            let similar = Similarity.best(for: name, among: names)
            throw CommandFailure.usage(
                "there is no suite '\(name)'",
                fix: similar.map { "Did you mean '\($0)'?" } ?? "Use one of \(names.joined(separator: ", "))"
            )
        }
        return CommandSettings(catalog, settings(of: suites[index]))
    }

    /// The fix of a command that several suites match.
    func suiteOption(among matches: [SettingsSuite]) -> String {
        let names = zip(suiteNames, suites).filter { matches.contains($1) }.map(\.0)
        return "Add --suite \(names.map { CompletionWords.quoted($0) }.joined(separator: " or "))"
    }

    /// Returns the setting with a key, which has a declaration or a value.
    func setting(forKey key: String) throws -> AnySetting {
        if let undeclared {
            guard undeclared.suite.contains(key) else { throw unknown(key) }
            return undeclared.setting(forKey: key)
        }
        let whole = declared.filter { $0.key == key }
        let found = whole.isEmpty ? declared.members(key) : whole
        guard let setting = found.first else { throw unknown(key) }
        guard found.count == 1 else {
            throw CommandFailure.usage(
                "several suites have a setting '\(key)'",
                fix: suiteOption(among: found.suites)
            )
        }
        return setting
    }

    /// Returns the setting that had a key before it was renamed; `nil` if there is none, or a setting has the key now.
    func setting(forOldKey key: String) throws -> AnySetting? {
        let found = settings(withOldKey: key)
        guard found.count <= 1 else {
            throw CommandFailure.usage(
                "several suites have a setting with the old key '\(key)'",
                fix: suiteOption(among: found.suites)
            )
        }
        return found.first
    }

    private func settings(withOldKey key: String) -> [AnySetting] {
        guard !declared.contains(where: { $0.key == key }) else { return [] }
        return declared.filter { $0.base.storedKeys.old.contains(key) }
    }

    /// Returns the setting with a key, which may have neither a declaration nor a value if no setting has a declaration.
    func settableSetting(forKey key: String) throws -> AnySetting {
        guard let undeclared else { return try setting(forKey: key) }
        guard !key.isEmpty else { throw CommandFailure.usage("the key is empty", fix: "Use a key with a character") }
        return undeclared.setting(forKey: key)
    }

    /// Returns the settings with some keys, or all settings if there are no keys.
    func settings(forKeys keys: [String]) throws -> [AnySetting] {
        try keys.isEmpty ? all : keys.map(setting)
    }

    /// The failure of a key that no setting has.
    func unknown(_ key: String) -> CommandFailure {
        if let renamed = settings(withOldKey: key).first {
            return .usage("the setting '\(key)' is now called '\(renamed.key)'", fix: "Use '\(renamed.key)'")
        }
        let keys = all.map(\.key)
        let similar =
            (Similarity.best(for: key, among: all.map(\.base.storedKeys))
            ?? Similarity.best(for: key, among: declared.flatMap(\.base.memberNames)))
            .map { "Did you mean '\($0)'?" }
        guard let undeclared else {
            return .usage(
                "there is no setting '\(key)'",
                fix: similar ?? "The settings are \(keys.joined(separator: ", "))"
            )
        }
        // The values may be unknown, because the file cannot be read.
        if keys.isEmpty, let problem = undeclared.suite.engine.store.problem {
            return CommandFailure(undeclared.suite.naming(problem))
        }
        let fix = similar ?? "The command 'list' shows all keys"
        return CommandFailure(CommandExit.noValue, fact: "there is no value for '\(key)'", fix: fix)
    }

    /// The stored keys of a suite that no setting has, except those of records of migrations, sorted.
    ///
    /// Of several suites with one store, only the first one has them.
    func undeclaredKeys(of suite: SettingsSuite, in contents: [String: StoredValue]) -> [String] {
        guard isFirst(suite) else { return [] }
        // Another suite can have the same file.
        let known = Set(catalog.filter { $0.suite.engine === suite.engine }.flatMap(\.base.storedKeys.all))
        let records = suite.engine.recordKeys.withLock(\.self)
        return contents.separated(by: known).keys.filter { !known.contains($0) && !records.contains($0) }.sorted()
    }

    /// The stored keys of a suite with records of migrations, without which the next start would migrate again.
    func recordKeys(of suite: SettingsSuite, in contents: some Collection<String>) -> [String] {
        guard isFirst(suite) else { return [] }
        let records = suite.engine.recordKeys.withLock(\.self)
        return contents.filter(records.contains).sorted()
    }

    private func isFirst(_ suite: SettingsSuite) -> Bool {
        suites.first { $0.engine === suite.engine } == suite
    }

    /// Returns everything that is wrong with stored and overridden values.
    ///
    /// Without declarations, that is only the error that prevents reading the file, or a warning that the file is missing.
    func findProblems(
        unknownKeys: SettingsCatalog.UnknownKeys
    ) -> (errors: [SettingsError], warnings: [SettingsError]) {
        guard let undeclared else { return catalog.findProblems(unknownKeys: unknownKeys) }
        // The contents are read first, so that the store knows whether it can.
        _ = undeclared.suite.engine.contents()
        guard let problem = undeclared.suite.engine.store.problem.map(undeclared.suite.naming) else { return ([], []) }
        return problem.isCorrectedByCheckpoint ? ([], [problem]) : ([problem], [])
    }

    /// Throws if no value is known because the file cannot be read.
    package func checkReadable() throws {
        guard let suite = undeclared?.suite, suite.keys.isEmpty, let problem = suite.engine.store.problem else {
            return
        }
        throw CommandFailure(suite.naming(problem))
    }
}
