// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A commit that could not lock the journal in time.
struct LockFailure {
    /// The number of such failures so far.
    var number: Int
    var error: SettingsError
}

/// Locks the journal, so that no other process can change it, and recovers it.
///
/// The caller holds ``FileStore/writer``.
struct JournalLocker {
    private let store: FileStore
    private let patience: Patience
    /// Whether to replace a journal that the disk failed to write in part.
    private let mustBeTrusted: Bool

    private var file: SettingsFile { store.file }

    /// How often a journal may be gone when it is locked, before the commit fails.
    private static let mostJournals = 100
    /// How often to read the file for one commit before the commit fails.
    private static let mostReloads = 4

    init(_ store: FileStore, patience: Patience, mustBeTrusted: Bool) {
        (self.store, self.patience, self.mustBeTrusted) = (store, patience, mustBeTrusted)
    }

    /// Locks the journal, replays all its records, and recovers it.
    ///
    /// No other process can change it until it is unlocked.
    ///
    /// - Parameters:
    ///   - failure: The last failure to lock the journal.
    ///   - effects: Receives what to do afterwards.
    ///   - snapshot: Returns the part of the state that the caller needs.
    /// - Returns: The journal, locked, and the part of its state.
    /// - Throws: ``SettingsError`` if it cannot be locked or used.
    func lock<Snapshot>(
        _ failure: inout LockFailure?,
        _ effects: inout Effects,
        _ snapshot: (borrowing FileStoreState) -> Snapshot
    ) throws -> (journal: Journal, snapshot: Snapshot) {
        do {
            return try lock(&effects, snapshot)
        } catch {
            throw store.note(error, as: &failure)
        }
    }

    private func lock<Snapshot>(
        _ effects: inout Effects,
        _ snapshot: (borrowing FileStoreState) -> Snapshot
    ) throws -> (journal: Journal, snapshot: Snapshot) {
        var mustOpen = false
        for _ in 0..<Self.mostJournals {
            let journal = try writableJournal(mustOpen: mustOpen, &effects)
            // This comes before the lock: other processes should not wait while this one reads a file.
            store.reloadIfDue(&effects)
            guard journal.isAlive, journal.file.isOpen else {
                // Locking it would change the other file that was written into its place, or another file of the program.
                mustOpen = true
                continue
            }
            _ = try journal.acquireLock(patience)
            // A process that recorded itself as the holder was killed before it released the lock.
            if LockHolder(of: .journal, in: journal.page) != nil { LockHolder.remove(as: .journal, from: journal.page) }
            do {
                // The path may lead to another file by now, which later writers lock instead.
                let place = try journal.place(at: store.peek { $0.journal.path }, isLocked: true)
                mustOpen = place == .elsewhere
                // Another file would meet the same shortage.
                if mustOpen { try journal.checkSpace() }
                if let result = try recover(journal, place, &effects, snapshot) {
                    if result.journal !== journal { journal.unlock() }
                    return result
                }
            } catch {
                journal.unlock()
                throw error
            }
            journal.unlock()
        }
        throw SystemError(call: .open, path: file.path, number: Errno.resourceTemporarilyUnavailable)
    }

    private enum Recovery<Snapshot> {
        case done(Snapshot, mayBeReplaced: Bool)
        case mustReload
        case elsewhere
    }

    /// Replays all records of a locked journal, and recovers or replaces it.
    ///
    /// - Returns: The journal at the path, locked: another one if it was replaced. `nil` when this one is not at the
    ///   path.
    private func recover<Snapshot>(
        _ journal: Journal,
        _ place: Journal.Place,
        _ effects: inout Effects,
        _ snapshot: (borrowing FileStoreState) -> Snapshot
    ) throws -> (journal: Journal, snapshot: Snapshot)? {
        for attempt in 0..<Self.mostReloads {
            let recovery = try store.withState(&effects) { state -> Recovery<Snapshot> in
                guard !state.isClosed else { throw SettingsError.suiteFinished }
                state.refresh(lookingAtFile: place == .elsewhere)
                guard place != .elsewhere, state.journal.journal === journal else { return .elsewhere }
                guard state.reload != .everything else { return .mustReload }
                try state.recover(journal, isCut: place == .cut && attempt == 0)
                state.journal.notePlace()
                // Another process may have taken over the records that only this process knew of.
                guard state.reload != .everything else { return .mustReload }
                let mayBeReplaced =
                    journal.isExposed || journal.isDistrusted
                    || state.journal.isTooLong(journal, bound: store.schedule.journalBound)
                return .done(snapshot(state), mayBeReplaced: mayBeReplaced)
            }
            switch recovery {
            case .done(let snapshot, mayBeReplaced: false):
                return (journal, snapshot)
            case .done(let snapshot, mayBeReplaced: true):
                let replacement = JournalReplacement(of: journal, in: store)
                return (try replacement.runIfDue(mustBeTrusted: mustBeTrusted, &effects), snapshot)
            case .mustReload:
                // The result of this reload cannot become outdated: a process that changes the journal needs its lock.
                FileReloader.run(.everything, store, &effects)
            case .elsewhere:
                return nil
            }
        }
        throw SystemError(call: .read, path: file.path, number: Errno.resourceTemporarilyUnavailable)
    }

    /// Returns the journal, and creates it if there is none.
    ///
    /// - Parameters:
    ///   - mustOpen: Whether the known journal is no longer at its path.
    ///   - effects: Receives what to do afterwards.
    /// - Returns: The journal.
    /// - Throws: ``SystemError`` or ``SettingsError`` if it cannot be opened or created.
    private func writableJournal(mustOpen: Bool, _ effects: inout Effects) throws -> Journal {
        let known = try store.withState(&effects) { state in
            guard !state.isClosed else { throw SettingsError.suiteFinished }
            if state.journal.journal == nil { state.refresh(lookingAtFile: true) }
            return state.journal.journal
        }
        // A lock that this process shares with its parent after a fork excludes no process, and must not be released
        // here.
        let isUsable = known?.isWritable == true && known?.isInherited == false && !mustOpen
        if let known, isUsable, store.schedule.hasCommitted.load(ordering: .relaxed) { return known }
        let path = try file.journalPath()
        store.withState(&effects) { $0.journal.path = path }
        try file.checkTarget(journal: path)
        try file.system.makeDirectories(path.directory)
        // A commit that no checkpoint could write to the file has to fail.
        try file.checkWritable()
        if let known, isUsable { return known }
        var isCut = false
        let journal = try Journal.openOrCreate(at: path, file.system) {
            try FileLock.acquire($0, file.system) { 0 }
        } cut: {
            isCut = true
        }
        if isCut { effects.errors.append(.cutJournal(path)) }
        store.withState(&effects) { state in
            if state.adopt(journal) { state.requireReload() }
        }
        return journal
    }
}
