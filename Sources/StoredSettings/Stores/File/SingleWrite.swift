// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Most sets take a short path".

import Synchronization

// Sets the value of one key while the store has nothing else to do.
//
// This is the path of most sets. It makes no transaction: it composes the record before it locks the journal, and appends
// it if this process has read everything before it. Otherwise, such as when another process has appended a record, the
// caller makes a commit.
//
// The journal's lock also excludes the commits of other threads. It is never waited for, so it may be acquired under the
// state lock.

extension FileStore {
    /// The result of an attempt to set a value.
    enum SingleWrite {
        case notPossible
        case unchanged
        case done(Journal, StoreDelivery?, isUrgent: Bool)
    }

    /// Sets the value of one key, if that is possible without waiting for another thread or process.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` to remove the stored one.
    ///   - key: The key.
    /// - Returns: The result, which the caller passes to ``finish(_:)``.
    /// - Throws: ``SettingsError`` if the record cannot be written. Nothing has changed then.
    func writeIfPossible(_ value: StoredValue?, forKey key: String) throws -> SingleWrite {
        let value = value.map { $0.isStoredAsItself ? $0 : $0.storedAsJSON }
        do {
            return try JournalRecord.withRecord(setting: key, to: value) { record in
                try state.withLock { try append(record, setting: key, to: value, &$0) }
            }
        } catch {
            throw file.writeError(error)
        }
    }

    /// Notifies subscribers and other processes of a set, and schedules a checkpoint.
    ///
    /// The caller holds no lock.
    ///
    /// - Returns: Whether the value is set.
    func finish(_ result: SingleWrite) -> Bool {
        switch result {
        case .notPossible:
            return false
        case .unchanged:
            return true
        case .done(let journal, let delivery, let isUrgent):
            journal.notifyWatchers()
            delivery?.perform()
            if isUrgent || !schedule.isScheduled.load(ordering: .relaxed) {
                checkpoints.schedule(isOwn: true, isUrgent: isUrgent)
            }
            return true
        }
    }

    private func append(
        _ record: UnsafeMutableRawBufferPointer,
        setting key: String,
        to value: StoredValue?,
        _ state: inout FileStoreState
    ) throws -> SingleWrite {
        // A holder that has died requires a recovery.
        guard let journal = state.journalForRecords, try journal.acquireLockIfFree() else { return .notPossible }
        defer { journal.unlock() }
        guard state.isReady(for: journal) else { return .notPossible }
        let place = state.place(ofKey: key)
        guard state.value(at: place) != value else { return .unchanged }
        JournalRecord.complete(record, epoch: state.journal.position.epoch, salt: state.journal.salt)
        let position = try journal.append(
            UnsafeRawBufferPointer(record),
            after: state.journal.position,
            in: &state.journal.space
        )
        (state.journal.position, state.journal.seen) = (position, position.word)
        let old = state.replace(value, at: place, forKey: key)
        state.noteRecord(of: key, over: old, end: position.end)
        versionStamp.advance(toSeen: position.word, version: state.version)
        let delivery = state.delivery(ofChange: key, from: old, to: value)
        return .done(journal, delivery, isUrgent: Int(position.end) > schedule.journalBound)
    }
}

extension FileStoreState {
    /// The journal, if a record could be appended to it without any preparation.
    fileprivate var journalForRecords: Journal? {
        guard schedule.hasCommitted.load(ordering: .relaxed), let journal = journal.journal, journal.isWritable,
            !journal.isLockedAsFile, !journal.isInherited
        else { return nil }
        return journal
    }

    /// Whether the contents include every record of a locked journal, and neither needs any attention.
    fileprivate func isReady(for current: Journal) -> Bool {
        guard journal.journal === current, isOpened, !isClosed, reload == nil, settings.failure == nil,
            !journal.isTroubled, versionStamp.isCurrent(atSeen: journal.seen, version: version)
        else { return false }
        return current.isReady(at: journal.seen) && !journal.isPlaceDue
            && !journal.isTooLong(current, bound: schedule.journalBound)
    }

    /// Records a change with the observer, if that needs it.
    fileprivate func delivery(ofChange key: String, from old: StoredValue?, to new: StoredValue?) -> StoreDelivery? {
        guard versionStamp.needsChanges.load(ordering: .acquiring), let observer else { return nil }
        let change = StoreChange(key: key, old: old, new: new)
        var delivery = observer.record(StoreCommit(changes: [change], origin: .local))
        // The last reference to the observer must not be released under the lock.
        if delivery.recorder == nil { delivery.recorder = observer }
        return delivery
    }
}

extension Journal {
    /// Whether the journal can receive a record after a position, and nothing is noted in its header.
    fileprivate func isReady(at word: UInt64) -> Bool {
        page[JournalHeader.positionWord] == word && isAlive && !isRetired && !isDistrusted && !isExposed
            && page[JournalHeader.limitWord] == 0
    }
}
