// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension CommandInvocation {
    /// Prints the stored values.
    package func exportValues() throws {
        let exports = settings.suites.map { suite in (suite, values(of: suite)) }
        let objects = exports.map { _, exported in exported.values.merging(exported.records) { value, _ in value } }
        try console.show(json: StoredValue.dictionary(object(of: objects)).prettyJSON)
        for (suite, exported) in exports {
            show(omitted: exported.secrets, of: suite, "secret", option: "--reveal")
            show(omitted: exported.undeclared, of: suite, "not the key of a setting", option: "--force")
        }
    }

    private func show(omitted keys: [String], of suite: SettingsSuite, _ reason: String, option: String) {
        guard !keys.isEmpty else { return }
        let list = keys.map { "'\($0)'" }.joined(separator: ", ")
        console.show(message: "\(program): \(list): \(reason), and not exported. Add \(option) to export it.")
    }

    /// The values of a suite that an export contains, and the keys that it leaves out.
    struct ExportedValues: Sendable {
        /// All stored values at that moment.
        var contents: [String: StoredValue]
        var values: [String: StoredValue] = [:]
        /// The records of migrations, which an editor does not show.
        var records: [String: StoredValue] = [:]
        var secrets: [String] = []
        var undeclared: [String] = []
    }

    /// Whether stored keys that no setting has are exported, imported and removed.
    private var includesUndeclared: Bool { has(.force) || !settings.isDeclared }

    /// Returns the values of a suite, as the options choose them.
    func values(of suite: SettingsSuite) -> ExportedValues {
        // Not the values that are used while a requirement is not met: these are not stored.
        let contents = suite.engine.uncheckedContents()
        var exported = ExportedValues(contents: contents)
        for setting in settings.settings(of: suite) {
            let stored = setting.base.storedKeys.value(contents.value(forKey:))
            let current = has(.allValues) ? setting.base.current : CurrentValue(value: stored)
            guard let value = current.value else { continue }
            if setting.base.isSecret(value) || current.isFromSecretFile, !has(.reveal) {
                exported.secrets.append(setting.key)
            } else {
                exported.values[setting.key] = value.storedAsJSON
            }
        }
        let undeclared = settings.undeclaredKeys(of: suite, in: contents)
        if includesUndeclared {
            for key in undeclared { exported.values[key] = contents.value(forKey: key)?.storedAsJSON }
        } else {
            exported.undeclared = undeclared
        }
        for key in settings.recordKeys(of: suite, in: contents.keys) {
            exported.records[key] = contents[key]?.storedAsJSON
        }
        return exported
    }

    /// Returns the object that export prints for the values of all suites: with a member for each suite if there are several.
    func object(of values: [[String: StoredValue]]) -> [String: StoredValue] {
        guard values.count != 1 else { return values[0] }
        return Dictionary(uniqueKeysWithValues: zip(settings.suiteNames, values.map(StoredValue.dictionary)))
    }
}

// MARK: - Import

extension CommandInvocation {
    /// Stores the values of an object.
    package func importValues() async throws {
        let (bytes, file) = try input(operands[0])
        let suites = try values(in: bytes, file: file)
        var edits = try checkedEdits(suites, bytes: bytes, file: file)
        guard has(.replace) else { return try await edits.store() }
        // A suite without new values loses the others, too.
        for (suite, _) in suites { edits.add([], in: suite) }
        try await edits.replace(
            removing: suites.map { suite, values in (suite, removableKeys(of: suite, except: Set(values.keys))) }
        )
    }

    private func input(_ name: String) throws -> (bytes: [UInt8], file: String) {
        if name == "-" { return (try console.read(), "standard input") }
        do {
            let file = try console.system.open(FilePath(name), OpenFlags.readOnly)
            guard try console.system.status(of: file).isRegular else {
                return (try console.system.readStream(file), name)
            }
            return (try console.system.contents(of: file, limit: SettingsFile.longestFile), name)
        } catch {
            throw CommandFailure(
                CommandExit.noInput,
                "\(name) cannot be read: \(error.reason). Nothing is imported. Use a file that you may read."
            )
        }
    }

    /// Reads the values of each suite.
    func values(in bytes: [UInt8], file: String) throws -> [(suite: SettingsSuite, values: [String: StoredValue])] {
        let object: [String: StoredValue]
        do {
            object = try JSONReader.readObject(bytes, .settingsFile)
        } catch {
            let place = "\(file):\(error.line):\(error.column)"
            throw CommandFailure(CommandExit.data, "\(place): \(error.problem). Nothing is changed. Correct the file.")
        }
        let suites = settings.suites
        func values(of suite: SettingsSuite, in object: [String: StoredValue]) -> [String: StoredValue] {
            object.withoutReserved.separated(by: Set(settings.settings(of: suite).flatMap(\.base.storedKeys.all)))
        }
        guard suites.count > 1 else { return suites.map { ($0, values(of: $0, in: object)) } }
        let suitesByName = Dictionary(uniqueKeysWithValues: zip(settings.suiteNames, suites))
        return try object.sorted { $0.key < $1.key }
            .map { name, value in
                guard let suite = suitesByName[name], case .dictionary(let members) = value else {
                    let names = settings.suiteNames.map { "'\($0)'" }.joined(separator: ", ")
                    throw CommandFailure(
                        CommandExit.data,
                        "\(file): '\(name)' is no object with the values of a suite. Nothing is changed. Use \(names)."
                    )
                }
                return (suite, values(of: suite, in: members))
            }
    }

    /// Checks all values, and returns the changes that store them.
    ///
    /// - Throws: ``CommandFailure`` with all problems.
    func checkedEdits(
        _ suites: [(suite: SettingsSuite, values: [String: StoredValue])],
        bytes: [UInt8],
        file: String
    ) throws -> SettingsEdits {
        var edits = SettingsEdits()
        var problems: [String] = []
        for (suite, values) in suites {
            let own = settings.settings(of: suite)
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                do {
                    if let setting = own.first(where: { $0.accepts(key, among: values) }) {
                        try setting.checkImported(value, acceptsUnknownMembers: has(.force))
                        edits.add(value, for: setting)
                    } else if let setting = own.first(where: { $0.base.storedKeys.old.contains(key) }) {
                        throw SettingsError.importedOldKey(key, of: setting.key)
                    } else if !settings.recordKeys(of: suite, in: [key]).isEmpty {
                        // The next migration would fail with anything else.
                        _ = try value.as([String].self)
                        edits.add([(key, value)], in: suite)
                    } else if includesUndeclared, !key.isEmpty {
                        try value.checkStorable(forKey: key)
                        edits.add([(key, value)], in: suite)
                    } else {
                        let similar = Similarity.best(for: key, among: own.map(\.base.storedKeys))
                        throw SettingsError.notImported(key, similar: similar)
                    }
                } catch {
                    var error = SettingsError.wrapping(error, as: .invalidValue)
                    let place = settings.suites.count == 1 ? JSONReader.place(ofKey: key, in: bytes) : nil
                    error.location = SettingsError.Location(file: file, line: place?.line, column: place?.column)
                    error.consequence = "nothing is changed"
                    problems.append(error.message)
                }
            }
        }
        guard problems.isEmpty else { throw CommandFailure(CommandExit.data, messages: problems) }
        return edits
    }

    /// Returns a function that finds the stored keys that `--replace` removes.
    private func removableKeys(
        of suite: SettingsSuite,
        except kept: Set<String>
    ) -> @Sendable ([String: StoredValue]) -> [String] {
        let own = settings.settings(of: suite).filter { !$0.isSecret && !kept.contains($0.key) }
        let declared = own.flatMap(\.base.storedKeys.all)
        guard includesUndeclared else { return { _ in declared } }
        return { [settings] stored in
            declared + settings.undeclaredKeys(of: suite, in: stored).filter { !kept.contains($0) }
        }
    }
}

extension AnySetting {
    /// Whether a key of an object is that of the setting, or one that it had before it was renamed.
    fileprivate func accepts(_ key: String, among values: [String: StoredValue]) -> Bool {
        self.key == key || values[self.key] == nil && base.storedKeys.old.first { values[$0] != nil } == key
    }

    /// Checks an imported value; the errors say what else can be done in a command.
    fileprivate func checkImported(_ value: StoredValue, acceptsUnknownMembers: Bool) throws {
        do {
            try checkGiven(value, acceptsUnknownMembers: acceptsUnknownMembers)
        } catch var error as SettingsError {
            if value == .string(SettingTraits.redactedText) { error.remedy += ", or remove the key" }
            if error.code == .unknownKey { error.remedy += ", or add --force to store it nevertheless" }
            throw error
        }
    }
}

extension SettingsEdits {
    /// Stores all changes, and removes other values in the same transaction.
    ///
    /// - Parameter removed: For each suite, returns the keys to remove, out of the keys that have a value.
    /// - Throws: The error of a transaction.
    fileprivate func replace(
        removing removed: [(suite: SettingsSuite, keys: @Sendable ([String: StoredValue]) -> [String])]
    ) async throws {
        try await eachGroup { group in
            try group.checkUnmanaged()
            // Each suite has been, or is, asked about its own keys.
            try group.suite.transaction(isManaging: true) { transaction in
                for (suite, keys) in removed where suite.engine === group.suite.engine {
                    let contents = transaction.keys.reduce(into: [:]) { $0[$1] = transaction[storedValueFor: $1] }
                    let stored = keys(contents).filter { transaction[storedValueFor: $0] != nil }
                    try suite.checkUnmanaged(stored)
                    for key in stored { try transaction.setStoredValue(nil, forKey: key) }
                }
                for (key, value) in group.edits { try transaction.setStoredValue(value, forKey: key) }
            }
        }
    }
}

extension [String: StoredValue] {
    /// The members except for those that are no settings: the name of the schema, and the last good values of a copy.
    fileprivate var withoutReserved: Self { filter { !StoredValue.reservedKeys.contains($0.key) } }
}

extension SettingsError {
    /// The error of an old key that stands beside a key that takes precedence over it.
    fileprivate static func importedOldKey(_ old: String, of key: String) -> SettingsError {
        SettingsError(
            .unknownKey,
            fact: "this is an old key of '\(key)', which has another value here",
            remedy: "remove it, or rename it to '\(key)' and remove the other value",
            key: old
        )
    }

    fileprivate static func notImported(_ key: String, similar: String?) -> SettingsError {
        let other = key.isEmpty ? "remove it, or name it" : "remove it, or add --force to store it nevertheless"
        return SettingsError(
            .unknownKey,
            fact: key.isEmpty ? "the key is empty" : "no setting has this key",
            remedy: similar.map { "rename it to '\($0)' if that is meant, \(other)" } ?? other,
            key: key
        )
    }
}
