// SPDX-License-Identifier: Apache-2.0

extension SettingsSuite {
    /// The value under a key.
    ///
    /// ```swift
    /// suite[.quality] += 0.1
    /// suite[.hosts].append("example.org")
    /// ```
    ///
    /// Reading and assigning work as ``Setting/value`` does. Changing in place reads, then assigns: where other
    /// processes or threads may come between, use ``Setting/update(_:)``.
    public subscript<Value>(key: SettingKey<Value>) -> Value {
        get { Setting(key, suite: self).value }
        nonmutating set { Setting(key, suite: self).value = newValue }
    }

    /// What is stored under a key, as it is; `nil` when nothing is.
    public func storedValue(forKey key: String) -> StoredValue? {
        engine.value(forKey: key)
    }

    /// Stores a value under a key, as it is, or removes what is there.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` removes.
    ///   - key: Any text that is not empty.
    /// - Throws: ``SettingsError`` when it cannot be saved. Then nothing has changed.
    public func setStoredValue(_ value: StoredValue?, forKey key: String) throws {
        try naming { try engine.write(value, forKey: key) }
    }

    /// The keys under which something is stored, in order.
    public var keys: [String] { engine.contents().keys.sorted() }

    /// Whether anything is stored under a key.
    public func contains(_ key: String) -> Bool {
        engine.value(forKey: key) != nil
    }

    /// Whether anything is stored under a key.
    public func contains(_ key: SettingKeys) -> Bool {
        contains(key.name)
    }

    /// All that is stored, as of one moment, with assignments that could not be saved yet.
    public func snapshot() -> [String: StoredValue] {
        engine.contents()
    }
}

extension SettingsSuite {
    /// Removes what is stored under some keys, all at once, so that their defaults serve.
    ///
    /// - Throws: ``SettingsError`` when that cannot be saved. Then nothing has changed.
    public func reset(_ keys: SettingKeys...) throws {
        try reset(keys.map(\.name))
    }

    /// Removes what is stored under some keys, all at once, so that their defaults serve.
    ///
    /// - Throws: ``SettingsError`` when that cannot be saved. Then nothing has changed.
    public func reset(_ keys: String...) throws {
        try reset(keys)
    }

    /// Removes what is stored under some keys, all at once, so that their defaults serve.
    ///
    /// - Parameter keys: The keys, as definitions of any types.
    /// - Throws: ``SettingsError`` when that cannot be saved. Then nothing has changed.
    public func reset(_ keys: [SettingKeys]) throws {
        try reset(keys.map(\.name))
    }

    /// Removes what is stored under some keys, all at once, so that their defaults serve.
    ///
    /// - Parameter keys: The keys.
    /// - Throws: ``SettingsError`` when that cannot be saved. Then nothing has changed.
    public func reset(_ keys: [String]) throws {
        let edits = keys.map { ($0, StoredValue?.none) }
        try naming { try engine.write(Dictionary(edits) { first, _ in first }) }
    }

    /// Removes all that is stored, so that every default serves.
    ///
    /// - Throws: ``SettingsError`` when that cannot be saved. Then nothing has changed.
    public func removeAll() throws {
        try transaction { $0.removeAll() }
    }

    /// Changes several settings at once: all are changed, and seen to change together, or none is.
    ///
    /// ```swift
    /// try suite.transaction { settings in
    ///     settings[$low] = 10
    ///     settings[$high] = 20
    /// }
    /// ```
    ///
    /// The closure runs alone among all writers of the suite, in this process and others, on the newest values. It should
    /// be short. Changes go through what the closure is given: another transaction, update or set inside it, of whichever
    /// suite, is refused, and a plain assignment is reported and made after it.
    ///
    /// - Parameter body: Reads and changes settings.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws; ``SettingsError`` when a setting does not take its value, or the changes cannot
    ///   be saved. Then nothing has changed.
    @discardableResult
    public func transaction<Result>(_ body: (inout SettingsTransaction) throws -> Result) throws -> Result {
        try naming {
            try engine.transact { store in
                var transaction = SettingsTransaction(store, suite: self)
                let result = try body(&transaction)
                store = try transaction.finish()
                return result
            }
        }
    }

    private func naming<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as SettingsError {
            throw error.suite == nil ? naming(error) : error
        }
    }
}

extension SettingsSuite {
    /// Returns once everything that was set survives a loss of power.
    ///
    /// - Throws: ``SettingsError`` when that cannot be had, or with ``SettingsError/Code/notSaved`` when earlier
    ///   assignments have failed and fail again. After ``finish()``, the error that kept it from saving everything.
    public func synchronize() throws {
        try naming { try engine.synchronize() }
    }

    /// Writes everything that is stored into the file that people see, now.
    ///
    /// What is set is safe in the journal beside the file, and the file is written a little later: at most 200 ms after the
    /// last set, one second after the first of many, when the suite is let go of or finished, and when the process ends.
    /// Call this before somebody else reads or copies the file. It waits for the disk, some milliseconds.
    ///
    /// Does nothing for a suite that has no such file, or none to write because nothing was ever set in it.
    ///
    /// - Throws: ``SettingsError`` when the file cannot be written, or is there and cannot be read, so that it must not be
    ///   written over; with ``SettingsError/Code/notSaved`` when earlier assignments have failed and fail again; or with
    ///   ``SettingsError/Code/suiteFinished`` after ``finish()``.
    public func checkpoint() throws {
        try naming { try engine.checkpoint() }
    }

    /// How long what is stored lasts, and where.
    public var persistence: SettingsPersistence { engine.store.persistence }

    /// Saves what can be saved and ends the suite: its streams end, and later sets are refused.
    ///
    /// That holds for every suite in this process that is kept in the same place. Values can still be read, as they were
    /// last. Call it, if at all, when the process shuts down; a suite made afterwards under the same name begins anew.
    public func finish() {
        engine.finish()
    }
}
