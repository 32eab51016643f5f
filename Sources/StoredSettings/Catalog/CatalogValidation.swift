// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "Validation throws one error with all problems".

/// All problems that ``SettingsCatalog/validate(unknownKeys:)`` has found.
public struct SettingsValidationError: Error, Sendable {
    /// The problems, each with its place, its consequence and its fix; never empty.
    public let problems: [SettingsError]
}

extension SettingsValidationError: CustomStringConvertible {
    /// The number of problems, and each of them on a line of its own.
    public var description: String {
        let count = problems.count == 1 ? "There is 1 problem" : "There are \(problems.count) problems"
        return (["\(count) with the settings:"] + problems.map { "- " + $0.message }).joined(separator: "\n")
    }
}

extension SettingsCatalog {
    /// What a key that no declaration has means, and a variable that has the prefix of a suite.
    public enum UnknownKeys: Sendable, Hashable {
        /// It is an error.
        case reject
        /// It is a warning.
        case warn
        /// It is accepted, because other parts of the program store values in the suite.
        case accept
    }

    /// Checks every stored and every overridden value, and throws one error with all problems.
    ///
    /// ```swift
    /// try SettingsCatalog(ServerSettings()).validate()       // at the start of a server
    /// ```
    ///
    /// Problems are: a file that cannot be read; a value that its type, its range or its validator rejects, whether it is used
    /// or hidden by another layer; a key that no declaration has; a variable that has the prefix of a suite and belongs to no
    /// setting; and declarations that contradict each other. Values of deprecated settings, and of old keys beside new ones, are
    /// warnings: they are reported to the reporter of the suite.
    ///
    /// Validation reads the values, and blocks only as reading does.
    ///
    /// - Parameter unknownKeys: What unknown keys and variables mean.
    /// - Throws: ``SettingsValidationError`` when there is a problem.
    public func validate(unknownKeys: UnknownKeys = .reject) throws {
        let problems = check(unknownKeys)
        for (suite, warning) in problems.warnings { suite.reporter.report(warning) }
        guard problems.errors.isEmpty else { throw SettingsValidationError(problems: problems.errors) }
    }

    /// Returns what ``validate(unknownKeys:)`` throws and reports.
    ///
    /// - Parameter unknownKeys: What unknown keys and variables mean.
    /// - Returns: The errors and the warnings; both are empty if there is no problem.
    public func findProblems(unknownKeys: UnknownKeys = .reject) -> (errors: [SettingsError], warnings: [SettingsError])
    {
        let problems = check(unknownKeys)
        return (problems.errors, problems.warnings.map(\.error))
    }

    private typealias Warning = (suite: SettingsSuite, error: SettingsError)

    private func check(_ unknownKeys: UnknownKeys) -> (errors: [SettingsError], warnings: [Warning]) {
        var errors = conflicts
        var warnings: [Warning] = []
        for suite in suites {
            let own = filter { $0.suite == suite }
            // The contents are read first, so that the store knows whether it can.
            let contents = suite.engine.contents()
            if let problem = suite.engine.store.problem { errors.append(suite.naming(problem)) }
            for setting in own {
                errors += setting.problems()
                warnings += setting.warnings(in: contents).map { (suite, $0) }
            }
            let unknown =
                suite.engine.store.problem == nil ? suite.unknownKeys(in: contents, among: allKeys(in: suite)) : []
            switch unknownKeys {
            case .reject: errors += unknown + suite.unknownVariables(among: own)
            case .warn: warnings += (unknown + suite.unknownVariables(among: own)).map { (suite, $0) }
            case .accept: break
            }
        }
        return (errors, warnings)
    }

    /// The keys of all settings in the store of a suite.
    private func allKeys(in suite: SettingsSuite) -> [String] {
        filter { $0.suite.engine === suite.engine }.flatMap(\.base.storedKeys.all)
    }
}

extension AnySetting {
    fileprivate func warnings(in contents: [String: StoredValue]) -> [SettingsError] {
        var warnings: [SettingsError] = []
        let keys = base.storedKeys
        if contents[key] != nil, let old = keys.old.first(where: { contents[$0] != nil }) {
            warnings.append(.ignoredOldKey(old, of: key))
        }
        if let deprecation = traits.deprecation {
            let source = base.overrideNames.first ?? (keys.all.first { contents[$0] != nil }).map { "the key '\($0)'" }
            if let source { warnings.append(.deprecated(key, setBy: source, deprecation)) }
        }
        return warnings.map(suite.naming)
    }
}

extension SettingsSuite {
    /// The errors of stored keys that no declaration has.
    fileprivate func unknownKeys(in contents: [String: StoredValue], among known: [String]) -> [SettingsError] {
        let unknown = contents.keys.filter { !known.contains($0) && $0 != SettingsMigrator.defaultRecordKey }
        return unknown.sorted()
            .map { key in
                var error = SettingsError.unknownKey(key, similar: Similarity.best(for: key, among: known))
                error.location = (engine.store as? any LocatingStore)?.location(ofValueForKey: key)
                return naming(error)
            }
    }

    /// The errors of environment variables that have the prefix of this suite and belong to no setting.
    fileprivate func unknownVariables(among settings: [AnySetting]) -> [SettingsError] {
        (overrides?.overrides ?? [])
            .flatMap { override -> [SettingsError] in
                guard case .environment(let variables, let prefix) = override.source, !prefix.isEmpty else { return [] }
                let known = settings.compactMap { setting in
                    setting.traits.environmentVariable ?? OverrideName.variable(forKey: setting.key, prefix: prefix)
                }
                let names = variables.map { Array($0.keys) } ?? SystemCalls.environmentNames()
                return names.filter { $0.hasPrefix(prefix) && !known.contains($0) }.sorted()
                    .map { name in
                        var error = SettingsError.unknownVariable(
                            name,
                            similar: Similarity.best(for: name, among: known)
                        )
                        error.suite = self.name
                        return error
                    }
            }
    }
}

extension SettingsError {
    fileprivate static func unknownKey(_ key: String, similar: String?) -> SettingsError {
        SettingsError(
            .unknownKey,
            fact: "no setting has this key",
            consequence: "its value has no effect",
            remedy: similar.map { "rename it to '\($0)' if that is meant, or remove it" } ?? "remove it",
            key: key
        )
    }

    fileprivate static func unknownVariable(_ name: String, similar: String?) -> SettingsError {
        SettingsError(
            .unknownVariable,
            fact: "no setting has the environment variable \(name)",
            consequence: "it has no effect",
            remedy: similar.map { "set \($0) if that is meant, or unset \(name)" } ?? "unset \(name)"
        )
    }

    fileprivate static func deprecated(_ key: String, setBy source: String, _ message: String) -> SettingsError {
        SettingsError(
            .deprecatedKey,
            fact: "the setting is deprecated, and has a value from \(source)",
            consequence: "the value is used until the setting is removed from the program",
            remedy: message.isEmpty ? "remove the value" : message,
            key: key
        )
    }
}
