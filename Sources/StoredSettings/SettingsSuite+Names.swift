// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "A named suite is configured once".

import Synchronization

/// The layers and the reporter of all suites of a name, each unless a suite is created with its own.
final class SuiteConfiguration: Sendable {
    private struct Names {
        var configurations: [String: SuiteConfiguration] = [:]
        /// The names of all suites that were created.
        var used: Set<String> = []
    }

    private static let names = Locked(Names())

    private let name: String
    private let sources: [SettingsSource]
    let reporter: any SettingsReporter
    /// The layers of the suites with one engine, so that they need not be compared.
    private let known = Locked<LayerList?>(nil)

    fileprivate init(
        _ name: String,
        _ sources: [SettingsSource],
        _ reporter: any SettingsReporter
    ) {
        self.name = name
        self.sources = sources
        self.reporter = reporter
    }

    /// The layers of a suite of the name.
    func layers(for engine: SettingsEngine) -> LayerList? {
        if let known = known.withLock({ $0 }), known.files?.belong(to: engine) ?? true { return known }
        let layers = LayerList(sources, suiteName: name, engine: engine)
        let old = known.withLock { exchange(&$0, with: layers) }
        _ = consume old
        return layers
    }

    /// Returns the configuration of a name, which cannot be configured afterwards; `nil` if there is none.
    static func use(_ name: String) -> SuiteConfiguration? {
        names.withLock { names in
            names.used.insert(name)
            return names.configurations[name]
        }
    }

    /// - Returns: Why the name cannot be configured; `nil` if it is.
    fileprivate static func add(_ configuration: SuiteConfiguration, named name: String) -> String? {
        names.withLock { names in
            if names.configurations[name] != nil { return "was configured before" }
            if names.used.contains(name) { return "was used before" }
            names.configurations[name] = configuration
            return nil
        }
    }
}

extension SettingsSuite {
    /// The suites that replace others in the current task, by their names; that of the standard suite, whatever its name is, under
    /// `nil`.
    @TaskLocal private static var replacements: [String?: SettingsSuite] = [:]
    /// Whether suites were ever replaced, so that a program that does not do so need not search.
    private static let isReplacing = Atomic(false)

    /// The suite that replaces a named one in the current task; `nil` if there is none.
    static func replacement(forSuiteNamed name: String?) -> SettingsSuite? {
        isReplacing.load(ordering: .acquiring) ? replacements[name] : nil
    }

    /// The names of the suites that a suite replaces in the current task.
    static func names(replacedBy suite: SettingsSuite) -> [String] {
        replacements.filter { $0.value == suite }.compactMap(\.key)
    }

    /// Sets the layers and the reporter of all suites of a name.
    ///
    /// ```swift
    /// try SettingsSuite.configure("com.acme.server", sources: [.commandLine(), .environment(prefix: "ACME_")])
    ///
    /// @DefaultStorage(key: "port", suite: "com.acme.server") var port = 8080     // has the sources
    /// ```
    ///
    /// Call it once, at the start of the program, before the first suite of the name is created. A suite that is created
    /// with layers of its own has those instead, and so it is with a reporter. The standard suite is configured under its
    /// name, too.
    ///
    /// - Parameters:
    ///   - name: The name of the suite.
    ///   - sources: The sources of values, in order of precedence: see ``SettingsSource``.
    ///   - reporter: Receives failures that cannot be thrown.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/suiteInUse`` when a suite of the name was configured or
    ///   created before, because its settings would then have different layers.
    public static func configure(
        _ name: String,
        sources: [SettingsSource] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) throws {
        let configuration = SuiteConfiguration(name, sources, reporter)
        if let reason = SuiteConfiguration.add(configuration, named: name) {
            throw SettingsError.suiteInUse(reason, name)
        }
    }

    /// Runs an operation in which named suites are replaced, in its task and its child tasks.
    ///
    /// Tests that use this can run in parallel, each with its own values.
    ///
    /// ```swift
    /// try await SettingsSuite.withSuites(["com.acme.proxy": .inMemory()]) {
    ///     let settings = ProxySettings()      // whose properties name the suite "com.acme.proxy"
    ///     try await serve(settings)
    /// }
    /// ```
    ///
    /// A suite takes effect where it is created: settings that exist already are not redirected, and a `static let` that is used
    /// for the first time in the operation keeps its suite afterwards. Detached tasks, threads and queues do not inherit the
    /// suites.
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
        let all = replacements(adding: suites)
        return try await $replacements.withValue(all, operation: operation, isolation: isolation)
    }

    /// Runs an operation in which named suites are replaced, in its task and the tasks it starts.
    ///
    /// - Parameters:
    ///   - suites: The suites to use, by the names of those that they replace. A group is possible, too.
    ///   - operation: The operation to run.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public static func withSuites<Result>(
        _ suites: [String: SettingsSuite],
        operation: () throws -> Result
    ) rethrows -> Result {
        try $replacements.withValue(replacements(adding: suites), operation: operation)
    }

    /// The suites that replace others in an operation of the current task.
    private static func replacements(adding suites: [String?: SettingsSuite]) -> [String?: SettingsSuite] {
        isReplacing.store(true, ordering: .releasing)
        return replacements.merging(suites) { $1 }
    }
}

// MARK: - The standard suite
// See Documentation/Decisions/Keys-and-declarations.md, "A setting takes the standard suite once".

extension SettingsSuite {
    /// The standard suite of this process, once it was bootstrapped or used.
    private static let chosen = Locked<SettingsSuite?>(nil)

    /// The suite of every setting that names no other suite.
    ///
    /// It is the suite of ``withStandard(_:isolation:operation:)`` in the current task, otherwise the suite of
    /// ``bootstrapStandard(_:)``, and otherwise a suite named after the executable, without a version
    /// at the end of its name (`tool-1.2.4`). A setting uses the suite that is standard
    /// when the setting is created.
    public static var standard: SettingsSuite {
        if let replacement = replacement(forSuiteNamed: nil) { return replacement }
        let suite =
            chosen.withLock(\.self)
            ?? choose(SettingsSuite(unreplaced: SettingsEnvironment.process.standardSuiteName))
        return Self.replacement(forSuiteNamed: suite.name) ?? suite
    }

    /// Chooses a suite, unless another thread has chosen one meanwhile.
    ///
    /// The suite is created under no lock: that may call a reporter, which may use settings.
    ///
    /// - Returns: The suite that is chosen.
    private static func choose(_ suite: SettingsSuite) -> SettingsSuite {
        chosen.withLock { chosen in
            let first = chosen ?? suite
            chosen = first
            return first
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
        let isFirst = chosen.withLock { chosen in
            guard chosen == nil else { return false }
            chosen = suite
            return true
        }
        guard isFirst else {
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
        let all = replacements(adding: [nil: suite])
        return try await $replacements.withValue(all, operation: operation, isolation: isolation)
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
        try $replacements.withValue(replacements(adding: [nil: suite]), operation: operation)
    }
}
