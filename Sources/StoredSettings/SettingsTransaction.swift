// SPDX-License-Identifier: Apache-2.0

/// The settings of a suite inside ``SettingsSuite/transaction(_:)``.
///
/// ```swift
/// try suite.transaction { values in
///     values[settings.$port] = 9090
///     values[.retries] += 1
/// }
/// ```
///
/// A read returns the newest stored value, with the changes made so far, or else the value of a base that is no secret file, or
/// the default. A subscript cannot throw: its failure makes the transaction throw when the closure returns, and nothing is changed.
public struct SettingsTransaction: Sendable {
    let suite: SettingsSuite
    private var store: StoreTransaction
    private var failure: SettingsError?
    /// The layers at the start of the transaction; `nil` if there are none.
    private let layers: LayerSnapshot?
    /// Whether managed keys may be changed.
    private let isManaging: Bool
    /// The values that are used instead of stored ones that do not meet a requirement.
    private let held: [String: StoredValue?]

    init(_ store: StoreTransaction, suite: SettingsSuite, layers: LayerSnapshot? = nil, isManaging: Bool = false) {
        self.store = store
        self.suite = suite
        self.layers = layers
        self.isManaging = isManaging
        held = suite.engine.checkedHeldValues
    }

    /// Returns the changes, unless a subscript has failed.
    consuming func finish() throws -> StoreTransaction {
        try throwFailure()
        return store
    }

    /// Throws the first error of a subscript.
    func throwFailure() throws {
        if let failure { throw failure }
    }
}

extension SettingsTransaction: CustomStringConvertible, CustomReflectable {
    /// The name of the suite, without any value.
    public var description: String { "transaction of suite '\(suite.name)'" }

    /// A mirror without children, so that `dump` prints only the ``description``.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - Typed

extension SettingsTransaction {
    /// The value of a setting of this suite.
    public subscript<Value>(setting: Setting<Value>) -> Value {
        mutating get { attempt { try $0.value(of: setting) } ?? setting.defaultValue }
        set { _ = attempt { try $0.set(newValue, for: setting) } }
        _modify {
            var new = self[setting]
            // An object could change meanwhile.
            let old = form(of: setting, beforeChangeOf: new)
            // Also if what changes it throws.
            defer { _ = attempt { try $0.store(new, insteadOf: old, for: setting) } }
            yield &new
        }
    }

    /// The value of a key.
    public subscript<Value>(key: SettingKey<Value>) -> Value {
        mutating get { self[Setting(key, suite: suite)] }
        set { self[Setting(key, suite: suite)] = newValue }
        _modify { yield &self[Setting(key, suite: suite)] }
    }

    /// Returns the value of a setting of this suite.
    ///
    /// - Throws: ``SettingsError`` when the stored value cannot be decoded, or with ``SettingsError/Code/otherSuite``.
    public func value<Value>(of setting: Setting<Value>) throws -> Value {
        try check(setting)
        guard let stored = setting.box.key.storedKeys.value(usedValue) else {
            return setting.box
                .fallbackReading(
                    isReported: false,
                    hasStoredValue: false,
                    isForChange: true,
                    in: snapshot(for: setting)
                )
                .value
        }
        do {
            return try value(ofStored: stored, setting)
        } catch {
            // It may be valid only with the members of a secret file.
            if setting.box.isUsable(stored),
                let value = setting.box.unvalidatedValue(ofStored: stored, in: snapshot(for: setting))
            {
                return value
            }
            var error = setting.box.unreadable(error)
            error.consequence = "the transaction changes nothing"
            throw error
        }
    }

    private func value<Value>(ofStored stored: StoredValue, _ setting: Setting<Value>) throws -> Value {
        try setting.box.storedReading(of: stored, isForChange: true, in: snapshot(for: setting)).value
    }

    /// All values of a source are those at the start of the transaction.
    private func snapshot<Value>(for setting: Setting<Value>) -> LayerSnapshot? {
        setting.suite.layers.isLike(suite.layers) ? layers : nil
    }

    private func usedValue(forKey key: String) -> StoredValue? {
        guard let used = held[key], !store.isEdited(key) else { return store[key] }
        return used
    }

    /// Stores a value when the transaction ends.
    ///
    /// - Throws: ``SettingsError`` when the value is rejected, or with ``SettingsError/Code/otherSuite``.
    public mutating func set<Value>(_ value: Value, for setting: Setting<Value>) throws {
        try check(setting)
        try store(setting.box.encode(value), for: setting)
    }

    /// Stores the encoded value of a setting, and removes the values under its old keys.
    mutating func store<Value>(_ stored: StoredValue?, for setting: Setting<Value>) throws {
        let keys = setting.box.key.storedKeys
        try checkUnmanaged(keys.all, ofSettingIn: setting.suite)
        for edit in keys.edits(stored) { store[edit.key] = edit.value }
    }

    /// Changes a value in place, and stores the members that have changed.
    ///
    /// A base or a default that the closure leaves unchanged is not stored.
    mutating func update<Value>(_ setting: Setting<Value>, _ body: (inout Value) throws -> Void) throws -> Value {
        var value = try self.value(of: setting)
        // An object could change meanwhile.
        let old = form(of: setting, beforeChangeOf: value)
        try body(&value)
        try store(value, insteadOf: old, for: setting)
        return value
    }

    private func form<Value>(of setting: Setting<Value>, beforeChangeOf value: Value) -> StoredValue? {
        setting.box.formBeforeChange(of: value, isStored: setting.box.key.storedKeys.value(usedValue) != nil)
    }

    private mutating func store<Value>(_ new: Value, insteadOf old: StoredValue?, for setting: Setting<Value>) throws {
        let known = setting.box.key.storedKeys.value(usedValue)
        if known == nil, let old, old == setting.box.encoded(new) { return }
        try store(setting.box.encode(new, insteadOf: old, besides: known, mayBeWhole: true), for: setting)
    }

    /// Stores the members of a structure that a text names; the others are those of the stored value, or of the one of now.
    mutating func set<Value>(_ text: StoredValue, over now: Value, for setting: Setting<Value>) throws {
        try check(setting)
        let known = setting.box.key.storedKeys.value(usedValue)
        var lower = now
        do {
            lower = try value(of: setting)
        } catch {
            // A stored value that nothing can use is replaced. One that needs a secret is not.
            if let known, setting.box.isUsable(known) { throw error }
        }
        let value = try setting.box.convert(text) { lower }
        let old = setting.box.encoded(lower)
        let stored = try setting.box.encode(value, insteadOf: old, besides: known, naming: text, mayBeWhole: true)
        try store(stored, for: setting)
    }

    /// Removes a member of a structure from the stored value.
    ///
    /// - Throws: ``SettingsError`` if the setting does not accept the value without it.
    mutating func remove<Value>(_ path: [String], of setting: Setting<Value>) throws {
        try check(setting)
        let stored = setting.box.key.storedKeys.value(usedValue).map(setting.box.presentForm)
        guard let rest = stored?.removing(path[...]) else { return }
        guard rest != [:] else { return try store(nil, for: setting) }
        _ = try value(ofStored: rest, setting)
        try store(rest, for: setting)
    }

    /// Removes the stored values of some settings of this suite.
    ///
    /// - Throws: ``SettingsError`` for a setting of another suite, and for one that is managed.
    public mutating func reset<each Value: Sendable>(_ settings: repeat Setting<each Value>) throws {
        for setting in repeat each settings {
            try check(setting)
            try remove(setting.box.key.storedKeys.all, ofSettingIn: setting.suite)
        }
    }

    /// Throws if one of some keys is managed, in this suite or in that of a setting, which can have other layers.
    private func checkUnmanaged(_ keys: [String], ofSettingIn other: SettingsSuite? = nil) throws(SettingsError) {
        guard !isManaging else { return }
        var (owner, problem) = (suite, layers?.managedError(forKeys: keys))
        if problem == nil, let other, !other.layers.isLike(suite.layers) {
            (owner, problem) = (other, other.layers?.snapshot.managedError(forKeys: keys))
        }
        guard var error = problem else { return }
        error.consequence = "the transaction changes nothing"
        throw owner.naming(error)
    }

    func check<Value>(_ setting: Setting<Value>) throws {
        guard setting.suite.engine !== suite.engine else { return }
        throw setting.otherSuite(
            than: "the transaction's, '\(suite.name)'",
            consequence: "the transaction changes nothing",
            remedy: "use one transaction for each suite"
        )
    }

    private mutating func attempt<Result>(_ body: (inout Self) throws -> Result) -> Result? {
        do {
            return try body(&self)
        } catch {
            let error = SettingsError.wrapping(error, as: .invalidValue)
            failure = failure ?? (error.code == .managed && error.suite != nil ? error : suite.naming(error))
            return nil
        }
    }
}

// MARK: - Raw

extension SettingsTransaction {
    /// The keys with a stored value, sorted.
    public var keys: [String] {
        suite.group == nil ? store.keys : suite.own(store.contents).keys.sorted()
    }

    /// Stores a value for a key, without conversion, when the transaction ends.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` removes the stored value.
    ///   - key: Any non-empty string except `$schema` and `$lastGood`, for which the transaction throws when it ends.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/invalidKey`` for an empty key.
    public mutating func setStoredValue(_ value: StoredValue?, forKey key: String) throws {
        guard !key.isEmpty else { throw suite.naming(.emptyKey) }
        let key = suite.fullKey(key)
        try checkUnmanaged([key])
        store[key] = value
    }

    /// The stored value of a key, without conversion.
    ///
    /// Assigning `nil` removes the stored value.
    public subscript(storedValueFor key: String) -> StoredValue? {
        get { store[suite.fullKey(key)] }
        set { _ = attempt { try $0.setStoredValue(newValue, forKey: key) } }
    }

    /// Removes the stored values of some keys.
    ///
    /// - Throws: ``SettingsError`` for a key that is managed.
    public mutating func reset(_ keys: AnySettingKey...) throws {
        try remove(keys.flatMap { suite.fullKeys($0).all })
    }

    private mutating func remove(_ keys: [String], ofSettingIn other: SettingsSuite? = nil) throws {
        try checkUnmanaged(keys, ofSettingIn: other)
        for key in keys { store[key] = nil }
    }

    /// Removes all stored values.
    ///
    /// - Throws: ``SettingsError`` if a value is stored for a key that is managed.
    public mutating func removeAll() throws {
        guard suite.group == nil else { return try remove(keys.map(suite.fullKey)) }
        try checkUnmanaged(keys)
        store.removeAll()
    }
}

// MARK: - Migrating

extension SettingsTransaction {
    /// Moves the stored value of one key to another key, without converting it.
    ///
    /// Does nothing when the old key has no stored value. When the new key already has a value, both stay unchanged.
    ///
    /// - Parameters:
    ///   - old: The key that the value is moved from.
    ///   - new: The key that the value is moved to.
    public mutating func rename(_ old: String, to new: String) {
        guard let value = self[storedValueFor: old], self[storedValueFor: new] == nil else { return }
        self[storedValueFor: new] = value
        self[storedValueFor: old] = nil
    }

    /// Converts the stored value of a key; does nothing when no value is stored.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - body: Returns the new stored value, or `nil` to remove it.
    /// - Throws: ``SettingsError`` that names the key, when the closure throws.
    public mutating func convert(_ key: String, _ body: (StoredValue) throws -> StoredValue?) throws {
        guard let value = self[storedValueFor: key] else { return }
        do {
            self[storedValueFor: key] = try body(value)
        } catch {
            var error = SettingsError.wrapping(error, as: .invalidValue)
            error.key = error.key ?? suite.fullKey(key)
            throw error
        }
    }

    /// Converts the stored value of a key to the current form of the key; does nothing when no value is stored.
    ///
    /// - Parameters:
    ///   - key: The key, in its current definition.
    ///   - bridge: The bridge with which the value was stored.
    /// - Throws: ``SettingsError`` when the bridge cannot read the stored value, or the setting rejects it.
    public mutating func convert<Value>(
        _ key: SettingKey<Value>,
        from bridge: some StoredValueBridge<Value>
    ) throws {
        try convert(Setting(key, suite: suite), from: bridge)
    }

    /// Converts the stored value of a setting to the setting's current form; does nothing when no value is stored.
    ///
    /// - Parameters:
    ///   - setting: The setting, in its current definition.
    ///   - bridge: The bridge with which the value was stored.
    /// - Throws: ``SettingsError`` when the bridge cannot read the stored value, or the setting rejects it.
    public mutating func convert<Value>(
        _ setting: Setting<Value>,
        from bridge: some StoredValueBridge<Value>
    ) throws {
        try check(setting)
        guard let value = setting.box.key.storedKeys.value({ store[$0] }) else { return }
        do {
            try store(setting.box.encode(bridge.value(from: value)), for: setting)
        } catch {
            var error = SettingsError.wrapping(error, as: .invalidValue)
            error.key = error.key ?? setting.key
            throw error
        }
    }
}
