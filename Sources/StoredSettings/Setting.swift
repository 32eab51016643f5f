// SPDX-License-Identifier: Apache-2.0

/// One typed key of one suite, with its default.
///
/// `$port` is the setting of the property `port`.
///
/// ```swift
/// settings.$port.isSet
/// try await settings.$port.update { $0 += 1 }
/// for await port in settings.$port.values { print(port) }
/// ```
///
/// A setting can also be created and used without a property wrapper:
///
/// ```swift
/// let port = Setting("port", default: 8080, suite: "com.acme.server", in: 1...65_535)
/// port.value = 9090
/// ```
///
/// A setting stores no value itself. All settings of one key and suite read and write the same value, from any thread.
public struct Setting<Value: Sendable>: Sendable {
    /// The suite that stores the setting: for a setting that was created in a group, the whole suite.
    public let suite: SettingsSuite
    let box: SettingBox<Value>
    /// The newest decoded value, in memory that the box owns.
    @usableFromInline let cache: ValueCache

    private init(_ box: SettingBox<Value>, in suite: SettingsSuite) {
        self.suite = suite
        self.box = box
        cache = box.readerCache
    }

    /// Finds or creates the setting of a declaration.
    init(
        describing name: String,
        default value: Value,
        suite: SettingsSuite,
        _ metadata: SettingMetadata,
        describe: (inout SettingDescription) -> Void
    ) {
        let fingerprint = SettingDescription(describe, hasFunctions: false).fingerprint?.with(default: value)
        let box = suite.declaredBox(named: name, fingerprint, metadata) {
            SettingKey(describing: $0, default: .fixed(value), $1, describe: describe)
        }
        self.init(box, in: suite.whole)
    }

    /// Finds or creates the setting of an optional declaration without a default.
    init<Wrapped>(
        optional name: String,
        suite: SettingsSuite,
        _ metadata: SettingMetadata,
        describe: (inout SettingDescription) -> Void
    ) where Value == Wrapped? {
        let fingerprint = SettingDescription(describe, hasFunctions: false).fingerprint?.optional
        let box = suite.declaredBox(named: name, fingerprint, metadata) {
            SettingKey<Wrapped?>(optional: $0, $1, describe: describe)
        }
        self.init(box, in: suite.whole)
    }

    /// Creates a setting from a key.
    ///
    /// - Parameters:
    ///   - key: The definition: key, type, default and validator.
    ///   - suite: The suite that stores the setting.
    public init(_ key: SettingKey<Value>, suite: SettingsSuite = .standard) {
        self.init(suite.box(for: key), in: suite.whole)
    }

    /// The key: for a setting that was created in a group, the whole key, such as `db.host`.
    public var key: String { box.key.name }

    var engine: SettingsEngine { suite.engine }

    /// The value while nothing is stored.
    ///
    /// It is never stored itself.
    public var defaultValue: Value { box.key.defaultValue }
}

// MARK: - The value

extension Setting {
    /// The value: the stored value, or the default while none is stored.
    ///
    /// The suite may have other sources, which win over the stored value or over the default: see ``SettingsSource``.
    ///
    /// A stored value that cannot be decoded, or that the validator rejects, is reported to the suite's reporter. It stays
    /// stored until another value is assigned, and the last good value of the key is used, or the default if there is none.
    ///
    /// An assignment stores the value before it returns, and reports a failure. A rejected value changes nothing. A value
    /// that cannot be saved now is used and saved later, unless a newer value is stored before;
    /// ``SettingsSuite/synchronize()`` throws while it is not saved. Use ``set(_:)`` to receive the error instead. A structure
    /// that is changed in place, as by `settings.limits.burst = 9`, stores the members that have changed.
    ///
    /// Reading a number, a `Bool` or another value of at most 8 bytes that is copied bit by bit takes a few nanoseconds, on
    /// any number of threads. Other values take some tens of nanoseconds, and are decoded only after a change. A read of
    /// an unchanged value makes no system call.
    ///
    /// An assignment takes about a microsecond and does not wait for the disk. While another process holds the lock, it
    /// blocks the thread for up to five seconds. In a task, it waits for at most 20 milliseconds: then the value is used at
    /// once and saved in the background, and a failure is reported. To wait for it, use ``set(_:)``. For power loss,
    /// see ``SettingsSuite/synchronize()``.
    public var value: Value {
        @inlinable get { cache.currentValue(as: Value.self) ?? slowValue }
        nonmutating set {
            do {
                let stored = try box.encode(newValue)
                assign(stored)
            } catch {
                report(error, as: .unstorable)
            }
        }
        nonmutating _modify {
            var new = value
            // An object could change meanwhile.
            let old = box.formBeforeChange(of: new, isStored: box.storedValue != nil)
            // Also if what changes it throws.
            defer {
                do {
                    try assign(new, insteadOf: old)
                } catch {
                    report(error, as: .unstorable)
                }
            }
            yield &new
        }
    }

    private func assign(_ new: Value, insteadOf old: StoredValue?) throws {
        let known = box.storedValue
        if known == nil, let old, old == box.encoded(new) { return }
        // Other members can come from overrides and secret files.
        assign(try box.encode(new, insteadOf: old, besides: known, mayBeWhole: box.layers == nil))
    }

    /// The value, when it is not in the cache.
    @usableFromInline var slowValue: Value { box.value }

    /// Whether a value is stored, even one that cannot be decoded.
    public var isSet: Bool {
        box.access()
        return box.storedValue != nil
    }

    /// Whether the value is equal to the default, whether it is stored or not.
    ///
    /// Their stored forms are compared. It costs a read and two conversions.
    public var isDefault: Bool {
        box.identity(of: box.uncachedReading) == box.encoded(defaultValue)
    }

    /// Returns the stored value, without the default and without the layers around the store.
    ///
    /// A structure has the members that it lacks in the store from the sources beneath.
    ///
    /// - Returns: The stored value; `nil` when nothing is stored.
    /// - Throws: ``SettingsError`` when the stored value is not a valid value of this setting, or when the store cannot be
    ///   read now, so that older values are used.
    public func load() throws -> Value? {
        box.access()
        if let problem = engine.store.problem { throw box.naming(problem, as: .readFailed) }
        guard let stored = box.storedValue else { return nil }
        do {
            return try box.decode(stored)
        } catch {
            throw box.unreadable(error)
        }
    }
}

// MARK: - Creating a setting without a key

extension Setting {
    /// Creates a setting.
    ///
    /// - Parameters:
    ///   - key: The key: any non-empty string.
    ///   - value: The value while nothing is stored.
    ///   - suite: The suite that stores the setting.
    ///   - valid: The valid values; `nil` for all. Others are neither stored nor returned.
    ///   - validate: Returns whether one of them is valid.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init(
        _ key: String,
        default value: Value,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value: StoredValueConvertible {
        self.init(describing: key, default: value, suite: suite, SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Value.self, in: valid, where: validate)
        }
    }

    /// Creates a setting whose values are converted by a bridge.
    ///
    /// - Parameters:
    ///   - key: The key: any non-empty string.
    ///   - value: The value while nothing is stored.
    ///   - suite: The suite that stores the setting.
    ///   - valid: The valid values; `nil` for all. Others are neither stored nor returned.
    ///   - bridge: The conversions.
    ///   - validate: Returns whether one of the valid values is valid.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init(
        _ key: String,
        default value: Value,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) {
        self.init(describing: key, default: value, suite: suite, SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Value.self, by: bridge, in: valid, where: validate)
        }
    }

    /// Creates an optional setting: `nil` means that nothing is stored, and assigning `nil` removes the stored value.
    ///
    /// ```swift
    /// let token = Setting<String?>("apiToken", suite: "com.acme.server")
    /// ```
    ///
    /// - Parameters:
    ///   - key: The key: any non-empty string.
    ///   - suite: The suite that stores the setting.
    ///   - valid: The valid values, apart from `nil`. Others are neither stored nor returned.
    ///   - validate: Returns whether one of them is valid. It is not called for `nil`.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init<Wrapped: StoredValueConvertible>(
        _ key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Wrapped> & Sendable)? = nil,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == Wrapped? {
        self.init(optional: key, suite: suite, SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Wrapped.self, in: valid, where: validate)
        }
    }

    /// Creates an optional setting whose values are converted by a bridge.
    ///
    /// - Parameters:
    ///   - key: The key: any non-empty string.
    ///   - suite: The suite that stores the setting.
    ///   - valid: The valid values, apart from `nil`. Others are neither stored nor returned.
    ///   - bridge: The conversions of the type inside the optional.
    ///   - validate: Returns whether one of the valid values is valid. It is not called for `nil`.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init<Wrapped: Sendable>(
        _ key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Wrapped> & Sendable)? = nil,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == Wrapped? {
        self.init(optional: key, suite: suite, SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Wrapped.self, by: bridge, in: valid, where: validate)
        }
    }
}

// MARK: - Comparing

extension Setting: Hashable {
    /// Whether both have the same key in the same suite.
    public static func == (left: Setting, right: Setting) -> Bool {
        left.key == right.key && left.suite == right.suite
    }

    /// Hashes the key and the suite.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        hasher.combine(suite)
    }
}

// MARK: - Descriptions

extension Setting: CustomStringConvertible {
    /// The setting's key and the name of its suite, without the value.
    public var description: String { "setting '\(key)' of suite '\(suite.name)'" }
}

extension Setting: CustomReflectable {
    /// A mirror without children, so that `dump` prints only the ``description``.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - Changing the value

extension Setting {
    /// Stores a value, at the cost of an assignment to ``value``.
    ///
    /// - Parameter value: The new value.
    /// - Throws: ``SettingsError`` when the value is rejected or cannot be saved. Then nothing has changed.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func set(_ value: Value) throws {
        try write(try box.encode(value))
    }

    /// Stores a value, and suspends the task while it waits for another writer.
    ///
    /// Usually nothing has to be waited for. Then the task is not suspended.
    ///
    /// - Parameter value: The new value.
    /// - Throws: ``SettingsError`` when the value is rejected or cannot be saved; `CancellationError` when the task is canceled
    ///   before. Then nothing has changed.
    public nonisolated(nonsending) func set(_ value: Value) async throws {
        let stored = try box.encode(value)
        try await engine.suspending { try write(stored) }
    }

    /// Removes the stored value, so that the default is used.
    ///
    /// - Throws: ``SettingsError`` when the change cannot be saved. Then nothing has changed.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func reset() throws {
        try write(nil)
    }

    /// Removes the stored value, and suspends the task while it waits for another writer.
    ///
    /// - Throws: ``SettingsError`` when the change cannot be saved; `CancellationError` when the task is canceled before. Then
    ///   nothing has changed.
    public nonisolated(nonsending) func reset() async throws {
        try await engine.suspending { try write(nil) }
    }

    /// Atomically updates the value across threads and processes.
    ///
    /// ```swift
    /// try settings.$launches.update { $0 += 1 }
    /// ```
    ///
    /// The closure receives the stored value, or else the value of a base that is no secret file, or the default; overrides are
    /// ignored. It runs while all other writers of the suite wait, so keep it short. It may run again, after another process has
    /// changed the suite meanwhile. It must not change other settings, of any suite: use ``SettingsSuite/transaction(_:)`` for
    /// several. A base or a default that the closure leaves unchanged is not stored.
    ///
    /// - Parameter body: Changes the value.
    /// - Returns: The new value.
    /// - Throws: The error of the closure; ``SettingsError`` when the stored value cannot be decoded, or when the new value
    ///   is rejected or cannot be saved. Then nothing has changed.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    @discardableResult
    public func update(_ body: (inout Value) throws -> Void) throws -> Value {
        var hasBegun = false
        box.prepareChange()
        do {
            return try suite.transaction {
                hasBegun = true
                return try $0.update(self, body)
            }
        } catch let error as SettingsError {
            // The closure's own error may be about another setting.
            throw hasBegun ? error : box.naming(error, as: .writeFailed)
        }
    }
}

extension Setting {
    /// Atomically updates the value, and suspends the task while it waits for another writer.
    ///
    /// - Parameter body: Changes the value, in the task and on the actor of the caller.
    /// - Returns: The new value.
    /// - Throws: The error of the closure; ``SettingsError`` when the stored value cannot be decoded, or when the new value
    ///   is rejected or cannot be saved; `CancellationError` when the task is canceled before. Then nothing has changed.
    @discardableResult
    public nonisolated(nonsending) func update(_ body: (inout Value) throws -> Void) async throws -> Value {
        var hasBegun = false
        box.prepareChange()
        do {
            return try await suite.transaction {
                hasBegun = true
                return try $0.update(self, body)
            }
        } catch let error as SettingsError {
            throw hasBegun ? error : box.naming(error, as: .writeFailed)
        }
    }
}

// MARK: - Stored forms

extension Setting {
    func write(_ stored: StoredValue?) throws {
        do {
            try suite.checkUnmanaged(box.key.storedKeys.all)
            if isStoredUnderOldKey {
                try engine.write(box.key.storedKeys.edits(stored))
            } else {
                try engine.write(stored, forKey: key)
            }
            box.health.noteSet(stored)
        } catch {
            throw unsaved(error)
        }
    }

    /// Stores a value, or removes it, and reports a failure.
    func assign(_ stored: StoredValue?) {
        do {
            try suite.checkUnmanaged(box.key.storedKeys.all)
        } catch {
            return report(unsaved(error), as: .managed)
        }
        if isStoredUnderOldKey {
            engine.assign(box.key.storedKeys.edits(stored)) { report($0, as: .writeFailed) }
        } else {
            let isKept = engine.assign(stored, forKey: key) { report($0, as: .writeFailed) }
            if isKept { box.health.noteSet(stored) }
        }
    }

    func report(_ error: any Error, as code: SettingsError.Code) {
        box.report(box.naming(error, as: code))
    }

    private var isStoredUnderOldKey: Bool {
        !box.key.storedKeys.old.isEmpty && engine.isStoredUnderOldKey(box.key.storedKeys)
    }

    /// The error of a change that could not be made.
    func unsaved(_ error: any Error) -> SettingsError {
        var error = box.naming(error, as: .writeFailed)
        error.consequence = "the setting keeps the value it had"
        return error
    }
}
