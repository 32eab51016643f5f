// SPDX-License-Identifier: Apache-2.0

/// The settings of a suite inside ``SettingsSuite/transaction(_:)``.
///
/// ```swift
/// try suite.transaction { settings in
///     settings[$port] = 9090
///     settings[.retries] += 1
/// }
/// ```
///
/// Reading gives the newest values, with the changes made so far. A subscript cannot throw; what goes wrong in one makes
/// the transaction throw at its end, and nothing is changed.
public struct SettingsTransaction {
    let suite: SettingsSuite
    private var store: StoreTransaction
    private var failure: SettingsError?

    init(_ store: StoreTransaction, suite: SettingsSuite) {
        self.store = store
        self.suite = suite
    }

    /// What has been changed, unless something went wrong.
    consuming func finish() throws -> StoreTransaction {
        try throwFailure()
        return store
    }

    /// Throws the first error of a subscript, if there is one.
    func throwFailure() throws {
        if let failure { throw failure }
    }
}

// MARK: - Typed

extension SettingsTransaction {
    /// The value of a setting of this suite.
    public subscript<Value>(setting: Setting<Value>) -> Value {
        mutating get { attempt { try $0.value(of: setting) } ?? setting.defaultValue }
        set { _ = attempt { try $0.set(newValue, for: setting) } }
    }

    /// The value under a key.
    public subscript<Value>(key: SettingKey<Value>) -> Value {
        mutating get { self[Setting(key, suite: suite)] }
        set { self[Setting(key, suite: suite)] = newValue }
    }

    /// The value of a setting of this suite.
    ///
    /// - Throws: ``SettingsError`` when what is stored cannot be decoded.
    public func value<Value>(of setting: Setting<Value>) throws -> Value {
        try check(setting)
        let stored = store[setting.key] ?? suite.engine.store.fallback(forKey: setting.key)
        return try stored.map(setting.box.decode) ?? setting.defaultValue
    }

    /// Stores a value when the transaction ends.
    ///
    /// - Throws: ``SettingsError`` when the setting does not take the value.
    public mutating func set<Value>(_ value: Value, for setting: Setting<Value>) throws {
        try check(setting)
        store[setting.key] = try setting.box.encode(value)
    }

    /// Changes a value in place.
    ///
    /// A default that comes out as it went in is not stored.
    mutating func update<Value>(_ setting: Setting<Value>, _ body: (inout Value) throws -> Void) throws -> Value {
        var value = try self.value(of: setting)
        let before = store[setting.key] == nil ? setting.box.identity(of: value) : nil
        try body(&value)
        if let before, before == setting.box.identity(of: value) { return value }
        try set(value, for: setting)
        return value
    }

    /// Removes what is stored for a setting.
    public mutating func reset<Value>(_ setting: Setting<Value>) {
        _ = attempt { transaction in
            try transaction.check(setting)
            transaction.store[setting.key] = nil
        }
    }

    func check<Value>(_ setting: Setting<Value>) throws {
        guard setting.suite.engine !== suite.engine else { return }
        throw setting.box.naming(
            SettingsError(
                .nestedTransaction,
                fact: "the setting is of another suite than the transaction, '\(suite.name)'",
                consequence: "the transaction changes nothing",
                remedy: "use one transaction for each suite"
            ),
            as: .nestedTransaction
        )
    }

    private mutating func attempt<Result>(_ body: (inout Self) throws -> Result) -> Result? {
        do {
            return try body(&self)
        } catch {
            failure = failure ?? suite.naming(SettingsError.wrapping(error, as: .invalidValue))
            return nil
        }
    }
}

// MARK: - Raw

extension SettingsTransaction {
    /// The keys that have a value, in order.
    public var keys: [String] { store.keys }

    /// The stored value under a key.
    ///
    /// Assigning `nil` removes it.
    public subscript(storedValueFor key: String) -> StoredValue? {
        get { store[key] }
        set {
            guard key.isEmpty else {
                store[key] = newValue
                return
            }
            failure = failure ?? suite.naming(.emptyKey)
        }
    }

    /// Removes what is stored under some keys.
    public mutating func reset(_ keys: AnySettingKey...) {
        for key in keys {
            store[key.name] = nil
        }
    }

    /// Removes everything.
    public mutating func removeAll() {
        store.removeAll()
    }
}
