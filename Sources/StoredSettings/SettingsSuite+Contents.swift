// SPDX-License-Identifier: Apache-2.0

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
        get { storedValue(forKey: key) }
        nonmutating set {
            let key = fullKey(key)
            let report: @Sendable (SettingsError) -> Void = { error in
                var error = naming(error)
                error.key = error.key ?? key
                reporter.report(error)
            }
            do {
                try checkUnmanaged([key])
                engine.assign(newValue, forKey: key, report: report)
            } catch {
                engine.afterTransaction { report(.wrapping(error, as: .managed)) }
            }
        }
    }

    /// Returns the stored value of a key, without conversion; `nil` when nothing is stored.
    public func storedValue(forKey key: String) -> StoredValue? {
        engine.value(forKey: fullKey(key))
    }

    /// Stores a value for a key, without conversion.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` removes the stored value.
    ///   - key: Any non-empty string except `$schema` and `$lastGood`.
    /// - Throws: ``SettingsError`` when the value cannot be saved. Then nothing has changed.
    public func setStoredValue(_ value: StoredValue?, forKey key: String) throws {
        try naming {
            let key = fullKey(key)
            try checkUnmanaged([key])
            try engine.write(value, forKey: key)
        }
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
    /// The values of overrides and bases are not stored.
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
    public func reset(_ keys: AnySettingKey...) throws {
        try remove(keys.flatMap { fullKeys($0).all })
    }

    /// Removes the stored values of some settings in one change, so that their defaults are used.
    ///
    /// ```swift
    /// try suite.reset(settings.$host, settings.$port)
    /// ```
    ///
    /// - Parameter settings: Settings of this suite, of any types.
    /// - Throws: ``SettingsError`` when the change cannot be saved, or with ``SettingsError/Code/otherSuite`` for a setting
    ///   of another suite. Then nothing has changed.
    public func reset<each Value: Sendable>(_ settings: repeat Setting<each Value>) throws {
        try remove(keys(of: repeat each settings))
    }

    /// The keys of some settings in the whole suite.
    ///
    /// - Throws: ``SettingsError`` for a setting of another store, and for one that is managed in its suite.
    func keys<each Value: Sendable>(of settings: repeat Setting<each Value>) throws -> [String] {
        var keys: [String] = []
        for setting in repeat each settings {
            guard setting.suite.engine === engine else {
                throw setting.otherSuite(
                    than: "'\(name)', which resets it",
                    consequence: "nothing is changed",
                    remedy: "call reset on the suite of each setting"
                )
            }
            let own = setting.box.key.storedKeys.all
            // Another suite with the same store can have other layers.
            if !setting.suite.layers.isLike(layers) { try setting.suite.checkUnmanaged(own) }
            keys += own
        }
        return keys
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
    public func removeAll() throws {
        try transaction { try $0.removeAll() }
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
    /// so keep it short. Over a store that machines share, it may run again, after another machine has changed the suite: only
    /// the last run counts. Make all changes through its parameter: another transaction, update or set of any suite inside the
    /// closure throws, and a plain assignment is reported and applied after the transaction.
    ///
    /// - Parameter body: Reads and changes settings.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure; ``SettingsError`` when a value is rejected or the changes cannot be saved. Then
    ///   nothing has changed.
    @discardableResult
    public func transaction<Result>(_ body: (inout SettingsTransaction) throws -> Result) throws -> Result {
        try transaction(isManaging: false, body)
    }

    /// Changes several settings atomically.
    ///
    /// - Parameters:
    ///   - isManaging: Whether managed keys may be changed, too: a migration changes the form of what is stored.
    ///   - body: Reads and changes settings.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure, or ``SettingsError``.
    func transaction<Result>(
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
    func checkUnmanaged(_ keys: @autoclosure () -> [String]) throws(SettingsError) {
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
    public func synchronize() throws {
        try naming { try engine.synchronize() }
    }

    /// Brings the values up to date with everything that any process has stored before this call.
    ///
    /// Reads of a suite in a file always are. Those of a store that machines share are a moment behind, and this call waits for the
    /// network.
    ///
    /// - Throws: ``SettingsError`` when the newest values cannot be read.
    public func refresh() throws {
        try naming { try engine.store.refresh() }
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
    public func checkpoint() throws {
        try naming { try engine.checkpoint() }
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
}
