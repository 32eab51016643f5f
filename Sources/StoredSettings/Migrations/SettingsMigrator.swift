// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Overrides-and-migrations.md, "A migration is a list of named steps".

/// Migrates values that older versions of a program have stored, in steps that each run once.
///
/// ```swift
/// var migrator = SettingsMigrator()
/// migrator.addStep("one name for the level") { settings in
///     settings.rename("log_level", to: "logLevel")
/// }
/// migrator.addStep("dates as strings") { settings in
///     try settings.convert(.startedAt, from: UnixSeconds())
/// }
/// try migrator.migrate(suite)        // at the start of the program, before its settings are used
/// ```
///
/// A record of the completed steps is stored in the suite itself, under its own key. The pending steps run in the order
/// in which they were added, in the same transaction that updates the record. If several processes start together, one
/// of them runs the steps, and no process sees a partial migration. If a step fails, the suite does not change.
///
/// Never change the name or the effect of a step that was released; add another step instead. Recorded steps that this
/// program does not know, because a newer version has added them, stay in the record.
///
/// The record is an ordinary stored value, so ``SettingsSuite/removeAll()`` removes it too. Migrate again after that.
/// Otherwise, the next start would apply the steps to values that already have the new form.
public struct SettingsMigrator: Sendable {
    private typealias Change = @Sendable (inout SettingsTransaction) throws -> Void

    private let recordKey: String

    /// The key of the record, unless another one is chosen.
    package static let defaultRecordKey = SettingsMigrator().recordKey

    private var steps: [(name: String, change: Change)] = []

    /// Creates a migrator without steps.
    ///
    /// - Parameter recordKey: The key under which the names of the completed steps are stored, as an array.
    public init(recordKey: String = "storedSettings.migrations") {
        self.recordKey = recordKey
    }

    /// Adds a step after the existing steps.
    ///
    /// - Parameters:
    ///   - name: The name of the step in the record. It must be unique in the suite.
    ///   - change: The change that the step makes.
    ///     The rules of ``SettingsSuite/transaction(_:)`` apply to it. It may read other suites.
    public mutating func addStep(
        _ name: String,
        _ change: @escaping @Sendable (inout SettingsTransaction) throws -> Void
    ) {
        steps.append((name, change))
    }

    /// Runs the pending steps in one transaction.
    ///
    /// Without pending steps, the call reads one value and writes nothing. In an empty suite, the steps run and are
    /// recorded too, so that values that are stored later in the new form are not migrated. To ensure that the result
    /// survives a loss of power, call ``SettingsSuite/synchronize()``.
    ///
    /// - Parameter suite: The suite to migrate, or one of its groups, which has a record of its own.
    /// - Returns: The names of the steps that ran.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/migrationFailed`` when a step fails. Also throws when the
    ///   stored values cannot be read now, so that the last good values are used, or when the changes cannot be saved.
    ///   In all cases the suite is unchanged.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    @discardableResult
    public func migrate(_ suite: SettingsSuite) throws -> [String] {
        try checkNames(for: suite)
        suite.engine.recordKeys.withLock { _ = $0.insert(suite.fullKey(recordKey)) }
        guard try !pendingSteps(in: suite[storedValueFor: recordKey], of: suite).isEmpty else { return [] }
        return try suite.transaction(isManaging: true) { settings in
            let record = settings[storedValueFor: recordKey]
            let pending = try pendingSteps(in: record, of: suite)
            guard !pending.isEmpty else { return [] }
            // The last good values of a broken file must not be migrated: they would replace its contents after it is corrected.
            if let problem = suite.engine.store.problem {
                var error = suite.naming(problem)
                error.consequence = "no setting is migrated, and the next migration tries again"
                throw error
            }
            for step in pending { try run(step, in: &settings, of: suite) }
            let names = pending.map(\.name)
            settings[storedValueFor: recordKey] = try (completedNames(in: record, of: suite) + names).storedValue()
            return names
        }
    }

    /// Runs the pending steps in one transaction, and suspends the task while it waits for another writer.
    ///
    /// - Parameter suite: The suite to migrate, or one of its groups.
    /// - Returns: The names of the steps that ran.
    /// - Throws: ``SettingsError``, as the synchronous form does; `CancellationError` when the task is canceled before. Then the
    ///   suite is unchanged.
    @discardableResult
    public nonisolated(nonsending) func migrate(_ suite: SettingsSuite) async throws -> [String] {
        try await suite.engine.suspending { try migrate(suite) }
    }
}

extension SettingsMigrator {
    private func completedNames(in record: StoredValue?, of suite: SettingsSuite) throws -> [String] {
        do {
            return try record?.as([String].self) ?? []
        } catch {
            var error = suite.naming(SettingsError.wrapping(error, as: .invalidValue))
            error.key = suite.fullKey(recordKey)
            error.consequence = "no setting is migrated, because the completed steps are unknown"
            error.remedy = "store an array of the names of the completed steps under that key"
            throw error
        }
    }

    private func pendingSteps(
        in record: StoredValue?,
        of suite: SettingsSuite
    ) throws -> [(name: String, change: Change)] {
        let completed = Set(try completedNames(in: record, of: suite))
        return steps.filter { !completed.contains($0.name) }
    }

    private func run(
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
                remedy: cause.remedy.isEmpty ? "correct the step, or the stored values that it reads" : cause.remedy,
                key: cause.key,
                underlying: error
            )
            failure.path = cause.path
            throw suite.naming(failure)
        }
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
