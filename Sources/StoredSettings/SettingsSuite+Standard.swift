// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "A setting takes the standard suite once".

import Synchronization

extension SettingsSuite {
    private enum Choice {
        case open
        case bootstrapped(SettingsSuite)
        case used(SettingsSuite)
    }

    private static let choice = Locked<Choice>(.open)

    @TaskLocal private static var replacement: SettingsSuite?

    /// The suite of settings that name no other: the one that ``withStandard(_:isolation:operation:)`` has put in its
    /// place for the current task, else the one chosen by ``bootstrapStandard(_:)``, else one named after the executable.
    ///
    /// A setting takes the standard suite of the moment it is made, and stays with it.
    public static var standard: SettingsSuite {
        if let replacement { return replacement }
        return choice.withLock { choice in
            switch choice {
            case .used(let suite):
                return suite
            case .bootstrapped(let suite):
                choice = .used(suite)
                return suite
            case .open:
                let suite = SettingsSuite(SettingsEnvironment.process.executableName)
                choice = .used(suite)
                return suite
            }
        }
    }

    /// Chooses the standard suite.
    ///
    /// Call it once, at the start of the program, before any setting is made.
    ///
    /// - Parameter suite: The suite that settings are kept in unless they name another.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/standardAlreadyChosen`` when the standard suite has been
    ///   chosen or used before, since settings would then be kept in two places.
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
                consequence: "it stays as it was",
                remedy: "call bootstrapStandard once, before the first setting is made"
            )
        }
    }

    /// Makes a suite the standard one for as long as an operation runs, in its task and the tasks it starts: so tests run
    /// in parallel, each on its own.
    ///
    /// ```swift
    /// try await SettingsSuite.withStandard(.inMemory()) {
    ///     let settings = ServerSettings()
    ///     …
    /// }
    /// ```
    ///
    /// Detached tasks, threads and queues do not inherit it. An operation that does not await takes the other form of this
    /// method, without `await`.
    ///
    /// - Parameters:
    ///   - suite: The suite that settings made by the operation are kept in.
    ///   - isolation: The actor that the operation runs on: the caller's.
    ///   - operation: What to run.
    /// - Returns: What the operation returns.
    /// - Throws: What the operation throws.
    public static func withStandard<Result>(
        _ suite: SettingsSuite,
        isolation: isolated (any Actor)? = #isolation,
        operation: () async throws -> Result
    ) async rethrows -> Result {
        try await $replacement.withValue(suite, operation: operation, isolation: isolation)
    }

    /// Makes a suite the standard one for as long as an operation runs, in its task and the tasks it starts.
    ///
    /// ```swift
    /// SettingsSuite.withStandard(.inMemory()) {
    ///     let settings = ServerSettings()
    ///     settings.port = 9090
    /// }
    /// ```
    ///
    /// Detached tasks, threads and queues do not inherit it.
    ///
    /// - Parameters:
    ///   - suite: The suite that settings made by the operation are kept in.
    ///   - operation: What to run.
    /// - Returns: What the operation returns.
    /// - Throws: What the operation throws.
    public static func withStandard<Result>(_ suite: SettingsSuite, operation: () throws -> Result) rethrows -> Result {
        try $replacement.withValue(suite, operation: operation)
    }
}
