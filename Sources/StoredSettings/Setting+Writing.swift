// SPDX-License-Identifier: Apache-2.0

// MARK: - Changing the value

extension Setting {
    /// Stores a value, at the cost of an assignment to ``value``.
    ///
    /// - Parameter value: The new value.
    /// - Throws: ``SettingsError`` when the value is rejected or cannot be saved. Then nothing has changed.
    public func set(_ value: Value) throws {
        try write(try box.encode(value))
    }

    /// Removes the stored value, so that the default is used.
    ///
    /// - Throws: ``SettingsError`` when the change cannot be saved. Then nothing has changed.
    public func reset() throws {
        try write(nil)
    }

    /// Atomically updates the value across threads and processes.
    ///
    /// ```swift
    /// try settings.$launches.update { $0 += 1 }
    /// ```
    ///
    /// The closure receives the stored value, or else the value of a base or the default; overrides are ignored. It runs
    /// while all other writers of the suite wait, so keep it short. Over a store that machines share, it may run again. It must
    /// not change other settings, of any suite: use ``SettingsSuite/transaction(_:)`` for several. A base or a default that the
    /// closure leaves unchanged is not stored.
    ///
    /// - Parameter body: Changes the value.
    /// - Returns: The new value.
    /// - Throws: The error of the closure; ``SettingsError`` when the stored value cannot be decoded, or when the new value
    ///   is rejected or cannot be saved. Then nothing has changed.
    @discardableResult
    public func update(_ body: (inout Value) throws -> Void) throws -> Value {
        var hasBegun = false
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
        } catch {
            throw unsaved(error)
        }
    }

    func writeWithoutWaiting(_ stored: StoredValue?) throws -> Bool {
        do {
            try suite.checkUnmanaged(box.key.storedKeys.all)
            guard !isStoredUnderOldKey else { return false }
            return try engine.writeWithoutWaiting(stored, forKey: key)
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
            engine.assign(stored, forKey: key) { report($0, as: .writeFailed) }
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
