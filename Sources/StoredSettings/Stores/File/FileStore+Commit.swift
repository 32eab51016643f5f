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
    ///   - isBlind: Whether the outcome depends on nothing that is stored.
    ///   - mustBeTrusted: Whether to replace a journal of which the disk failed to take a part.
    ///   - body: Makes the changes.
    /// - Returns: What the body returns.
    /// - Throws: ``SettingsError`` when the changes cannot be made, or what the body throws.
    func commit<Result>(
        isBlind: Bool,
        mustBeTrusted: Bool = false,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result {
        var effects = Effects()
        defer { deliver(effects) }
        let arrival = ContinuousClock.now
        // A failure that has passed must not make one more change fail.
        if !isBlind, state.withLock({ $0.readFailure?.isUnknown == true }) { versionStamp.mustLook() }
        var isChanged = false
        let result = try writer.withLock { failure in
            // Those who waited here while another waited for the lock in vain would each wait as long again.
            if let failure, failure.time > arrival { throw failure.error }
            let journal = try beginAlone(&failure, mustBeTrusted: mustBeTrusted, &effects)
            defer { unlock(journal) }
            let (base, version, failure) = state.withLock { ($0.contents, $0.version, $0.unknownContents) }
            if let failure, !isBlind { throw failure }
            var transaction = StoreTransaction(base: consume base)
            let result = try body(&transaction)
            // The contents are let go of before they are changed: else they would be copied. While they are unknown, a
            // value that equals the one in memory may be another than the stored one.
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

    /// Appends the changes of a commit to the journal, whose lock is held and whose records are known.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - journal: The journal.
    ///   - version: That of the contents in which the changes were made.
    ///   - effects: Receives what is to be done afterwards.
    /// - Throws: ``SettingsError`` when they cannot be appended; then nothing is changed.
    private func append(
        _ changes: [StoreChange],
        to journal: Journal,
        since version: UInt64,
        _ effects: inout Effects
    ) throws {
        do {
            // The body has forked, and this is the child: the lock is the parent's. Other locks may be held by threads that
            // are not in this process, so none is locked before this.
            guard !journal.isInherited else {
                throw SystemError(call: .lock, path: journal.file.path, number: ENOLCK)
            }
            try state.withLock { state in
                guard !state.isClosed else { throw SettingsError.suiteFinished }
                // Another thread has found that another journal is at the path by now.
                guard state.journal.journal === journal else {
                    throw SystemError(call: .lock, path: journal.file.path, number: EAGAIN)
                }
                let (epoch, salt) = (state.journal.position.epoch, state.journal.salt)
                let record = try JournalRecord.bytes(of: changes, epoch: epoch, salt: salt)
                // Readers wait meanwhile: else they would take the record for another process's.
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
    /// Takes over all records of the journal, and keeps all other processes from changing it until it is unlocked.
    ///
    /// The caller holds `writer`.
    ///
    /// - Parameters:
    ///   - failure: What `writer` protects.
    ///   - patience: How long to wait while another process that has the lock gets nothing done.
    ///   - mustBeTrusted: Whether to replace a journal of which the disk failed to take a part.
    ///   - effects: Receives what is to be done afterwards.
    /// - Returns: The journal, locked.
    /// - Throws: ``SettingsError`` when it cannot be had.
    func beginAlone(
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
            // Before the lock is taken: other processes should not wait for the reading of a file.
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
                // The path may lead to another file by now, which those who come after lock.
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

    /// Takes over all records of a journal that is locked, and repairs or replaces it.
    ///
    /// - Returns: The journal at the path, locked: another one if it was replaced. `nil` when this one is not at the path.
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
                // Another process may have taken over what this one knew.
                guard state.reload != .everything else { return (nil, .everything) }
                return (journal, nil)
            }
            if let inOrder { return try replaced(inOrder, mustBeTrusted: mustBeTrusted, &effects) }
            guard let reload else { return nil }
            // What is read here cannot become outdated: a process that changes it needs the lock.
            self.reload(reload, &effects)
        }
        throw SystemError(call: .read, path: file.path, number: EAGAIN)
    }

    /// How often to read the file for one commit, before it is called an error.
    private static let mostRepairs = 4

    /// How many journals to lock that are gone when they are locked, before it is called an error.
    private static let mostJournals = 100

    func unlock(_ journal: Journal) {
        // A body may have forked: then the lock is the parent's.
        guard !journal.isInherited else { return }
        release(journal.file)
    }

    /// Lets go of a lock, also if that fails at first.
    ///
    /// Closing the file would not do, since its mapping keeps the lock. The system itself refuses this to nobody who has it.
    func release(_ file: FileHandle) {
        do {
            try self.file.system.unlock(file)
        } catch {
            do {
                try SystemCalls().unlock(file)
            } catch {
                // Then there was no lock.
            }
        }
    }

    /// The journal, made if there is none.
    ///
    /// - Parameters:
    ///   - mustOpen: Whether the one that is known is not at its path any more.
    ///   - effects: Receives what is to be done afterwards.
    /// - Returns: The journal.
    /// - Throws: ``SystemError``, or ``SettingsError``, when there can be none.
    private func writableJournal(mustOpen: Bool, _ effects: inout Effects) throws -> Journal {
        let known = try state.withLock { state in
            guard !state.isClosed else { throw SettingsError.suiteFinished }
            if state.journal.journal == nil { refresh(&state, &effects, lookingAtFile: true) }
            return state.journal.journal
        }
        // A lock that is shared with the process this one was forked from excludes nobody, and is not to be let go of here.
        let isUsable = known?.isWritable == true && known?.isInherited == false && !mustOpen
        if let known, isUsable, schedule.hasCommitted.load(ordering: .relaxed) { return known }
        let path = try journalPath()
        state.withLock { $0.journal.path = path }
        try checkTarget(journal: path)
        try file.system.makeDirectories(path.directory)
        // What cannot be checkpointed is not to be committed.
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

    /// Whether a commit can be tried at all.
    func checkWritable() throws {
        var directory = try SettingsPath.target(of: file.path, file.system).directory
        // A directory that is not there yet is made, so what counts is the one that it is made in.
        while try file.system.status(at: directory) == nil, directory != directory.directory {
            directory = directory.directory
        }
        try file.system.checkWritable(directory)
    }
}

extension StoreChange {
    /// The change for those who have seen another old value: somebody has edited the file meanwhile.
    fileprivate func since(_ old: StoredValue?) -> StoreChange {
        StoreChange(key: key, old: old, new: new)
    }
}

extension StoreTransaction {
    /// The changes, with every value in the form in which it will be read from the file.
    ///
    /// - Parameter isIncludingEqual: Whether to include what was set to the value that it had.
    /// - Returns: The changes, in the order of their keys.
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
