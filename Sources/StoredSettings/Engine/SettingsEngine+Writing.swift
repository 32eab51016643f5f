// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsEngine {
    /// Runs a body of the user's alone among all writers.
    func transact<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        let scope = TransactionScope()
        defer { scope.performPostponed() }
        return try commit { transaction in
            try scope.run { try body(&transaction) }
        }
    }

    /// Stores some values, or removes what is under their keys.
    func write(_ edits: some Collection<(key: String, value: StoredValue?)>) throws {
        guard edits.allSatisfy({ !$0.key.isEmpty }) else { throw SettingsError.emptyKey }
        // Before anything that may pass can fail: what no store can hold must not be kept to spoil every later commit.
        guard edits.allSatisfy({ $0.value?.isNested(within: StoredValue.maximumDepth) ?? true }) else {
            throw SettingsError.unstorable("the value is nested deeper than \(StoredValue.maximumDepth) levels")
        }
        try retryingWithoutRefused { try commit(edits) }
    }

    /// Stores some values whatever is stored now, with what could not be saved before.
    private func commit(_ edits: some Collection<(key: String, value: StoredValue?)>) throws {
        try committing { flushed in
            try store.write {
                var all = beginFlush(&flushed)
                for (key, value) in edits { all.updateValue(value, forKey: key) }
                return all
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
            if error.code.mayPass {
                error.consequence =
                    "the new value is kept in memory, is tried again, and is lost if the process ends before"
                keep(value, forKey: key)
            }
            afterTransaction { [error] in report(error) }
        }
    }

    private func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try committing { flushed in
            try store.commit { transaction in
                for (key, value) in beginFlush(&flushed) { transaction[key] = value }
                return try body(&transaction)
            }
        }
    }

    /// Takes what is unsaved into the commit that is under way.
    private func beginFlush(_ flushed: inout UnsavedChanges.Version?) -> [String: StoredValue?] {
        guard let unsaved = state.withLock({ $0.unsaved.isEmpty ? nil : $0.unsaved.beginFlush() }) else { return [:] }
        flushed = unsaved.version
        return unsaved.edits
    }

    private func committing<Result>(
        _ commit: (_ flushed: inout UnsavedChanges.Version?) throws -> Result
    ) throws -> Result {
        if let scope = TransactionScope.current {
            scope.postpone { self.retry() }
            throw SettingsError.nestedTransaction
        }
        guard !isFinished else { throw SettingsError.suiteFinished }
        var flushed: UnsavedChanges.Version?
        let result = try commit(&flushed)
        if let flushed { endFlush(flushed) }
        return result
    }

    /// Tries again to save what could not be saved.
    func flush() throws {
        guard state.withLock({ !$0.unsaved.isEmpty }) else { return }
        try retryingWithoutRefused { try commit([]) }
    }

    /// Forgets what was taken along and was stored already, so that the commit had no change to tell of.
    private func endFlush(_ version: UnsavedChanges.Version) {
        for key in state.withLock({ $0.unsaved.keys(upTo: version) }) {
            forget(key, upTo: version)
        }
    }

    /// Forgets what is unsaved under a key, and tells what shows instead.
    func forget(_ key: String, upTo version: UnsavedChanges.Version) {
        let delivery = store.withValue(forKey: key) { stored in
            state.withLock { state in
                guard let entry = state.unsaved.remove(key, upTo: version) else { return StoreDelivery.none }
                overlayChanged()
                // Others may have stored something since, which was hidden until now.
                let changes = UnsavedChanges.change(ofKey: key, from: entry.value, to: stored).map { [$0] } ?? []
                return state.sinks.offer(StoreCommit(changes: changes, origin: .external))
            }
        }
        delivery.perform()
    }

    private func keep(_ value: StoredValue?, forKey key: String) {
        let delivery = withValue(forKey: key) { old, state in
            state.unsaved.keep(value, forKey: key)
            self.overlayChanged()
            let changes = UnsavedChanges.change(ofKey: key, from: old, to: value).map { [$0] } ?? []
            return self.offer(StoreCommit(changes: changes, origin: .local), to: state.sinks)
        }
        afterTransaction { delivery.perform() }
        scheduleRetry()
    }

    /// Runs what calls observers or reporters: at once, or when the transaction that the caller is inside of, and the
    /// locks it holds, have ended.
    private func afterTransaction(_ work: @escaping @Sendable () -> Void) {
        if let scope = TransactionScope.current {
            scope.postpone(work)
        } else {
            work()
        }
    }

    /// Returns once everything survives a loss of power.
    func synchronize() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        do {
            try flush()
        } catch {
            throw SettingsError.notSaved(state.withLock { $0.unsaved.count }, because: error)
        }
        try store.synchronize()
    }

    /// Writes everything into the file that people see.
    func fold() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        do {
            try flush()
        } catch {
            throw SettingsError.notSaved(state.withLock { $0.unsaved.count }, because: error)
        }
        try store.fold()
    }

    /// Saves what can be saved, ends all streams, and takes no more changes.
    ///
    /// Inside a transaction it waits for the end of that.
    func finish() {
        if let scope = TransactionScope.current {
            scope.postpone { self.finish() }
            return
        }
        do {
            try synchronize()
        } catch {
            report(SettingsError.wrapping(error, as: .writeFailed))
        }
        let sinks = state.withLock { state in
            state.isFinished = true
            return state.sinks.removeAll()
        }
        // They may hold something that holds this engine.
        let unused = settings.withLock { settings in
            defer { settings = SettingTable() }
            return settings
        }
        _ = consume unused
        for sink in sinks {
            sink.finish()
        }
        store.close()
    }
}
