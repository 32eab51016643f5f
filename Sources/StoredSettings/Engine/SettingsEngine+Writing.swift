// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsEngine {
    /// Runs a body of the user's alone among all writers.
    func transact<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        let scope = TransactionScope()
        defer { scope.performPostponed() }
        return try commit { transaction in
            let result = try scope.run { try body(&transaction) }
            try transaction.checkDepth()
            return result
        }
    }

    /// Stores some values, or removes what is under their keys.
    func write(_ edits: some Collection<(key: String, value: StoredValue?)>) throws {
        guard edits.allSatisfy({ !$0.key.isEmpty }) else { throw SettingsError.emptyKey }
        // Before anything that may pass can fail: what no store can hold must not be kept to spoil every later commit.
        for (key, value) in edits { try value?.checkDepth(forKey: key) }
        try retryingWithoutRefused {
            try commit(isBlind: true) { transaction in
                for (key, value) in edits {
                    transaction[key] = value
                }
            }
        }
    }

    /// Stores a value, or removes what is under its key.
    func write(_ value: StoredValue?, forKey key: String) throws {
        try write(CollectionOfOne((key: key, value: value)))
    }

    /// Stores a value where nothing can be thrown: what fails is reported, and the value is kept and tried again.
    func assign(_ value: StoredValue?, forKey key: String, report: @escaping @Sendable (SettingsError) -> Void) {
        do {
            try write(value, forKey: key)
        } catch {
            var error = SettingsError.wrapping(error, as: .writeFailed)
            if error.code.isRetryable {
                keep(value, forKey: key)
                // Where nothing can be stored, every reporter was notified when the suite was opened.
                guard isStorageAvailable else { return }
                error.consequence =
                    "the new value is kept in memory, is tried again, and is lost if the process ends before"
            }
            afterTransaction { [error] in report(error) }
        }
    }

    private func commit<Result>(
        isBlind: Bool = false,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result {
        guard !isFinished else { throw SettingsError.suiteFinished }
        if isStorageAvailable, let scope = TransactionScope.current {
            scope.postpone { self.retry() }
            throw SettingsError.nestedTransaction
        }
        return try commitPending(isBlind: isBlind, body)
    }

    /// Runs a commit that takes pending writes along.
    ///
    /// - Parameters:
    ///   - isBlind: Whether the body reads nothing, so that the commit is possible while the contents are unknown.
    ///   - key: The only key whose pending write is taken along; `nil` for all.
    ///   - body: Changes the contents.
    /// - Returns: What the body returns.
    /// - Throws: What the body or the store throws; then everything stays pending.
    func commitPending<Result>(
        isBlind: Bool,
        only key: String? = nil,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result {
        var delivery = StoreDelivery.none
        defer { delivery.perform() }
        let body: (inout StoreTransaction) throws -> Result = { [self] transaction in
            // The store has caught up with other processes: what is still pending is newer than their commits.
            guard state.withLock({ $0.pendingWrites.isFlushNeeded }) else { return try body(&transaction) }
            let flush = state.withLock { $0.pendingWrites.beginFlush(of: key, into: &transaction) }
            let result = try body(&transaction)
            delivery = state.withLock { state in
                guard let changes = state.pendingWrites.endFlush(flush, in: &transaction) else { return .none }
                pendingWritesChanged()
                return offer(StoreCommit(changes: changes, origin: .local), to: state.subscribers)
            }
            return result
        }
        return try isBlind ? store.write(body) : store.commit(body)
    }

    /// Tries again to save what could not be saved.
    func flush() throws {
        guard state.withLock({ $0.pendingWrites.isFlushNeeded }) else { return }
        try retryingWithoutRefused { try commit(isBlind: true) { _ in } }
    }

    /// Forgets what is pendingWrites under a key, and tells what shows instead.
    func forget(_ key: String, upTo version: PendingWrites.Version) {
        let delivery = store.withValue(forKey: key) { stored in
            state.withLock { state in
                guard let entry = state.pendingWrites.remove(key, upTo: version) else { return StoreDelivery.none }
                pendingWritesChanged()
                // Others may have stored something since, which was hidden until now.
                let changes = PendingWrites.change(ofKey: key, from: entry.value, to: stored).map { [$0] } ?? []
                return state.subscribers.offer(StoreCommit(changes: changes, origin: .external))
            }
        }
        delivery.perform()
    }

    private func keep(_ value: StoredValue?, forKey key: String) {
        // What other processes have stored before must not be taken for newer later on.
        versionStamp?.mustLook()
        let delivery = withValue(forKey: key) { old, state in
            state.pendingWrites.keep(value, forKey: key)
            self.pendingWritesChanged()
            let changes = PendingWrites.change(ofKey: key, from: old, to: value).map { [$0] } ?? []
            return self.offer(StoreCommit(changes: changes, origin: .local), to: state.subscribers)
        }
        afterTransaction { delivery.perform() }
        scheduleRetry()
    }

    /// Runs what calls observers or reporters: at once, or when the transaction that the caller is inside of, and the
    /// locks it holds, have ended.
    func afterTransaction(_ work: @escaping @Sendable () -> Void) {
        if let scope = TransactionScope.current {
            scope.postpone(work)
        } else {
            work()
        }
    }

    /// Returns once everything survives a loss of power.
    func synchronize() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        if let error = state.withLock({ $0.finishingError }) { throw error }
        try saveAll()
        try store.synchronize()
    }

    /// Writes everything into the file that people see.
    func checkpoint() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        guard !isFinished else { throw SettingsError.checkpointAfterFinish }
        try saveAll()
        try store.checkpoint()
    }

    /// Saves every pending write.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/notSaved`` while there is one.
    private func saveAll() throws {
        do {
            try flush()
        } catch {
            // Newer commits may have ended them all meanwhile.
            let count = state.withLock { $0.pendingWrites.count }
            if count > 0 { throw SettingsError.notSaved(count, because: error) }
        }
    }

    /// Saves what can be saved, ends all streams, and takes no more changes.
    ///
    /// Inside a transaction it waits for the end of that.
    func finish() {
        if let scope = TransactionScope.current {
            scope.postpone { self.finish() }
            return
        }
        let error = isFinished ? nil : finishingError()
        // Where nothing can be stored, that was reported when the suite was opened.
        if let error, isStorageAvailable { report(error) }
        let subscribers = state.withLock { state in
            if !state.isFinished { state.finishingError = error }
            state.isFinished = true
            return state.subscribers.removeAll()
        }
        // They may hold something that holds this engine.
        let unused = settings.withLock { settings in
            defer { settings = SettingRegistry() }
            return settings
        }
        _ = consume unused
        for subscriber in subscribers {
            subscriber.finish()
        }
        store.close()
    }

    /// Saves everything for the last time.
    ///
    /// - Returns: Why something is not saved, or does not survive a loss of power.
    private func finishingError() -> SettingsError? {
        do {
            try saveAll()
            try store.synchronize()
            return nil
        } catch {
            var error = SettingsError.wrapping(error, as: .writeFailed)
            if error.code == .notSaved {
                error.consequence = "the suite is finished, and what is not saved is lost when the process ends"
            }
            return error
        }
    }
}
