// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Most sets take a short path".

import Synchronization

// Sets the value of one key while the store has nothing else to do.
//
// This is the path of most sets. It makes no transaction: it composes the record before it locks the journal, reads the
// records that other processes have appended, and appends its own. If there is anything else to do first, such as to
// recover a damaged journal or to read an edited file, the caller makes a commit.
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
        try withRecord(setting: key, to: value) { record, value in
            try state.withLock { state in
                // A holder that has died requires a recovery.
                guard let journal = state.journalForRecords, try journal.acquireLockIfFree() else {
                    return .notPossible
                }
                defer { journal.unlock() }
                return try append(record, setting: key, to: value, &state, journal)
            }
        }
    }

    /// Waits for the journal's lock, and sets the value of one key if no preparation is necessary.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` to remove the stored one.
    ///   - key: The key.
    ///   - failure: The last failure to lock the journal.
    /// - Returns: The result, which the caller passes to ``finish(_:)``.
    /// - Throws: ``SettingsError`` if the journal cannot be locked or the record cannot be written. Nothing has changed then.
    func waitAndWrite(
        _ value: StoredValue?,
        forKey key: String,
        _ failure: inout LockFailure?
    ) throws -> SingleWrite {
        try withRecord(setting: key, to: value) { record, value in
            let journal = state.withLock { state in
                // Other processes should not wait while this one reads many records.
                if let journal = state.journalForRecords { state.replayRecords(of: journal) }
                return state.journalForRecords
            }
            guard let journal else { return .notPossible }
            do {
                guard try journal.acquireLock(writePatience) == .free else {
                    journal.unlock()
                    return .notPossible
                }
            } catch {
                throw note(error, as: &failure)
            }
            defer { journal.unlock() }
            return try state.withLock { try append(record, setting: key, to: value, &$0, journal) }
        }
    }

    private func withRecord(
        setting key: String,
        to value: StoredValue?,
        _ body: (UnsafeMutableRawBufferPointer, StoredValue?) throws -> SingleWrite
    ) throws -> SingleWrite {
        let value = value.map { $0.isStoredAsItself ? $0 : $0.storedAsJSON }
        do {
            return try JournalRecord.withRecord(setting: key, to: value) { try body($0, value) }
        } catch {
            throw file.writeError(error)
        }
    }

    /// Notes that the journal could not be locked in time, so that other threads need not wait as long again.
    func note(_ error: any Error, as failure: inout LockFailure?) -> SettingsError {
        let error = file.writeError(error)
        if error.code == .lockTimedOut { failure = LockFailure(time: .now, error: error) }
        return error
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
            if isUrgent || !schedule.isScheduled.isSet {
                checkpoints.schedule(isOwn: true, isUrgent: isUrgent)
            }
            return true
        }
    }

    private func append(
        _ record: UnsafeMutableRawBufferPointer,
        setting key: String,
        to value: StoredValue?,
        _ state: inout FileStoreState,
        _ journal: Journal
    ) throws -> SingleWrite {
        state.replayRecords(of: journal)
        guard state.isReady(for: journal), journal.isWithinLimit(record.count, after: state.journal.position) else {
            return .notPossible
        }
        let place = state.contents.place(ofKey: key)
        guard state.contents.value(at: place) != value else { return .unchanged }
        JournalRecord.complete(record, epoch: state.journal.position.epoch, salt: state.journal.salt)
        let appended = try journal.append(
            UnsafeRawBufferPointer(record),
            after: state.journal.position,
            in: &state.journal.space
        )
        guard let position = appended else {
            state.journal.forgetPlace()
            return .notPossible
        }
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
            !journal.isInherited, journal.isAlive,
            journal.lock.hasToken || journal.file.isOpen
        else { return nil }
        return journal
    }

    /// Whether the contents include every record of a locked journal, and neither needs any attention.
    fileprivate func isReady(for current: Journal) -> Bool {
        isUndisturbed(current) && current.published.word == journal.seen && !journal.isPlaceDue
            && !journal.isTooLong(current, bound: schedule.journalBound)
    }

    /// Reads the records that other processes have appended, if that is all there is to do and no subscriber waits for them.
    fileprivate mutating func replayRecords(of current: Journal) {
        guard current.published.word != journal.seen, isUndisturbed(current),
            !versionStamp.needsChanges.load(ordering: .acquiring)
        else { return }
        replayJournal()
        publishVersion()
    }

    private func isUndisturbed(_ current: Journal) -> Bool {
        journal.journal === current && isOpened && !isClosed && reload == nil && settings.failure == nil
            && !journal.isTroubled && versionStamp.isCurrent(atSeen: journal.seen, version: version)
            && current.isUndisturbed
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
    /// Whether nothing is noted in the header that has to be done before a record is appended.
    fileprivate var isUndisturbed: Bool {
        isAlive && !isRetired && !isDistrusted && !isExposed && !isBeingReplaced
    }

    /// Whether a record of some length can be appended before the header has to be on the disk.
    fileprivate func isWithinLimit(_ count: Int, after position: JournalPosition) -> Bool {
        let limit = page[JournalHeader.limitWord]
        return limit == 0 || UInt64(position.end) + UInt64(count) <= limit
    }
}
