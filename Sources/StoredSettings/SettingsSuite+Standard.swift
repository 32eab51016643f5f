// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "A setting takes the standard suite once".

import Synchronization

extension SettingsSuite {
    private enum Choice {
        case open
        case bootstrapped(SettingsSuite)
        case used(SettingsSuite)

        mutating func use() -> SettingsSuite? {
            switch self {
            case .open: return nil
            case .bootstrapped(let suite), .used(let suite):
                self = .used(suite)
                return suite
            }
        }
    }

    private static let choice = Locked<Choice>(.open)

    @TaskLocal private static var replacement: SettingsSuite?

    /// The suite of every setting that names no other suite.
    ///
    /// It is the suite of ``withStandard(_:isolation:operation:)`` in the current task, otherwise the suite of
    /// ``bootstrapStandard(_:)``, and otherwise a suite named after the executable, without a version
    /// at the end of its name (`tool-1.2.4`). A setting uses the suite that is standard
    /// when the setting is created.
    public static var standard: SettingsSuite {
        if let replacement { return replacement }
        let suite = usedChoice ?? use(SettingsSuite(unreplaced: SettingsEnvironment.process.standardSuiteName))
        return Self.replacement(forSuiteNamed: suite.name) ?? suite
    }

    /// The suite that was chosen, which is in use from now on; `nil` if none was.
    private static var usedChoice: SettingsSuite? {
        choice.withLock { $0.use() }
    }

    /// Uses a suite, unless another thread has chosen one meanwhile.
    ///
    /// The suite is created under no lock: that may call a reporter, which may use settings.
    private static func use(_ suite: SettingsSuite) -> SettingsSuite {
        choice.withLock { choice in
            if let other = choice.use() { return other }
            choice = .used(suite)
            return suite
        }
    }

    /// Chooses the standard suite.
    ///
    /// Call it once, at the start of the program, before the first setting is created.
    ///
    /// - Parameter suite: The suite of every setting that names no other suite.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/standardAlreadyChosen`` when the standard suite has been
    ///   chosen or used before, because settings would then be stored in two places.
    public static func bootstrapStandard(_ suite: SettingsSuite) throws {
        let isLate = choice.withLock { choice in
            guard case .open = choice else { return true }
            choice = .bootstrapped(suite)
            return false
        }
        guard !isLate else {
            throw SettingsError(
                .standardAlreadyChosen,
                fact: "the standard suite has been chosen or used already",
                consequence: "it is not replaced",
                remedy: "call bootstrapStandard once, before the first setting without a suite is created"
            )
        }
    }

    /// Runs an operation with another standard suite, in its task and its child tasks.
    ///
    /// Tests that use this can run in parallel, each with its own values.
    ///
    /// ```swift
    /// try await SettingsSuite.withStandard(.inMemory()) {
    ///     let settings = ServerSettings()
    ///     try await serve(settings)
    /// }
    /// ```
    ///
    /// Detached tasks, threads and queues do not inherit the suite.
    ///
    /// - Parameters:
    ///   - suite: The standard suite of settings that the operation creates.
    ///   - isolation: The actor of the caller, on which the operation runs.
    ///   - operation: The operation to run.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public static func withStandard<Result>(
        _ suite: SettingsSuite,
        isolation: isolated (any Actor)? = #isolation,
        operation: () async throws -> Result
    ) async rethrows -> Result {
        try await $replacement.withValue(suite, operation: operation, isolation: isolation)
    }

    /// Runs an operation with another standard suite, in its task and the tasks it starts.
    ///
    /// ```swift
    /// SettingsSuite.withStandard(.inMemory()) {
    ///     let settings = ServerSettings()
    ///     settings.port = 9090
    /// }
    /// ```
    ///
    /// Detached tasks, threads and queues do not inherit the suite.
    ///
    /// - Parameters:
    ///   - suite: The standard suite of settings that the operation creates.
    ///   - operation: The operation to run.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public static func withStandard<Result>(_ suite: SettingsSuite, operation: () throws -> Result) rethrows -> Result {
        try $replacement.withValue(suite, operation: operation)
    }
}
