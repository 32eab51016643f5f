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
    /// The treatment of keys and of variables that belong to no setting, and of members that a structure does not have.
    public enum UnknownKeys: Sendable, Hashable {
        /// It is an error.
        case reject
        /// It is a warning.
        case warn
        /// It is accepted, because other parts of the program store values in the suite.
        case accept
    }

    /// Checks the values of all sources, and throws one error with all problems.
    ///
    /// ```swift
    /// try SettingsCatalog(ServerSettings()).validate()       // at the start of a server
    /// ```
    ///
    /// Problems are: a file that cannot be read; a value that its type, its range or its validator rejects, whether it is used
    /// or hidden by another layer; a key that no declaration has; a member of a structure that its type ignores; a variable that
    /// has the prefix of a suite and belongs to no setting; and declarations that contradict each other. Values of deprecated
    /// settings, and of old keys beside new ones, are warnings: they are reported to the reporter of the suite. So is a missing
    /// file whose values are known, which the next checkpoint writes again.
    ///
    /// A suite that several catalogs share is validated by one of them with all settings, or with `.accept`. Run a
    /// ``SettingsMigrator`` with a record key of its own before. Validation reads the values, and blocks only as reading does.
    ///
    /// - Parameter unknownKeys: What unknown keys, members and variables mean.
    /// - Throws: ``SettingsValidationError`` when there is a problem.
    public func validate(unknownKeys: UnknownKeys = .reject) throws {
        let problems = check(unknownKeys)
        // The read that finds a missing file has reported that.
        for (suite, warning) in problems.warnings where !warning.isCorrectedByCheckpoint {
            // A read does not report it again.
            _ = suite.layers?.isFirst(warning)
            suite.reporter.report(warning)
        }
        guard problems.errors.isEmpty else { throw SettingsValidationError(problems: problems.errors) }
    }

    /// Validates like ``validate(unknownKeys:)``, and writes the problems to standard error instead of throwing them.
    ///
    /// ```swift
    /// if let code = SettingsCatalog(ServerSettings()).exitCodeIfInvalid() { exit(code) }
    /// ```
    ///
    /// An error that `main` throws ends the process with a signal and a backtrace, like a defect of the program.
    ///
    /// - Parameter unknownKeys: What unknown keys and variables mean.
    /// - Returns: The exit code 78, which sysexits.h names `EX_CONFIG`, if there is a problem; otherwise `nil`.
    public func exitCodeIfInvalid(unknownKeys: UnknownKeys = .reject) -> Int32? {
        do {
            try validate(unknownKeys: unknownKeys)
            return nil
        } catch {
            SystemCalls.writeToStandardError("\(error)\n")
            return 78  // EX_CONFIG
        }
    }

    /// Returns what ``validate(unknownKeys:)`` throws and reports.
    ///
    /// - Parameter unknownKeys: What unknown keys and variables mean.
    /// - Returns: The errors and the warnings; both are empty if there is no problem.
    public func findProblems(unknownKeys: UnknownKeys = .reject) -> (
        errors: [SettingsError], warnings: [SettingsError]
    ) {
        let problems = check(unknownKeys)
        return (problems.errors, problems.warnings.map(\.error))
    }

    private typealias Warning = (suite: SettingsSuite, error: SettingsError)

    private func check(_ unknownKeys: UnknownKeys) -> (errors: [SettingsError], warnings: [Warning]) {
        var errors = conflicts
        var warnings: [Warning] = []
        var unknown: [Warning] = []
        for suite in suites {
            // The contents are read first, so that the store knows whether it can.
            let contents = suite.engine.contents()
            for setting in self where setting.suite == suite {
                errors += setting.findProblems()
                if unknownKeys != .accept { unknown += setting.base.unknownMembers().map { (suite, $0) } }
                warnings += setting.base.warnings(in: contents).map { (suite, $0) }
            }
        }
        for suite in stores {
            errors += suite.engine.requirementErrors(for: settings(of: suite).map(\.key))
            let contents = suite.engine.contents()
            let problem = suite.engine.store.problem
            if let problem, !problem.isCorrectedByCheckpoint {
                errors.append(suite.naming(problem.ifContinued))
                continue
            }
            if let problem { warnings.append((suite, suite.naming(problem))) }
            let recordKeys = suite.engine.recordKeys.withLock(\.self)
            unknown += suite.unknownKeys(in: contents, among: settings(of: suite), except: recordKeys) {
                suite.engine.store.location(ofValueForKey: $0)
            }
        }
        for suite in suites {
            guard let snapshot = suite.layers?.snapshot else { continue }
            errors += snapshot.problems.map { suite.naming($0.ifContinued) }
            let own = settings(of: suite)
            for document in snapshot.documents {
                unknown += suite.unknownKeys(in: document.contents, among: own, except: document.recordKeys) {
                    document.location(ofValueForKey: $0)
                }
            }
        }
        unknown += unknownVariables
        switch unknownKeys {
        case .reject: errors += unknown.map(\.error)
        case .warn: warnings += unknown
        case .accept: break
        }
        // Suites over one store, and settings of one suite, have the same problems.
        var messages: Set<String> = []
        return (
            errors.filter { messages.insert($0.message).inserted },
            warnings.filter { messages.insert($0.error.message).inserted }
        )
    }

    /// A suite for each store.
    private var stores: [SettingsSuite] {
        suites.reduce(into: []) { stores, suite in
            if !stores.contains(where: { $0.engine === suite.engine }) { stores.append(suite) }
        }
    }

    /// The errors of environment variables that have the prefix of a suite and belong to no setting of the catalog.
    private var unknownVariables: [Warning] {
        var prefixes: [(suite: SettingsSuite, prefix: String, names: [String])] = []
        // The present name for each name.
        var known: [String: String] = [:]
        for suite in suites {
            for source in suite.sources {
                guard case .environment(let variables, let prefix, let hasFiles) = source else { continue }
                for name in filter({ $0.suite == suite }).flatMap({ $0.base.memberNames(in: source) }) {
                    known[name] = name
                }
                for names in filter({ $0.suite == suite }).map({ $0.names(in: source) }) {
                    for name in names.all {
                        let present = names.current ?? name
                        known[name] = present
                        guard hasFiles else { continue }
                        known[SecretNames.variable(forFileOf: name)] = SecretNames.variable(forFileOf: present)
                    }
                }
                guard !prefix.isEmpty else { continue }
                let environment = variables ?? SystemCalls.environment()
                let names = Set(environment.keys).subtracting(ServiceVariables.names(in: environment))
                prefixes.append((suite, prefix, Array(names)))
            }
        }
        // A variable belongs to the longest prefix.
        prefixes.sort { $0.prefix.count > $1.prefix.count }
        var found: Set<String> = []
        return prefixes.flatMap { suite, prefix, names in
            names.filter { $0.hasPrefix(prefix) && known[$0] == nil && found.insert($0).inserted }.sorted()
                .map { name in
                    let similar = Similarity.best(for: name, among: known.keys.filter { $0.hasPrefix(prefix) })
                    return (suite, .unknownVariable(name, similar: similar.flatMap { known[$0] }, suite))
                }
        }
    }
}

extension SettingsError {
    /// The error with a consequence that is true also when the program stops because of it.
    fileprivate var ifContinued: SettingsError {
        var error = self
        if !consequence.isEmpty { error.consequence = "if the program continues, \(consequence)" }
        return error
    }
}

extension SettingsSuite {
    /// The errors of keys that no declaration has.
    fileprivate func unknownKeys(
        in contents: [String: StoredValue],
        among own: [AnySetting],
        except records: Set<String>,
        location: (String) -> SettingsError.Location?
    ) -> [(suite: SettingsSuite, error: SettingsError)] {
        let known = own.map(\.base.storedKeys)
        // A setting that has a value is not the one that was meant.
        let names = Set(known.flatMap(\.all)).union(records)
        let contents = contents.separated(by: names)
        let candidates = known.filter { keys in !keys.all.contains { contents[$0] != nil } }
        return contents.keys.filter { !names.contains($0) }.sorted()
            .map { key in
                var error = SettingsError.unknownKey(key, similar: Similarity.best(for: key, among: candidates))
                error.location = location(key)
                return (self, naming(error))
            }
    }
}

extension LayerDocument {
    /// The keys of records of migrations, which another program has stored.
    fileprivate var recordKeys: Set<String> {
        guard case .suite(let suite) = origin else { return [SettingsMigrator.defaultRecordKey] }
        let keys = suite.engine.recordKeys.withLock(\.self)
        guard let group = suite.group else { return keys }
        // A group that another process has migrated has a record of its own, too.
        return Set(keys.compactMap(group.relative)).union([SettingsMigrator.defaultRecordKey])
    }
}

extension SettingsError {
    static func unknownKey(_ key: String, similar: String?) -> SettingsError {
        SettingsError(
            .unknownKey,
            fact: "no setting has this key",
            consequence: "its value has no effect",
            remedy: similar.map { "rename it to '\($0)' if that is meant, or remove it" } ?? "remove it",
            key: key
        )
    }

    fileprivate static func unknownVariable(_ name: String, similar: String?, _ suite: SettingsSuite) -> SettingsError {
        SettingsError(
            .unknownVariable,
            fact: "no setting has the environment variable \(name)",
            consequence: "it has no effect",
            remedy: similar.map { "set \($0) if that is meant, or unset \(name)" } ?? "unset \(name)",
            suite: suite.name
        )
    }

    static func deprecated(_ key: String, setBy source: String, _ message: String) -> SettingsError {
        SettingsError(
            .deprecatedKey,
            fact: "the setting is deprecated, and has a value from \(source)",
            consequence: "the value is used until the setting is removed from the program",
            remedy: message.isEmpty ? "remove the value" : message,
            key: key
        )
    }
}
