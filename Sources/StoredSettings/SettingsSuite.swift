// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "Keys can be instance members".

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

    package var engine: SettingsEngine { parts.engine }
    var reporter: any SettingsReporter { parts.reporter }
    var layers: LayerList? { parts.layers }
    /// The sources, highest precedence first; empty if the store is the only one.
    package var sources: [LayerSource] { layers?.sources ?? [] }
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
    ///   - sources: The sources of values, in order of precedence: see ``SettingsSource``. They apply to the settings of this
    ///     suite and its copies, not to another suite with the same name. Without any, those of
    ///     ``configure(_:sources:reporter:)`` apply.
    ///   - reporter: Receives failures that cannot be thrown; `nil` for the reporter of ``configure(_:sources:reporter:)``, or
    ///     else ``StandardErrorReporter``.
    public init(
        _ name: String,
        sources: [SettingsSource] = [],
        reporter: (any SettingsReporter)? = nil
    ) {
        if let replacement = Self.replacement(forSuiteNamed: name) {
            self = replacement.with(sources, layersOf: name, reporter: reporter)
        } else {
            self.init(unreplaced: name, sources: sources, reporter: reporter)
        }
    }

    /// Creates a named suite, whatever replaces it in the current task.
    init(
        unreplaced name: String,
        sources: [SettingsSource] = [],
        reporter: (any SettingsReporter)? = nil
    ) {
        let configuration = SuiteConfiguration.use(name)
        let reporter = reporter ?? configuration?.reporter ?? StandardErrorReporter.shared
        let engine = SettingsEngine.named(name, reporter: reporter)
        let layers =
            sources.isEmpty
            ? configuration?.layers(for: engine)
            : LayerList(sources, suiteName: name, engine: engine)
        self.init(name: name, engine: engine, layers: layers, reporter: reporter)
    }

    /// The same suite with other properties, where they are given.
    func with(
        _ sources: [SettingsSource] = [],
        layersOf name: String? = nil,
        reporter: (any SettingsReporter)? = nil,
        isObservable: Bool? = nil,
        prefix: String? = nil
    ) -> SettingsSuite {
        if let reporter { engine.addReporter(reporter) }
        return SettingsSuite(
            name: self.name,
            engine: engine,
            layers: sources.isEmpty ? layers : LayerList(sources, suiteName: name ?? self.name, engine: engine),
            reporter: reporter ?? self.reporter,
            isObservable: isObservable ?? self.isObservable,
            prefix: prefix ?? group?.prefix
        )
    }

    package init(
        _ name: String,
        environment: SettingsEnvironment,
        sources: [SettingsSource] = [],
        reporter: any SettingsReporter
    ) {
        let engine = SettingsEngine.named(name, in: environment, reporter: reporter)
        let layers = LayerList(sources, suiteName: name, engine: engine)
        self.init(name: name, engine: engine, layers: layers, reporter: reporter)
    }

    /// Creates a suite that stores its values in a file of your choice.
    ///
    /// The journal, a lock and the last good copy are stored beside the file, under the same name with a suffix. So a
    /// set throws if the file's name has more than 245 bytes.
    ///
    /// - Parameters:
    ///   - path: The file's path. A relative path is resolved against the current directory now.
    ///   - sources: The sources of values, in order of precedence: see ``SettingsSource``.
    ///   - reporter: Receives failures that cannot be thrown.
    public init(
        fileAt path: String,
        sources: [SettingsSource] = [],
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
        let layers = LayerList(sources, suiteName: name, engine: engine)
        self.init(name: name, engine: engine, layers: layers, reporter: reporter)
    }

    /// Creates a suite with a store of your own.
    ///
    /// - Parameters:
    ///   - store: The store. All suites with one store see each other's assignments, even before they are saved.
    ///   - name: The suite's name in messages.
    ///   - sources: The sources of values, in order of precedence: see ``SettingsSource``.
    ///   - reporter: Receives failures that cannot be thrown.
    public init(
        store: any SettingsStore,
        name: String = "custom store",
        sources: [SettingsSource] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) {
        let engine = SettingsEngine.shared(for: store, reporter: reporter)
        let layers = LayerList(sources, suiteName: name, engine: engine)
        self.init(name: name, engine: engine, layers: layers, reporter: reporter)
    }

    /// Creates a suite that stores its values in memory, for tests.
    ///
    /// - Parameters:
    ///   - values: The stored values at first.
    ///   - sources: The sources of values, in order of precedence: see ``SettingsSource``.
    ///   - reporter: Receives failures that cannot be thrown.
    /// - Returns: A suite that shares no values with any other.
    public static func inMemory(
        _ values: [String: StoredValue] = [:],
        sources: [SettingsSource] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) -> SettingsSuite {
        let store = InMemoryStore(values)
        return SettingsSuite(store: store, name: "in memory", sources: sources, reporter: reporter)
    }
}

extension SettingsSuite: ExpressibleByStringLiteral {
    /// Creates a suite like ``init(_:sources:reporter:)``, without sources.
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
    package func naming(_ error: SettingsError) -> SettingsError {
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
    /// The file with the values.
    package var path: String? {
        switch self {
        case .durable(let path), .readOnly(let path, _): path
        case .ephemeral: nil
        }
    }
}

// MARK: - Values

extension SettingsSuite {
    /// The value of a key.
    ///
    /// ```swift
    /// suite[.quality] += 0.1
    /// suite[.hosts].append("example.org")
    /// ```
    ///
    /// Reading and assigning work like ``Setting/value``. A change in place is a read followed by an assignment. Use
    /// ``Setting/update(_:)`` when other threads or processes may change the value in between.
    public subscript<Value>(key: SettingKey<Value>) -> Value {
        get { Setting(key, suite: self).value }
        nonmutating set { Setting(key, suite: self).value = newValue }
    }

    /// The stored value of a key, without conversion; `nil` when nothing is stored.
    ///
    /// An assignment reports a failure, like an assignment to ``Setting/value``. ``setStoredValue(_:forKey:)`` throws it.
    public subscript(storedValueFor key: String) -> StoredValue? {
        get { engine.value(forKey: fullKey(key)) }
        nonmutating set {
            let key = fullKey(key)
            let report: @Sendable (SettingsError) -> Void = { error in
                var error = naming(error)
                error.key = error.key ?? key
                reporter.report(error)
            }
            do {
                try checkUnmanaged([key])
                engine.assign(CollectionOfOne((key: key, value: newValue)), isConverted: false, report: report)
            } catch {
                engine.afterTransaction { report(.wrapping(error, as: .managed)) }
            }
        }
    }

    /// Stores a value for a key, without conversion.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` removes the stored value.
    ///   - key: Any non-empty string except `$schema` and `$lastGood`.
    /// - Throws: ``SettingsError`` when the value cannot be saved. Then nothing has changed.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func setStoredValue(_ value: StoredValue?, forKey key: String) throws {
        try naming {
            let key = fullKey(key)
            try checkUnmanaged([key])
            // Settings may not be able to use the value, so the store must not leave out its record.
            try engine.write(CollectionOfOne((key: key, value: value)))
        }
    }

    /// Stores a value for a key, without conversion, and suspends the task while it waits for another writer.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` removes the stored value.
    ///   - key: Any non-empty string except `$schema` and `$lastGood`.
    /// - Throws: ``SettingsError`` when the value cannot be saved; `CancellationError` when the task is canceled before. Then nothing
    ///   has changed.
    public nonisolated(nonsending) func setStoredValue(_ value: StoredValue?, forKey key: String) async throws {
        try await engine.suspending { try setStoredValue(value, forKey: key) }
    }

    /// The keys with a stored value, sorted.
    public var keys: [String] { snapshot().keys.sorted() }

    /// Returns whether a value is stored for a key.
    public func contains(_ key: String) -> Bool {
        engine.value(forKey: fullKey(key)) != nil
    }

    /// Returns whether a value is stored for a key.
    public func contains(_ key: AnySettingKey) -> Bool {
        engine.value(for: fullKeys(key)) != nil
    }

    /// Returns all stored values as of one moment, including assignments that are not saved yet.
    ///
    /// The values of other sources are not stored.
    public func snapshot() -> [String: StoredValue] {
        own(engine.contents())
    }
}

// MARK: - Removing

extension SettingsSuite {
    /// Removes the stored values of some keys in one change, so that their defaults are used.
    ///
    /// ```swift
    /// try suite.reset(.quality, .port)
    /// ```
    ///
    /// - Parameter keys: Keys of any types.
    /// - Throws: ``SettingsError`` when the change cannot be saved. Then nothing has changed.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func reset(_ keys: AnySettingKey...) throws {
        try remove(keys.flatMap { fullKeys($0).all })
    }

    /// Removes the stored values of some keys in one change, and suspends the task while it waits for another writer.
    ///
    /// - Parameter keys: Keys of any types.
    /// - Throws: ``SettingsError`` when the change cannot be saved; `CancellationError` when the task is canceled before. Then nothing
    ///   has changed.
    public nonisolated(nonsending) func reset(_ keys: AnySettingKey...) async throws {
        let keys = keys.flatMap { fullKeys($0).all }
        try await engine.suspending { try remove(keys) }
    }

    /// Removes the stored values of keys of the whole suite.
    func remove(_ keys: [String]) throws {
        let edits = keys.map { ($0, StoredValue?.none) }
        try naming {
            try checkUnmanaged(keys)
            try engine.write(Dictionary(edits) { first, _ in first })
        }
    }

    /// Removes all stored values, so that every default is used.
    ///
    /// - Throws: ``SettingsError`` when the change cannot be saved. Then nothing has changed.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func removeAll() throws {
        try transaction { try $0.removeAll() }
    }

    /// Removes all stored values, and suspends the task while it waits for another writer.
    ///
    /// - Throws: ``SettingsError`` when the change cannot be saved; `CancellationError` when the task is canceled before. Then nothing
    ///   has changed.
    public nonisolated(nonsending) func removeAll() async throws {
        try await engine.suspending { try removeAll() }
    }
}

// MARK: - Transactions

extension SettingsSuite {
    /// Changes several settings atomically: other threads and processes see all of the changes or none.
    ///
    /// ```swift
    /// try suite.transaction { values in
    ///     values[settings.$min] = 10
    ///     values[settings.$max] = 20
    /// }
    /// ```
    ///
    /// The closure reads the newest values. It runs while all other writers of the suite wait, in this process and others,
    /// so keep it short. It may run again, after another process has changed the suite meanwhile: only
    /// the last run counts. Make all changes through its parameter: another transaction, update or set of any suite inside the
    /// closure throws, and a plain assignment is reported and applied after the transaction.
    ///
    /// - Parameter body: Reads and changes settings.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure; ``SettingsError`` when a value is rejected or the changes cannot be saved. Then
    ///   nothing has changed.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    @discardableResult
    public func transaction<Result>(_ body: (inout SettingsTransaction) throws -> Result) throws -> Result {
        try transaction(isManaging: false, body)
    }

    /// Changes several settings atomically, managed ones only for a migration, which changes the form of what is stored.
    package func transaction<Result>(
        isManaging: Bool,
        _ body: (inout SettingsTransaction) throws -> Result
    ) throws -> Result {
        // Files are not read while other writers wait.
        layers?.files?.lookIfUnwatched()
        return try naming {
            try engine.transact { store in
                var transaction = SettingsTransaction(
                    store,
                    suite: self,
                    layers: layers?.snapshot,
                    isManaging: isManaging
                )
                let result = try body(&transaction)
                store = try transaction.finish()
                return result
            }
        }
    }

    /// Throws ``SettingsError`` if one of some keys is managed.
    ///
    /// The keys are evaluated only if the suite has managed values.
    package func checkUnmanaged(_ keys: @autoclosure () -> [String]) throws(SettingsError) {
        guard let files = layers?.files, files.hasManaged else { return }
        files.lookIfUnwatched()
        if let error = files.snapshot.managedError(forKeys: keys()) { throw naming(error) }
    }

    private func naming<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as SettingsError {
            throw error.suite == nil ? naming(error) : error
        }
    }
}

// MARK: - Saving

extension SettingsSuite {
    /// Returns once every value that was set survives power loss.
    ///
    /// Waits for the disk, some milliseconds. Does nothing when nothing was ever set, also without a place to store it.
    ///
    /// - Throws: ``SettingsError`` when the values cannot be written to the disk, or with ``SettingsError/Code/notSaved``
    ///   when earlier assignments have failed and fail again. After ``finish()``, throws the error that prevented the last
    ///   values from being saved.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func synchronize() throws {
        try naming { try engine.synchronize() }
    }

    /// Waits until every value that was set survives power loss, while the task is suspended.
    ///
    /// - Throws: ``SettingsError`` when that cannot be achieved; `CancellationError` when the task is canceled before.
    public nonisolated(nonsending) func synchronize() async throws {
        try await engine.suspendedSaves.run { try synchronize() }
    }

    /// Brings the values up to date with everything that any process has stored before this call.
    ///
    /// Reads of a suite in a file always are. Those of a store that machines share are a moment behind, and this call waits for the
    /// network.
    ///
    /// - Throws: ``SettingsError`` when the newest values cannot be read, such as those of a broken settings file.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func refresh() throws {
        try naming { try engine.store.refresh(mayWait: true) }
    }

    /// Brings the values up to date with everything that any process has stored, while the task is suspended.
    ///
    /// - Throws: ``SettingsError`` when the newest values cannot be read; `CancellationError` when the task is canceled before.
    public nonisolated(nonsending) func refresh() async throws {
        try await engine.suspendedSaves.run { try refresh() }
    }

    /// Writes all stored values into the settings file now.
    ///
    /// A set is safe in the journal beside the file. The file itself is written later: at most 200 ms after the last set, one
    /// second after the first of many, when the suite is released or finished, and when the process ends. Call this method
    /// before another program reads or copies the file. It waits for the disk, some milliseconds.
    ///
    /// Does nothing for a suite without such a file, and when nothing was ever set.
    ///
    /// - Throws: ``SettingsError`` when the file cannot be written, or when it exists and cannot be read, so that it must not
    ///   be overwritten; with ``SettingsError/Code/notSaved`` when earlier assignments have failed and fail again; with
    ///   ``SettingsError/Code/suiteFinished`` after ``finish()``.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func checkpoint() throws {
        try naming { try engine.checkpoint() }
    }

    /// Writes all stored values into the settings file now, while the task is suspended.
    ///
    /// - Throws: ``SettingsError`` when the file cannot be written; `CancellationError` when the task is canceled before.
    public nonisolated(nonsending) func checkpoint() async throws {
        try await engine.suspendedSaves.run { try checkpoint() }
    }

    /// The place where values are stored, and how long they last.
    public var persistence: SettingsPersistence { engine.store.persistence }

    /// Saves all values and ends the suite: its streams end, and later sets throw.
    ///
    /// This affects every suite in this process that uses the same store. The last values can still be read. Call it, if at
    /// all, when the process shuts down. A suite that is created afterwards with the same name opens the store again.
    public func finish() {
        engine.finish()
    }

    /// Saves all values and ends the suite, while the task is suspended.
    ///
    /// A cancellation has no effect.
    public nonisolated(nonsending) func finish() async {
        await withCheckedContinuation { continuation in
            engine.suspendedSaves.runInBackground {
                finish()
                continuation.resume()
            }
        }
    }
}

// MARK: - Members

/// A namespace for keys that are used as members of ``SettingsSuite/members``.
///
/// ```swift
/// extension SettingMembers {
///     var launchCount: SettingKey<Int> { SettingKey("launchCount", default: 0) }
///     var quality: SettingKey<Double> { .quality }       // defined in an extension of SettingKeys
/// }
///
/// suite.members.launchCount += 1
/// ```
public struct SettingMembers: Sendable {
    // Static members of SettingKeys cannot be used instead: with compilers up to 6.3, a program crashes when it uses a key
    // path to a stored static member of another module.
    fileprivate init() {}
}

extension SettingsSuite {
    /// The values of a suite by the names of ``SettingMembers``.
    ///
    /// ```swift
    /// suite.members.launchCount += 1
    /// suite.members.hosts.append("example.org")
    /// ```
    ///
    /// Reading and assigning work like ``Setting/value``. To observe, reset or check a member, use its setting:
    /// `suite.setting(\.launchCount)`.
    ///
    /// Each access looks up the key and the setting, which a property wrapper does once. Use a property wrapper where speed
    /// matters.
    @dynamicMemberLookup
    public struct Members: Sendable {
        let suite: SettingsSuite

        /// The value of a key that is a member of ``SettingMembers``.
        public subscript<Value>(dynamicMember key: KeyPath<SettingMembers, SettingKey<Value>>) -> Value {
            get { suite.setting(key).value }
            nonmutating set { suite.setting(key).value = newValue }
        }
    }

    /// The values of the suite by the names of ``SettingMembers``.
    public var members: Members { Members(suite: self) }

    /// Returns the setting of a member of ``SettingMembers``.
    ///
    /// ```swift
    /// try await suite.setting(\.launchCount).reset()
    /// for await count in suite.setting(\.launchCount).values { print(count) }
    /// ```
    public func setting<Value>(_ key: KeyPath<SettingMembers, SettingKey<Value>>) -> Setting<Value> {
        Setting(SettingMembers()[keyPath: key], suite: self)
    }
}

// MARK: - Groups

// See Documentation/Decisions/Keys-and-declarations.md, "A group is a suite behind a prefix".

/// The keys of a suite that begin with a prefix.
///
/// An object, because every setting that is created in the group uses it.
final class SuiteGroup: Sendable {
    /// The prefix with the separator, such as `db.`.
    let prefix: String
    /// The suite with all keys.
    let whole: SettingsSuite

    init(_ prefix: String, of whole: SettingsSuite) {
        (self.prefix, self.whole) = (prefix, whole)
    }

    /// The name of the group.
    var name: Substring { prefix.dropLast() }

    /// Returns the key in the suite; an empty key stays empty, which is an error.
    func key(_ key: String) -> String { key.isEmpty ? key : prefix + key }

    /// Returns the part of a suite's key after the prefix; `nil` for a key of no setting of the group.
    func relative(_ key: String) -> String? {
        if key.utf8.starts(with: prefix.utf8) {
            // Not by characters: the first one of the rest may be a mark that is combined with the separator.
            let rest = key.utf8.dropFirst(prefix.utf8.count)
            return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
        }
        // Another form of the same characters.
        let rest = key.hasPrefix(prefix) ? key.dropFirst(prefix.count) : ""
        return rest.isEmpty ? nil : String(rest)
    }

    func keys(_ keys: StoredKeys) -> StoredKeys { StoredKeys(key(keys.current), old: keys.old.map(key)) }

    func metadata(_ metadata: SettingMetadata) -> SettingMetadata {
        SettingMetadata(help: metadata.help, traits: metadata.traits.inGroup(self))
    }
}

extension SettingsSuite {
    /// Returns the settings of this suite whose keys begin with a name and a period, as a suite of their own.
    ///
    /// ```swift
    /// let database = suite.group("db")
    /// database[storedValueFor: "host"]                                    // stored under the key db.host
    /// let host = Setting("host", default: "localhost", suite: database)   // has the key db.host
    /// ```
    ///
    /// A group has the sources and the reporter of its suite. Keys that are passed to a group, or that it returns,
    /// have no prefix: strings, and keys such as `.quality`. Its ``keys``, ``snapshot()``, ``changes()`` and ``removeAll()`` and its
    /// transactions are about the keys of the group alone. ``synchronize()``, ``checkpoint()`` and ``finish()`` are about the whole
    /// suite.
    ///
    /// A setting has its whole key, such as `db.host`, and belongs to the whole suite. So it is the same setting, whether it was
    /// created with the group or with the whole key. Its flag and its variable follow from the whole key: `--db-host`. Old
    /// keys, and names that traits give to the flag and the variable, receive the prefix as well.
    ///
    /// - Parameter name: The name. A name with periods stands for groups of groups: `"db.pool"`. The suite itself is
    ///   returned for an empty one.
    /// - Returns: The group.
    public func group(_ name: String) -> SettingsSuite {
        guard !name.isEmpty else { return self }
        return with(prefix: fullKey(name) + ".")
    }

    /// Creates a value whose settings are in a group of this suite.
    ///
    /// ```swift
    /// struct DatabaseSettings: Sendable {
    ///     @DefaultStorage(key: "host") var host = "localhost"
    /// }
    ///
    /// struct ServerSettings: Sendable {
    ///     let primary = SettingsSuite.standard.group("primary") { DatabaseSettings() }    // primary.host
    ///     let replica = SettingsSuite.standard.group("replica") { DatabaseSettings() }    // replica.host
    /// }
    /// ```
    ///
    /// While the closure runs, the group is the standard suite, and replaces this suite for settings that name it.
    ///
    /// - Parameters:
    ///   - name: The name: see ``group(_:)``.
    ///   - make: Creates the value.
    /// - Returns: The value.
    /// - Throws: The error of the closure.
    public func group<Value>(_ name: String, _ make: () throws -> Value) rethrows -> Value {
        let group = group(name)
        let names = Self.names(replacedBy: self) + [self.name]
        let suites = Dictionary(names.map { ($0, group) }) { first, _ in first }
        return try Self.withSuites(suites) { try Self.withStandard(group, operation: make) }
    }

    /// The whole suite of a group.
    var whole: SettingsSuite { group?.whole ?? self }

    /// The box of a setting that is declared in this suite: see ``box(named:_:_:makeKey:)``.
    ///
    /// A key is made from the name and the metadata in the whole suite.
    @inline(__always)
    func declaredBox<Value>(
        named name: String,
        _ fingerprint: SettingFingerprint?,
        _ metadata: SettingMetadata,
        makeKey: (String, SettingMetadata) -> SettingKey<Value>
    ) -> SettingBox<Value> {
        // Without a group, nothing is copied.
        guard let group else { return box(named: name, fingerprint, metadata) { makeKey(name, metadata) } }
        let (name, metadata) = (group.key(name), group.metadata(metadata))
        return group.whole.box(named: name, fingerprint, metadata) { makeKey(name, metadata) }
    }

    /// Returns the key in the whole suite.
    func fullKey(_ key: String) -> String { group?.key(key) ?? key }

    /// Returns the keys in the whole suite under which a value may be stored.
    func fullKeys(_ key: AnySettingKey) -> StoredKeys { group?.keys(key.storedKeys) ?? key.storedKeys }

    /// Returns the contents of this group, without its prefix.
    func own(_ contents: [String: StoredValue]) -> [String: StoredValue] {
        guard let group else { return contents }
        let separated = contents.separated { group.prefix.hasPrefix($0 + ".") }
        let own = separated.compactMap { key, value in group.relative(key).map { ($0, value) } }
        return Dictionary(own) { first, _ in first }
    }
}
