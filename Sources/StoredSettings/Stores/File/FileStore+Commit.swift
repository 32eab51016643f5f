// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension FileStore {
    func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try commit(isBlind: false, body)
    }

    func write<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try commit(isBlind: true, body)
    }

    /// - Parameters:
    ///   - isBlind: Whether the result is independent of the stored values.
    ///   - mustBeTrusted: Whether to replace a journal that the disk failed to write in part.
    ///   - body: Makes the changes.
    /// - Returns: The result of the body.
    /// - Throws: ``SettingsError`` if the changes cannot be stored, or the error of the body.
    func commit<Result>(
        isBlind: Bool,
        mustBeTrusted: Bool = false,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result {
        var effects = Effects()
        defer { deliver(effects) }
        let arrival = ContinuousClock.now
        // A failure that no longer exists must not make this change fail.
        if !isBlind, state.withLock({ $0.readFailure?.isUnknown == true }) { versionStamp.mustLook() }
        var isChanged = false
        let result = try writer.withLock { failure in
            // If another thread has waited for the lock in vain, each thread behind it would wait as long again.
            if let failure, failure.time > arrival { throw failure.error }
            let journal = try lockAndRecover(&failure, mustBeTrusted: mustBeTrusted, &effects)
            defer { unlock(journal) }
            let (base, version, failure) = state.withLock { ($0.contents, $0.version, $0.unknownContents) }
            if let failure, !isBlind { throw failure }
            var transaction = StoreTransaction(base: consume base)
            let result = try body(&transaction)
            // The transaction's reference to the contents is released before they change, which avoids a copy. While
            // the contents are unknown, a value that equals the one in memory may differ from the stored one.
            let changes = (consume transaction).storedAsJSON(includingEqual: failure != nil)
            if !changes.isEmpty {
                try append(changes, to: journal, since: version, &effects)
                isChanged = true
            }
            return result
        }
        if isChanged { checkpointLater(isOwn: true, isUrgent: versionStamp.journalEnd > schedule.journalBound) }
        return result
    }

    /// Appends the changes of a commit to the journal.
    ///
    /// The caller holds its lock and has replayed its records.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - journal: The journal.
    ///   - version: The version of the contents that the changes are based on.
    ///   - effects: Receives what to do afterwards.
    /// - Throws: ``SettingsError`` if the changes cannot be appended. Nothing has changed then.
    private func append(
        _ changes: [StoreChange],
        to journal: Journal,
        since version: UInt64,
        _ effects: inout Effects
    ) throws {
        do {
            // The body has forked, and this is the child: the lock belongs to the parent. Other locks may be held by
            // threads that do not exist in this process, so this check comes before any of them.
            guard !journal.isInherited else {
                throw SystemError(call: .lock, path: journal.file.path, number: ENOLCK)
            }
            try state.withLock { state in
                guard !state.isClosed else { throw SettingsError.suiteFinished }
                // Another thread has found another journal at the path.
                guard state.journal.journal === journal else {
                    throw SystemError(call: .lock, path: journal.file.path, number: EAGAIN)
                }
                let (epoch, salt) = (state.journal.position.epoch, state.journal.salt)
                let record = try JournalRecord.bytes(of: changes, epoch: epoch, salt: salt)
                // Readers wait meanwhile. Otherwise, they would attribute the record to another process.
                state.journal.position = try journal.append(record, after: state.journal.position)
                state.journal.seen = state.journal.position.word
                let isEdited = state.version != version
                let changes = isEdited ? changes.map { $0.since(state.contents[$0.key]) } : changes
                apply(changes, end: state.journal.position.end, .local, &state, &effects)
                versionStamp.update(journal.page, seen: state.journal.seen, version: state.version)
            }
        } catch {
            throw writeError(error)
        }
    }
}

// MARK: - The journal, alone among all processes

extension FileStore {
    /// Locks the journal and replays all its records.
    ///
    /// No other process can change it until it is unlocked.
    ///
    /// The caller holds `writer`.
    ///
    /// - Parameters:
    ///   - failure: The value that `writer` protects.
    ///   - patience: How long to wait while the process that holds the lock makes no progress.
    ///   - mustBeTrusted: Whether to replace a journal that the disk failed to write in part.
    ///   - effects: Receives what to do afterwards.
    /// - Returns: The journal, locked.
    /// - Throws: ``SettingsError`` if it cannot be locked or used.
    func lockAndRecover(
        _ failure: inout LockFailure?,
        patience: Duration = FileLock.patience,
        mustBeTrusted: Bool,
        _ effects: inout Effects
    ) throws -> Journal {
        do {
            return try lockJournal(patience, mustBeTrusted: mustBeTrusted, &effects)
        } catch {
            let error = writeError(error)
            if error.code == .lockTimedOut { failure = LockFailure(time: .now, error: error) }
            throw error
        }
    }

    private func lockJournal(
        _ patience: Duration,
        mustBeTrusted: Bool,
        _ effects: inout Effects
    ) throws -> Journal {
        var mustOpen = false
        for _ in 0..<Self.mostJournals {
            let journal = try writableJournal(mustOpen: mustOpen, &effects)
            // This comes before the lock: other processes should not wait while this one reads a file.
            reloadIfDue(&effects)
            try FileLock.acquire(
                journal.file,
                file.system,
                patience: patience,
                slowPatience: max(patience, FileLock.slowPatience),
                holder: { LockHolder(of: .journal, in: journal.page) },
                progress: { journal.published.word }
            )
            do {
                // The path may lead to another file by now, which later writers lock instead.
                let place = try journal.place(at: state.withLock { $0.journal.path })
                mustOpen = place == .elsewhere
                if let new = try recover(journal, place, mustBeTrusted: mustBeTrusted, &effects) {
                    if new !== journal { unlock(journal) }
                    return new
                }
            } catch {
                unlock(journal)
                throw error
            }
            unlock(journal)
        }
        throw SystemError(call: .open, path: file.path, number: EAGAIN)
    }

    /// Replays all records of a locked journal, and recovers or replaces it.
    ///
    /// - Returns: The journal at the path, locked: another one if it was replaced. `nil` when this one is not at the
    ///   path.
    private func recover(
        _ journal: Journal,
        _ place: Journal.Place,
        mustBeTrusted: Bool,
        _ effects: inout Effects
    ) throws -> Journal? {
        for _ in 0..<Self.mostRepairs {
            let (inOrder, reload) = try state.withLock { state -> (Journal?, Reload?) in
                guard !state.isClosed else { throw SettingsError.suiteFinished }
                refresh(&state, &effects, lookingAtFile: place == .elsewhere)
                guard place != .elsewhere, state.journal.journal === journal else { return (nil, nil) }
                guard state.reload != .everything else { return (nil, .everything) }
                try recover(journal, isCut: place == .cut, &state, &effects)
                // Another process may have taken over the records that only this process knew of.
                guard state.reload != .everything else { return (nil, .everything) }
                return (journal, nil)
            }
            if let inOrder { return try replaced(inOrder, mustBeTrusted: mustBeTrusted, &effects) }
            guard let reload else { return nil }
            // The result of this reload cannot become outdated: a process that changes the journal needs its lock.
            self.reload(reload, &effects)
        }
        throw SystemError(call: .read, path: file.path, number: EAGAIN)
    }

    /// How often to read the file for one commit before the commit fails.
    private static let mostRepairs = 4

    /// How often a journal may be gone when it is locked, before the commit fails.
    private static let mostJournals = 100

    func unlock(_ journal: Journal) {
        // If a body has forked, the lock belongs to the parent.
        guard !journal.isInherited else { return }
        release(journal.file)
    }

    /// Releases a lock, even if the first attempt fails.
    ///
    /// Closing the file is not enough, because its mapping retains the lock. The system never refuses to unlock a lock
    /// that is held.
    func release(_ file: FileHandle) {
        do {
            try self.file.system.unlock(file)
        } catch {
            do {
                try SystemCalls().unlock(file)
            } catch {
                // There was no lock.
            }
        }
    }

    /// Returns the journal, and creates it if there is none.
    ///
    /// - Parameters:
    ///   - mustOpen: Whether the known journal is no longer at its path.
    ///   - effects: Receives what to do afterwards.
    /// - Returns: The journal.
    /// - Throws: ``SystemError`` or ``SettingsError`` if it cannot be opened or created.
    private func writableJournal(mustOpen: Bool, _ effects: inout Effects) throws -> Journal {
        let known = try state.withLock { state in
            guard !state.isClosed else { throw SettingsError.suiteFinished }
            if state.journal.journal == nil { refresh(&state, &effects, lookingAtFile: true) }
            return state.journal.journal
        }
        // A lock that this process shares with its parent after a fork excludes no process, and must not be released
        // here.
        let isUsable = known?.isWritable == true && known?.isInherited == false && !mustOpen
        if let known, isUsable, schedule.hasCommitted.load(ordering: .relaxed) { return known }
        let path = try journalPath()
        state.withLock { $0.journal.path = path }
        try checkTarget(journal: path)
        try file.system.makeDirectories(path.directory)
        // A commit that no checkpoint could write to the file has to fail.
        try checkWritable()
        if let known, isUsable { return known }
        let journal = try Journal.openOrCreate(at: path, like: try file.status(), file.system) {
            try FileLock.acquire($0, file.system) { 0 }
        } cut: {
            effects.errors.append(.cutJournal(path))
        }
        state.withLock { state in
            let isOther = state.journal.adopt(journal) { state.contents[$0] }
            if isOther { requireReload(&state, &effects) }
        }
        return journal
    }

    /// Throws when there is no journal yet, and the path leads to something that a checkpoint cannot replace.
    ///
    /// With a journal, sets go on: the regular file may come back.
    func checkTarget(journal path: FilePath) throws {
        guard let status = try file.status(), !status.isRegular,
            try file.system.status(at: path, followingLinks: false) == nil
        else { return }
        throw SettingsError.notAFile(file.path)
    }

    /// Throws ``SystemError`` or ``SettingsError`` if no commit can succeed.
    func checkWritable() throws {
        var directory = try SettingsPath.target(of: file.path, file.system).directory
        // A missing directory is created, so the nearest existing directory has to be writable.
        while try file.system.status(at: directory) == nil, directory != directory.directory {
            directory = directory.directory
        }
        try file.system.checkWritable(directory)
    }
}

extension StoreChange {
    /// The change with another old value.
    ///
    /// It is used when the file was edited during the commit.
    fileprivate func since(_ old: StoredValue?) -> StoreChange {
        StoreChange(key: key, old: old, new: new)
    }
}

extension StoreTransaction {
    /// The changes, with every value in the form in which it is read from the file.
    ///
    /// - Parameter isIncludingEqual: Whether to include assignments that equal the previous value.
    /// - Returns: The changes, sorted by key.
    fileprivate func storedAsJSON(includingEqual isIncludingEqual: Bool) -> [StoreChange] {
        var changes = isIncludingEqual ? edited : changes
        var isAnyOther = false
        for index in changes.indices {
            guard let new = changes[index].new, !new.isStoredAsItself else { continue }
            changes[index].new = new.storedAsJSON
            isAnyOther = true
        }
        if isAnyOther, !isIncludingEqual { changes.removeAll { $0.old == $0.new } }
        return changes
    }
}
