// SPDX-License-Identifier: Apache-2.0

/// The settings that a command shows and changes.
struct CommandSettings: Sendable {
    let catalog: SettingsCatalog
    /// The settings, in the order of the catalog.
    let all: [AnySetting]

    init(_ catalog: SettingsCatalog) {
        self.init(catalog, Array(catalog))
    }

    private init(_ catalog: SettingsCatalog, _ all: [AnySetting]) {
        self.catalog = catalog
        self.all = all
    }

    /// The suites of the settings, each once.
    var suites: [SettingsSuite] { all.suites }

    /// The settings of one suite.
    func settings(of suite: SettingsSuite) -> [AnySetting] {
        all.filter { $0.suite == suite }
    }

    /// Returns only the settings of the suite with a name.
    func limited(toSuite name: String) throws -> CommandSettings {
        let names = suites.map(\.name)
        guard names.contains(name) else {
            let similar = Similarity.best(for: name, among: names)
            throw CommandFailure.usage(
                "there is no suite '\(name)'",
                fix: similar.map { "Did you mean '\($0)'?" } ?? "Use one of \(names.joined(separator: ", "))"
            )
        }
        return CommandSettings(catalog, all.filter { $0.suite.name == name })
    }

    /// Returns the setting with a key.
    func setting(forKey key: String) throws -> AnySetting {
        let found = all.filter { $0.key == key }
        guard let setting = found.first else { throw unknown(key) }
        guard found.count == 1 else {
            let names = found.map(\.suite.name).joined(separator: " or ")
            throw CommandFailure.usage("several suites have a setting '\(key)'", fix: "Add --suite \(names)")
        }
        return setting
    }

    /// Returns the settings with some keys, or all settings if there are no keys.
    func settings(forKeys keys: [String]) throws -> [AnySetting] {
        try keys.isEmpty ? all : keys.map(setting)
    }

    /// The failure of a key that no setting has.
    func unknown(_ key: String) -> CommandFailure {
        let keys = all.map(\.key)
        let fix =
            Similarity.best(for: key, among: keys).map { "Did you mean '\($0)'?" }
            ?? "The settings are \(keys.joined(separator: ", "))"
        return .usage("there is no setting '\(key)'", fix: fix)
    }

    /// The stored keys of a suite that no setting has, sorted.
    func undeclaredKeys(of suite: SettingsSuite, in contents: some Collection<String>) -> [String] {
        // Another suite can have the same file.
        let known = Set(catalog.filter { $0.suite.engine === suite.engine }.flatMap(\.base.storedKeys.all))
        let records = suite.engine.recordKeys.withLock(\.self)
        return contents.filter { !known.contains($0) && !records.contains($0) }.sorted()
    }
}
