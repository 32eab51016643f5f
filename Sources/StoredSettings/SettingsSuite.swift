// SPDX-License-Identifier: Apache-2.0

/// A named collection of settings, with the store that keeps them.
///
/// ```swift
/// let suite = SettingsSuite("com.acme.server")
/// @DefaultStorage(key: "port", suite: "com.acme.server") var port = 8080   // a string literal will do
/// ```
///
/// A suite is a handle: any number of suites that name the same file share one store in this process, and any number of
/// processes share the file. Making one opens no file; reading one creates none.
public struct SettingsSuite: Sendable {
    /// All of it in one object, since every setting that is made keeps its suite.
    private final class Parts: Sendable {
        let name: String
        let engine: SettingsEngine
        let reporter: any SettingsReporter
        let overrides: OverrideList?
        let isObservable: Bool

        init(
            _ name: String,
            _ engine: SettingsEngine,
            _ overrides: OverrideList?,
            _ reporter: any SettingsReporter,
            _ isObservable: Bool
        ) {
            self.name = name
            self.engine = engine
            self.overrides = overrides
            self.reporter = reporter
            self.isObservable = isObservable
        }
    }

    private let parts: Parts

    init(
        name: String,
        engine: SettingsEngine,
        overrides: OverrideList?,
        reporter: any SettingsReporter,
        isObservable: Bool = SettingsSuite.isObservableByDefault
    ) {
        parts = Parts(name, engine, overrides, reporter, isObservable)
    }

    /// The suite's name: the one it was made with, or the path of its file.
    public var name: String { parts.name }

    /// Whether Observation hears of reads and changes of settings of this suite: see ``observable(_:)``.
    public var isObservable: Bool { parts.isObservable }

    var engine: SettingsEngine { parts.engine }
    var reporter: any SettingsReporter { parts.reporter }
    var overrides: OverrideList? { parts.overrides }

    /// Names a suite, which is kept in a file of its own.
    ///
    /// The file is `settings.json` in a directory with the suite's name, in the first of these that is set:
    /// `$STORED_SETTINGS_HOME`; the first absolute path in systemd's `$STATE_DIRECTORY`; `$XDG_CONFIG_HOME` if it is
    /// absolute, not on Apple platforms; else in `~/.config` (`~/Library/Application Support` on Apple platforms). Where
    /// there is none of them, nothing can be stored: assigned values last as long as the process, ``persistence`` says so,
    /// and what can throw throws ``SettingsError/Code/locationUnavailable``. The variables are looked at when the name is
    /// first used; as long as that suite is open, its name leads to it.
    ///
    /// - Parameters:
    ///   - name: Any name that is not empty. What a file name cannot hold is percent-encoded, so no name leaves the
    ///     directory.
    ///   - overrides: What is read in place of stored values. It holds for the settings of this suite and its copies, not
    ///     for those of another that is made with the same name.
    ///   - reporter: Hears of what fails where nothing can be thrown. By default each distinct failure is one line on
    ///     standard error.
    public init(
        _ name: String,
        overrides: [SettingsOverride] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) {
        if let engine = EngineRegistry.engine(named: name, reporter: reporter) {
            self.init(name: name, engine: engine, overrides: OverrideList(overrides), reporter: reporter)
        } else {
            self.init(name, environment: .process, overrides: overrides, reporter: reporter)
            if engine.store is FileStore { EngineRegistry.add(engine, as: name) }
        }
    }

    package init(
        _ name: String,
        environment: SettingsEnvironment,
        overrides: [SettingsOverride] = [],
        reporter: any SettingsReporter
    ) {
        let engine: SettingsEngine
        switch SettingsLocation.directory(forSuite: name, in: environment) {
        case .success(let directory):
            engine = .shared(forFileAt: directory.appending(SettingsLocation.fileName), reporter: reporter)
        case .failure(let error):
            engine = .inMemory(because: error, name: name, reporter: reporter)
        }
        self.init(name: name, engine: engine, overrides: OverrideList(overrides), reporter: reporter)
    }

    /// Gives the suite that is kept in a file of your choice.
    ///
    /// Beside the file, others with the same name and a longer ending are kept: the journal, a lock and the last good copy.
    ///
    /// - Parameters:
    ///   - path: The file's path; a relative one is taken from the current directory of this moment.
    ///   - overrides: What is read in place of stored values.
    ///   - reporter: Hears of what fails where nothing can be thrown.
    public init(
        fileAt path: String,
        overrides: [SettingsOverride] = [],
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
        self.init(name: name, engine: engine, overrides: OverrideList(overrides), reporter: reporter)
    }

    /// Gives a suite over a store of your own.
    ///
    /// - Parameters:
    ///   - store: The store. All suites over one store share its engine, so they see each other's pendingWrites values.
    ///   - name: The suite's name, for messages.
    ///   - overrides: What is read in place of stored values.
    ///   - reporter: Hears of what fails where nothing can be thrown.
    public init(
        store: any SettingsStore,
        name: String = "custom store",
        overrides: [SettingsOverride] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) {
        let engine = SettingsEngine.shared(for: store, reporter: reporter)
        self.init(name: name, engine: engine, overrides: OverrideList(overrides), reporter: reporter)
    }

    /// Makes a new suite that lasts as long as it is used: for tests, above all.
    ///
    /// - Parameters:
    ///   - values: What is stored in it at first.
    ///   - overrides: What is read in place of stored values.
    ///   - reporter: Hears of what fails where nothing can be thrown.
    /// - Returns: The suite, unlike any other.
    public static func inMemory(
        _ values: [String: StoredValue] = [:],
        overrides: [SettingsOverride] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) -> SettingsSuite {
        SettingsSuite(store: InMemoryStore(values), name: "in memory", overrides: overrides, reporter: reporter)
    }
}

extension SettingsSuite: ExpressibleByStringLiteral {
    /// Names a suite, as ``init(_:overrides:reporter:)`` does, without overrides.
    public init(stringLiteral name: String) {
        self.init(name)
    }
}

extension SettingsSuite: Hashable {
    /// Whether both keep their values in one place under one name, and have the same overrides.
    public static func == (left: SettingsSuite, right: SettingsSuite) -> Bool {
        left.engine === right.engine && left.name == right.name && left.overrides.isLike(right.overrides)
    }

    /// Feeds the identity of the suite, not its contents, to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(engine))
        hasher.combine(name)
    }
}

extension SettingsSuite {
    /// An error with the name of this suite, and the file it is kept in unless a nearer place is known.
    func naming(_ error: SettingsError) -> SettingsError {
        engine.naming(error, suite: name)
    }
}

// What is printed names suites, settings and keys. It never holds a value, since values may be secret, nor what the
// library keeps inside.

extension SettingsSuite: CustomStringConvertible {
    /// The suite's name and where it is kept, without values.
    public var description: String {
        let persistence = persistence
        return name == persistence.path ? "suite \(persistence)" : "suite '\(name)', \(persistence)"
    }
}

extension SettingsSuite: CustomReflectable {
    /// A mirror without parts, so that `dump` prints the ``description`` alone.
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
