// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Overrides-and-migrations.md, "A migration is a list of named steps".

/// Brings what older versions of a program have stored into the form that this one reads: step by step, each step once.
///
/// ```swift
/// var migrator = SettingsMigrator()
/// migrator.addStep("one name for the level") { settings in
///     settings.rename("log_level", to: "logLevel")
/// }
/// migrator.addStep("dates as text") { settings in
///     try settings.convert(.startedAt, from: UnixSeconds())
/// }
/// try migrator.migrate(suite)        // at the start of the program, before its settings are used
/// ```
///
/// The names of the steps that were made are stored in the suite itself, under one key of its own. The steps that are
/// missing there are made in the order in which they were added, in one transaction with that record: so of any number
/// of processes that start together one makes them, and no process sees them half made. When one step fails, none is made.
///
/// Once added, a step keeps its name and what it does; what comes later is another step. Steps that are recorded and that
/// this program does not know, because a newer one has made them, stay recorded.
///
/// The record is a stored value as any other: ``SettingsSuite/removeAll()`` removes it too. Migrate again after that, so
/// that what is stored from then on is not taken for the old form at the next start.
public struct SettingsMigrator: Sendable {
    /// What a step does to the suite.
    ///
    /// It goes by the rules of ``SettingsSuite/transaction(_:)``. It may read other suites.
    public typealias Change = @Sendable (inout SettingsTransaction) throws -> Void

    private let recordKey: String
    private var steps: [(name: String, change: Change)] = []

    /// Creates a migrator without steps.
    ///
    /// - Parameter recordKey: The key under which the names of the steps that were made are stored, as an array.
    public init(recordKey: String = "storedSettings.migrations") {
        self.recordKey = recordKey
    }

    /// Adds a step after those that were added before.
    ///
    /// - Parameters:
    ///   - name: The name under which it is recorded; one that no other step of this suite has.
    ///   - change: What it does.
    public mutating func addStep(_ name: String, _ change: @escaping Change) {
        steps.append((name, change))
    }

    /// Makes the steps that were not made yet, all of them or none.
    ///
    /// When there are none, that takes one read, and writes nothing. A suite in which nothing is stored gets the record
    /// too, so that what is stored later in the new form is not taken for the old one. For when it survives a loss of
    /// power, see ``SettingsSuite/synchronize()``.
    ///
    /// - Parameter suite: The suite whose values are brought up to date.
    /// - Returns: The names of the steps that were made now.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/migrationFailed`` when a step fails; another one when what is
    ///   stored cannot be read now, so that the last good values serve, or when the changes cannot be saved. Then nothing
    ///   has changed.
    @discardableResult
    public func migrate(_ suite: SettingsSuite) throws -> [String] {
        try checkNames(for: suite)
        guard try !missing(in: suite.storedValue(forKey: recordKey), of: suite).isEmpty else { return [] }
        return try suite.transaction { settings in
            let record = settings[storedValueFor: recordKey]
            let missing = try missing(in: record, of: suite)
            guard !missing.isEmpty else { return [] }
            if let problem = suite.engine.store.problem { throw unreadable(suite, because: problem) }
            for step in missing { try make(step, in: &settings, of: suite) }
            let names = missing.map(\.name)
            settings[storedValueFor: recordKey] = try (recorded(in: record, of: suite) + names).storedValue()
            return names
        }
    }
}

extension SettingsMigrator {
    private func recorded(in record: StoredValue?, of suite: SettingsSuite) throws -> [String] {
        do {
            return try record?.as([String].self) ?? []
        } catch {
            var error = suite.naming(SettingsError.wrapping(error, as: .invalidValue))
            error.key = recordKey
            error.consequence = "no setting is migrated, since nobody knows which steps were made"
            error.remedy = "restore the list of the steps that were made"
            throw error
        }
    }

    private func missing(
        in record: StoredValue?,
        of suite: SettingsSuite
    ) throws -> [(name: String, change: Change)] {
        let recorded = Set(try recorded(in: record, of: suite))
        return steps.filter { !recorded.contains($0.name) }
    }

    private func make(
        _ step: (name: String, change: Change),
        in settings: inout SettingsTransaction,
        of suite: SettingsSuite
    ) throws {
        do {
            try step.change(&settings)
            try settings.throwFailure()
        } catch {
            let cause = SettingsError.wrapping(error, as: .migrationFailed)
            var failure = SettingsError(
                .migrationFailed,
                fact: "the migration step '\(step.name)' failed: \(cause.fact)",
                consequence: "no setting is migrated, and the next migration tries again",
                remedy: cause.remedy,
                key: cause.key,
                underlying: error
            )
            failure.path = cause.path
            throw suite.naming(failure)
        }
    }

    /// What a broken file held last must not be written over what it holds once it is mended.
    private func unreadable(_ suite: SettingsSuite, because problem: SettingsError) -> SettingsError {
        var error = suite.naming(problem)
        error.consequence = "no setting is migrated, and the next migration tries again"
        return error
    }

    private func checkNames(for suite: SettingsSuite) throws {
        var names: Set<String> = []
        for step in steps where !names.insert(step.name).inserted {
            throw suite.naming(
                SettingsError(
                    .migrationFailed,
                    fact: "two migration steps have the name '\(step.name)'",
                    consequence: "no setting is migrated",
                    remedy: "give each step a name of its own"
                )
            )
        }
    }
}
