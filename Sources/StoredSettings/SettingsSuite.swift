// SPDX-License-Identifier: Apache-2.0

/// A named collection of settings with one store.
///
/// ```swift
/// let suite = SettingsSuite("com.acme.server")
/// @DefaultStorage(key: "port", suite: "com.acme.server") var port = 8080   // a string literal is a suite, too
/// ```
///
/// A suite is a handle. Suites that name the same file share one store in this process, and any number of processes share
/// the file. Creating a suite opens no file, and reading creates none. A suite may be used from any thread.
public struct SettingsSuite: Sendable {
    /// The properties of a suite in one object, because every setting has a copy of its suite.
    private final class Parts: Sendable {
        let name: String
        let engine: SettingsEngine
        let reporter: any SettingsReporter
        let layers: LayerList?
        let isObservable: Bool
        /// `nil` for a whole suite.
        let group: SuiteGroup?

        init(
            _ name: String,
            _ engine: SettingsEngine,
            _ layers: LayerList?,
            _ reporter: any SettingsReporter,
            _ isObservable: Bool,
            _ group: SuiteGroup?
        ) {
            self.name = name
            self.engine = engine
            self.layers = layers
            self.reporter = reporter
            self.isObservable = isObservable
            self.group = group
        }
    }

    private let parts: Parts

    init(
        name: String,
        engine: SettingsEngine,
        layers: LayerList?,
        reporter: any SettingsReporter,
        isObservable: Bool = SettingsSuite.isObservableByDefault,
        prefix: String? = nil
    ) {
        var group: SuiteGroup?
        if let prefix {
            let whole = Parts(name, engine, layers, reporter, isObservable, nil)
            group = SuiteGroup(prefix, of: SettingsSuite(whole))
        }
        parts = Parts(name, engine, layers, reporter, isObservable, group)
    }

    private init(_ parts: Parts) {
        self.parts = parts
    }

    /// The name that the suite was created with, or the path of its file.
    public var name: String { parts.name }

    /// Whether Observation tracks the settings of this suite: see ``observable(_:)``.
    public var isObservable: Bool { parts.isObservable }

    var engine: SettingsEngine { parts.engine }
    var reporter: any SettingsReporter { parts.reporter }
    var layers: LayerList? { parts.layers }
    var group: SuiteGroup? { parts.group }

    /// Creates a suite that stores its values in a file of its own.
    ///
    /// The file is `settings.json` in a directory with the suite's name. The parent of that directory is the first of these
    /// that is set:
    ///
    /// 1. `$STORED_SETTINGS_HOME`
    /// 2. the first absolute path in systemd's `$STATE_DIRECTORY`
    /// 3. `$XDG_CONFIG_HOME` if it is absolute, except on Apple platforms
    /// 4. `~/.config`, or `~/Library/Application Support` on Apple platforms
    ///
    /// If none of them is available, nothing can be stored: assigned values last as long as the process, ``persistence`` is
    /// ephemeral, and every change that can throw throws ``SettingsError/Code/locationUnavailable``. The variables are
    /// read when the name is first used. While that suite is open, its name refers to the same file.
    ///
    /// - Parameters:
    ///   - name: Any non-empty string. Characters that a file name cannot contain are percent-encoded, so no name leaves
    ///     the directory.
    ///   - overrides: The sources whose values win over stored values. They apply to the settings of this suite and its
    ///     copies, not to another suite with the same name. Without any, and without bases, those of
    ///     ``configure(_:overrides:bases:reporter:)`` apply.
    ///   - bases: The sources whose values are used where no value is stored. They apply like overrides.
    ///   - reporter: Receives failures that cannot be thrown. By default this is the reporter of
    ///     ``configure(_:overrides:bases:reporter:)``, and otherwise each distinct failure is one line on standard error.
    public init(
        _ name: String,
        overrides: [SettingsOverride] = [],
        bases: [SettingsBase] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) {
        let isPlain = overrides.isEmpty && bases.isEmpty && reporter === StandardErrorReporter.shared
        let ownReporter = reporter === StandardErrorReporter.shared ? nil : reporter
        if let replacement = Self.replacement(forSuiteNamed: name) {
            self = isPlain ? replacement : replacement.with(overrides, bases, ownReporter, layersOf: name)
        } else if isPlain {
            self.init(unreplaced: name)
        } else {
            self.init(unreplaced: name, overrides: overrides, bases: bases, reporter: ownReporter)
        }
    }

    /// Creates a named suite, whatever replaces it in the current task.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - overrides: The overrides. Without any, and without bases, the layers are those that the name is configured with.
    ///   - bases: The bases.
    ///   - reporter: The reporter; `nil` for the one that the name is configured with.
    init(
        unreplaced name: String,
        overrides: [SettingsOverride] = [],
        bases: [SettingsBase] = [],
        reporter: (any SettingsReporter)? = nil
    ) {
        let configuration = SuiteConfiguration.use(name)
        let reporter = reporter ?? configuration?.reporter ?? StandardErrorReporter.shared
        let engine =
            EngineRegistry.engine(named: name, reporter: reporter)
            ?? .named(name, in: .process, reporter: reporter) { EngineRegistry.add($0, as: name) }
        let layers =
            LayerList(overrides, bases, suiteName: name, engine: engine) ?? configuration?.layers(for: engine)
        self.init(name: name, engine: engine, layers: layers, reporter: reporter)
    }

    /// The same suite with other layers and another reporter, where they are not `nil` or empty.
    private func with(
        _ overrides: [SettingsOverride],
        _ bases: [SettingsBase],
        _ reporter: (any SettingsReporter)?,
        layersOf replaced: String
    ) -> SettingsSuite {
        if let reporter { engine.addReporter(reporter) }
        return SettingsSuite(
            name: name,
            engine: engine,
            layers: LayerList(overrides, bases, suiteName: replaced, engine: engine) ?? layers,
            reporter: reporter ?? self.reporter,
            isObservable: isObservable,
            prefix: group?.prefix
        )
    }

    package init(
        _ name: String,
        environment: SettingsEnvironment,
        overrides: [SettingsOverride] = [],
        bases: [SettingsBase] = [],
        reporter: any SettingsReporter
    ) {
        let engine = SettingsEngine.named(name, in: environment, reporter: reporter)
        let layers = LayerList(overrides, bases, suiteName: name, engine: engine)
        self.init(name: name, engine: engine, layers: layers, reporter: reporter)
    }

    /// Creates a suite that stores its values in a file of your choice.
    ///
    /// The journal, a lock and the last good copy are stored beside the file, under the same name with a suffix. So a
    /// set throws if the file's name has more than 245 bytes.
    ///
    /// - Parameters:
    ///   - path: The file's path. A relative path is resolved against the current directory now.
    ///   - overrides: The sources whose values win over stored values.
    ///   - bases: The sources whose values are used where no value is stored.
    ///   - reporter: Receives failures that cannot be thrown.
    public init(
        fileAt path: String,
        overrides: [SettingsOverride] = [],
        bases: [SettingsBase] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) {
        let path = SettingsLocation.absolute(FilePath(path))
        let name = path.description
        let engine =
            if let error = SettingsLocation.problem(with: path) {
                SettingsEngine.inMemory(because: error, name: name, reporter: reporter)
            } else {
                SettingsEngine.shared(forFileAt: path, reporter: reporter)
            }
        let layers = LayerList(overrides, bases, suiteName: name, engine: engine)
        self.init(name: name, engine: engine, layers: layers, reporter: reporter)
    }

    /// Creates a suite with a store of your own.
    ///
    /// - Parameters:
    ///   - store: The store. All suites with one store see each other's assignments, even before they are saved.
    ///   - name: The suite's name in messages.
    ///   - overrides: The sources whose values win over stored values.
    ///   - bases: The sources whose values are used where no value is stored.
    ///   - reporter: Receives failures that cannot be thrown.
    public init(
        store: any SettingsStore,
        name: String = "custom store",
        overrides: [SettingsOverride] = [],
        bases: [SettingsBase] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) {
        let engine = SettingsEngine.shared(for: store, reporter: reporter)
        let layers = LayerList(overrides, bases, suiteName: name, engine: engine)
        self.init(name: name, engine: engine, layers: layers, reporter: reporter)
    }

    /// Creates a suite that stores its values in memory, for tests.
    ///
    /// - Parameters:
    ///   - values: The stored values at first.
    ///   - overrides: The sources whose values win over stored values.
    ///   - bases: The sources whose values are used where no value is stored.
    ///   - reporter: Receives failures that cannot be thrown.
    /// - Returns: A suite that shares no values with any other.
    public static func inMemory(
        _ values: [String: StoredValue] = [:],
        overrides: [SettingsOverride] = [],
        bases: [SettingsBase] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) -> SettingsSuite {
        let store = InMemoryStore(values)
        return SettingsSuite(store: store, name: "in memory", overrides: overrides, bases: bases, reporter: reporter)
    }
}

extension SettingsSuite: ExpressibleByStringLiteral {
    /// Creates a suite like ``init(_:overrides:bases:reporter:)``, without overrides and bases.
    public init(stringLiteral name: String) {
        self.init(name)
    }
}

extension SettingsSuite: Hashable {
    /// Returns whether both suites have the same store, name and layers, and are the same group.
    public static func == (left: SettingsSuite, right: SettingsSuite) -> Bool {
        left.engine === right.engine && left.name == right.name && left.group?.prefix == right.group?.prefix
            && left.layers.isLike(right.layers)
    }

    /// Hashes the identity of the suite, not its contents.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(engine))
        hasher.combine(name)
        hasher.combine(group?.prefix)
    }
}

extension SettingsSuite {
    /// The error with the name of this suite, and with its file unless the error has a location.
    func naming(_ error: SettingsError) -> SettingsError {
        engine.naming(error, suite: name)
    }
}

// Descriptions name suites, settings and keys. They contain no value, because values may be secret.

extension SettingsSuite: CustomStringConvertible {
    /// The suite's name and its place, without values.
    public var description: String {
        let persistence = persistence
        if let group { return "group '\(group.name)' of \(whole)" }
        return name == persistence.path ? "suite \(persistence)" : "suite '\(name)', \(persistence)"
    }
}

extension SettingsSuite: CustomReflectable {
    /// A mirror without children, so that `dump` prints only the ``description``.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SettingsPersistence {
    fileprivate var path: String? {
        switch self {
        case .durable(let path), .readOnly(let path, _): path
        case .ephemeral: nil
        }
    }
}
