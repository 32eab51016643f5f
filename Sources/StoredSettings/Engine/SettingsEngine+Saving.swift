// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsEngine {
    /// Returns once everything survives power loss.
    func synchronize() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        if let error = state.withLock({ $0.finishingError }) { throw error }
        try saveAll()
        if isAnythingStored { try store.synchronize() }
    }

    /// Writes everything into the settings file.
    func checkpoint() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        guard !isFinished else { throw SettingsError.checkpointAfterFinish }
        try saveAll()
        if isAnythingStored { try store.checkpoint() }
    }

    /// Whether the store may have values to save: without a place to store anything, only assigned ones.
    private var isAnythingStored: Bool {
        isStorageAvailable || state.withLock { !$0.pendingWrites.applied(to: [:]).isEmpty }
    }

    /// Saves every pending write.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/notSaved`` while there is one.
    private func saveAll() throws {
        do {
            try flush()
        } catch {
            // Newer commits may have replaced them all meanwhile.
            let count = state.withLock { $0.pendingWrites.count }
            if count > 0 { throw SettingsError.notSaved(count, because: error) }
        }
    }

    /// Saves the pending writes, ends all streams, and accepts no more changes.
    ///
    /// Inside a transaction's body, it takes effect after the transaction.
    func finish() {
        if let scope = TransactionScope.current {
            scope.postpone { self.finish() }
            return
        }
        let error = isFinished ? nil : finishingError()
        // Without a place to store anything, that was reported when the suite was opened.
        if let error, isStorageAvailable { report(error) }
        let subscribers = state.withLock { state in
            if !state.isFinished { state.finishingError = error }
            state.isFinished = true
            return state.subscribers.removeAll()
        }
        // Outside the lock: the settings may hold objects that hold this engine.
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
    /// - Returns: The error that prevents values from being saved, or from surviving power loss.
    private func finishingError() -> SettingsError? {
        do {
            try saveAll()
            if isAnythingStored { try store.synchronize() }
            return nil
        } catch {
            var error = SettingsError.wrapping(error, as: .writeFailed)
            if error.code == .notSaved {
                error.consequence = "the suite is finished, and these values are lost when the process ends"
            }
            return error
        }
    }
}
