// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "A named suite is configured once".

import Synchronization

/// What every suite of a name has in common, unless the suite is created with something else.
struct SuiteConfiguration: Sendable {
    private static let known = Locked<[String: SuiteConfiguration]>([:])
    /// Whether there is a configuration, so that most programs need not search.
    private static let isUsed = Atomic(false)

    let overrides: OverrideList?
    let reporter: any SettingsReporter

    /// The configuration of a name; `nil` if there is none.
    static func named(_ name: String) -> SuiteConfiguration? {
        guard isUsed.load(ordering: .acquiring) else { return nil }
        return known.withLock { $0[name] }
    }

    /// - Returns: Whether the name had no configuration before.
    fileprivate static func add(_ configuration: SuiteConfiguration, named name: String) -> Bool {
        let isNew = known.withLock { known in
            guard known[name] == nil else { return false }
            known[name] = configuration
            return true
        }
        if isNew { isUsed.store(true, ordering: .releasing) }
        return isNew
    }
}

extension SettingsSuite {
    @TaskLocal private static var replacements: [String: SettingsSuite] = [:]
    /// Whether suites were ever replaced, so that a program that does not do so need not search.
    private static let isReplacing = Atomic(false)

    /// The suite that replaces a named one in the current task; `nil` if there is none.
    static func replacement(forSuiteNamed name: String) -> SettingsSuite? {
        isReplacing.load(ordering: .acquiring) ? replacements[name] : nil
    }

    /// Gives all suites of a name the same overrides and the same reporter.
    ///
    /// ```swift
    /// try SettingsSuite.configure("com.acme.server", overrides: [.commandLine(), .environment(prefix: "ACME_")])
    ///
    /// @DefaultStorage(key: "port", suite: "com.acme.server") var port = 8080     // has the overrides
    /// ```
    ///
    /// Call it once, at the start of the program, before the first suite of the name is created. A suite that is created
    /// with overrides or a reporter of its own has those instead. The standard suite is configured under its name, too.
    ///
    /// - Parameters:
    ///   - name: The name of the suite.
    ///   - overrides: The sources whose values win over stored values.
    ///   - reporter: Receives failures that cannot be thrown.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/suiteInUse`` when the suite was configured before, or is in
    ///   use, because its settings would then have different overrides.
    public static func configure(
        _ name: String,
        overrides: [SettingsOverride] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) throws {
        let configuration = SuiteConfiguration(overrides: OverrideList(overrides), reporter: reporter)
        let isInUse = EngineRegistry.isOpen(name)
        guard !isInUse, SuiteConfiguration.add(configuration, named: name) else {
            var error = SettingsError.suiteInUse(isInUse ? "is already in use" : "was configured before")
            error.suite = name
            throw error
        }
    }

    /// Runs an operation in which named suites are replaced, in its task and its child tasks.
    ///
    /// Tests that use this can run in parallel, each with its own values.
    ///
    /// ```swift
    /// try await SettingsSuite.withSuites(["com.acme.proxy": .inMemory()]) {
    ///     let settings = ProxySettings()      // whose properties name the suite "com.acme.proxy"
    ///     …
    /// }
    /// ```
    ///
    /// A suite takes effect where it is created: settings that exist already are not redirected. Detached tasks, threads and
    /// queues do not inherit the suites.
    ///
    /// - Parameters:
    ///   - suites: The suites to use, by the names of those that they replace.
    ///   - isolation: The actor of the caller, on which the operation runs.
    ///   - operation: The operation to run.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public static func withSuites<Result>(
        _ suites: [String: SettingsSuite],
        isolation: isolated (any Actor)? = #isolation,
        operation: () async throws -> Result
    ) async rethrows -> Result {
        isReplacing.store(true, ordering: .releasing)
        let all = replacements.merging(suites) { $1 }
        return try await $replacements.withValue(all, operation: operation, isolation: isolation)
    }

    /// Runs an operation in which named suites are replaced, in its task and the tasks it starts.
    ///
    /// - Parameters:
    ///   - suites: The suites to use, by the names of those that they replace.
    ///   - operation: The operation to run.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public static func withSuites<Result>(
        _ suites: [String: SettingsSuite],
        operation: () throws -> Result
    ) rethrows -> Result {
        isReplacing.store(true, ordering: .releasing)
        return try $replacements.withValue(replacements.merging(suites) { $1 }, operation: operation)
    }
}
