// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "The last good copy has the newest contents".

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension FileStore {
    /// Writes into the file what the journal has and the file has not.
    func checkpoint() throws {
        let patience = lockPatience
        look()
        if let problem = state.withLock({ $0.journal.problem }) { throw problem }
        // Where nothing was ever set there is nothing to checkpoint, and nothing to be made for it.
        guard state.withLock({ $0.journal.journal != nil }) else { return }
        do {
            let lock = try lockForCheckpoint(patience: patience, slowPatience: FileLock.slowPatience)
            try checkpoint(under: lock, patience: patience)
            schedule.noteSuccess()
        } catch let error as OutdatedCopyError {
            throw error.error
        } catch {
            throw writeError(error)
        }
    }

    /// Takes the lock that lets one process checkpoint at a time.
    ///
    /// - Parameters:
    ///   - patience: How long to wait while another process that has it gets nothing done.
    ///   - slowPatience: The same while that process runs, so that it may be waiting for a slow disk; `nil` for no longer.
    /// - Returns: The lock, which ends with the last reference to it.
    /// - Throws: ``SystemError``, or ``SettingsError`` when the other process does not let go of it.
    func lockForCheckpoint(patience: Duration, slowPatience: Duration? = nil) throws -> FileHandle {
        for _ in 0..<Self.mostPlans {
            guard let lock = try openCheckpointLock() else { continue }
            try FileLock.acquire(
                lock,
                file.system,
                patience: patience,
                slowPatience: slowPatience,
                holder: { state.withLock { $0.journal.journal }.flatMap { LockHolder(of: .checkpoint, in: $0.page) } },
                progress: {
                    let journal = state.withLock { $0.journal.journal }
                    return journal.map { LockHolder.progress(in: $0.page) &+ ($0.current?.epoch.serial ?? 0) }
                        ?? 0
                }
            )
            if try isInPlace(lock) { return lock }
        }
        throw SystemError(call: .lock, path: file.path, number: EAGAIN)
    }

    /// Whether a lock still excludes other processes: its file may have been removed, and created again.
    func isInPlace(_ lock: FileHandle) throws -> Bool {
        try file.system.status(of: lock).isSameFile(as: file.system.status(at: lock.path, followingLinks: false))
    }

    /// The same without waiting.
    ///
    /// - Parameter isCreating: Whether to make the lock's file if it is not there.
    /// - Returns: `nil` when another process has the lock, or there is no file.
    /// - Throws: ``SystemError`` when the file cannot be opened or locked.
    func tryToLockForCheckpoint(creating isCreating: Bool = true) throws -> FileHandle? {
        guard let lock = try openCheckpointLock(creating: isCreating) else { return nil }
        return try file.system.tryLock(lock) && isInPlace(lock) ? lock : nil
    }

    private func openCheckpointLock(creating isCreating: Bool = true) throws -> FileHandle? {
        let directory = try file.directory()
        let name = directory.name.adding(SettingsFile.lockSuffix)
        // Reading is all that locking needs: a user who may not write to the lock's file can still take turns.
        if let lock = try directory.openSibling(name, O_RDONLY) { return lock }
        guard isCreating, let lock = try directory.createSibling(name, O_RDONLY) else { return nil }
        if let model = try directory.status() { try file.system.copyPermissions(of: model, to: lock) }
        return lock
    }

    /// Checkpoints until nothing has come in between.
    ///
    /// - Parameters:
    ///   - lock: The lock for checkpointing, which is let go of.
    ///   - patience: How long to wait while another process that has the journal's lock gets nothing done.
    /// - Throws: ``SystemError`` or ``SettingsError`` when the file cannot be written.
    func checkpoint(under lock: FileHandle, patience: Duration) throws {
        var checkpointing = Checkpointer(store: self, lock: lock, patience: patience)
        let journal = state.withLock { $0.journal.journal }
        let page = journal?.isWritable == true ? journal?.page : nil
        if let page { LockHolder.current?.store(as: .checkpoint, in: page) }
        // Those who are told may checkpoint, too.
        defer {
            if let page { LockHolder.remove(as: .checkpoint, from: page) }
            release(lock)
            deliver(checkpointing.effects)
        }
        try checkpointing.run()
    }
}

/// A checkpoint has written the settings file, but could neither replace nor remove the last good copy.
struct OutdatedCopyError: Error {
    var error: SettingsError
}

/// One checkpoint, by the process that has the lock for it.
private struct Checkpointer {
    let store: FileStore
    let lock: FileHandle
    let patience: Duration
    var effects = FileStore.Effects()

    private var file: SettingsFile { store.file }

    init(store: FileStore, lock: FileHandle, patience: Duration) {
        (self.store, self.lock, self.patience) = (store, lock, patience)
    }

    /// Shows processes that wait for the lock that there is progress.
    private func notePace(_ journal: Journal) {
        if journal.isWritable { LockHolder.notePace(in: journal.page) }
    }

    mutating func run() throws {
        for _ in 0..<FileStore.mostPlans {
            waitUntilSettled()
            guard let plan = try makePlan() else { continue }
            notePace(plan.journal)
            // The journal first: what is on the disk of it must not be behind the file.
            try plan.journal.synchronize()
            notePace(plan.journal)
            guard plan.isNeeded else { return try reuse(plan) }
            let draft = try file.draft(plan.contents, replacing: plan.status) { try makeRoom(plan) }
            notePace(plan.journal)
            if try carryOut(plan, draft) { return }
        }
        throw SettingsError.alwaysEdited(file.path)
    }

    /// Notifies the subscribers of the changes that were found, before anything waits for the disk.
    ///
    /// Errors are reported at the end, when the lock is free: a reporter may start a checkpoint.
    private mutating func deliverChanges() {
        let deliveries = effects.deliveries
        effects.deliveries = []
        for var delivery in deliveries {
            effects.errors += delivery.errors
            delivery.errors = []
            delivery.perform()
        }
    }

    /// Waits while the file may be one that somebody is in the middle of writing.
    private mutating func waitUntilSettled() {
        for _ in 0..<Int(FileStore.settlingTime / 0.01) * 2 {
            store.reloadIfDue(lookingAtFile: true, &effects)
            let isSettled = store.state.withLock { state in
                state.reload == nil && state.missingSince == nil && state.readFailure?.isTransient != true
                    && state.reading?.isCertain != false
            }
            deliverChanges()
            if isSettled { return }
            SystemCalls.sleep(seconds: 0.01)
        }
    }

    /// What is to be written, and what it was made of.
    private struct Plan {
        var journal: Journal
        var epoch: UInt32
        var contents: [String: StoredValue]
        var status: FileStatus?
        /// The records before this are in the contents.
        var end: UInt32
        /// Whether the file lacks any of them.
        var isNeeded: Bool
    }

    /// - Returns: `nil` when the file has to be read first.
    private mutating func makePlan() throws -> Plan? {
        try withJournalAlone { [store] journal, state, effects in
            // What could not be read a moment ago is not tried again under the journal's lock.
            store.refresh(&state, &effects, lookingAtFile: state.readFailure == nil)
            guard state.reload == nil || (state.reload == .file && state.readFailure != nil) else { return nil }
            guard state.journal.journal === journal, let epoch = journal.current?.epoch else {
                throw SystemError(call: .open, path: journal.file.path, number: EAGAIN)
            }
            let end = state.journal.position.end
            // A file that is missing is written again: there is nothing that could be destroyed.
            let isMissing = state.readFailure?.isMissing == true
            let isCopyDue = LastGoodCopy.condition(in: journal.page) != .current && state.readFailure == nil
            let isNeeded = epoch.checkpointed < end || isMissing || isCopyDue
            if let readFailure = state.readFailure, isNeeded, !isMissing || readFailure.isUnknown { throw readFailure.error }
            return Plan(
                journal: journal,
                epoch: epoch.epoch,
                contents: state.contents,
                status: state.reading?.status,
                end: end,
                isNeeded: isNeeded
            )
        }
    }

    /// Puts the draft in its place, and then says so in the journal, once the disk has it.
    ///
    /// - Returns: `false` when the file was changed by another program since the plan was made.
    /// - Throws: ``OutdatedCopyError`` when all of this is done, and only the last good copy is outdated.
    private mutating func carryOut(_ plan: Plan, _ draft: SettingsFile.Draft) throws -> Bool {
        var copy = LastGoodCopy(directory: draft.directory, knownInode: plan.journal.page[JournalHeader.lastGoodWord])
        var copyDraft: LastGoodCopy.Draft?
        var copyError: (any Error)?
        do {
            do {
                copyDraft = try copy.draft(draft.bytes, like: draft.reading.status)
            } catch {
                copyError = error
            }
            guard let reading = try place(draft, &copy, copyDraft, &copyError, plan) else {
                file.discard(draft)
                if let copyDraft { draft.directory.discardDraft(copyDraft.name) }
                return false
            }
            try plan.journal.narrowPermissions(to: reading.status)
            notePace(plan.journal)
            try file.synchronize(reading)
            notePace(plan.journal)
        } catch {
            file.discard(draft)
            if let copyDraft { draft.directory.discardDraft(copyDraft.name) }
            throw error
        }
        try withJournalAlone { journal, state, _ in
            guard journal === plan.journal, var epoch = journal.current?.epoch, epoch.epoch == plan.epoch else {
                return
            }
            epoch.checkpointed = max(epoch.checkpointed, plan.end)
            journal.page[JournalHeader.checkpointedWord] = 1
            journal.store(epoch)
            state.journal.dropCheckpointed(upTo: epoch.checkpointed)
        }
        // What is checkpointed is not to be applied again after the disk has lost what follows.
        try plan.journal.synchronize()
        try reuse(plan)
        if copyError != nil { try replaceOutdatedCopy(&copy, draft, plan) }
        return true
    }

    /// Puts the draft and its copy in place.
    ///
    /// The copy is first, so that it is never older than a file that is broken later. Where there is no file yet, it is last:
    /// a copy proves that there was a file.
    ///
    /// - Returns: `nil` when the file is not the one that the draft was made of, or another process may be writing a
    ///   draft at the same time.
    private mutating func place(
        _ draft: SettingsFile.Draft,
        _ copy: inout LastGoodCopy,
        _ copyDraft: LastGoodCopy.Draft?,
        _ copyError: inout (any Error)?,
        _ plan: Plan
    ) throws -> SettingsFile.Reading? {
        var (newCopy, error) = (copy, copyError)
        defer { (copy, copyError) = (newCopy, error) }
        return try withJournalAlone { [store, file, lock] journal, state, _ in
            guard journal === plan.journal, try file.status() == plan.status else { return nil }
            guard try store.isInPlace(lock) else { throw SettingsError.checkpointLockLost(lock.path) }
            func placeCopy() {
                guard let copyDraft else { return newCopy.store(.outdated, in: journal.page) }
                do {
                    try newCopy.place(copyDraft)
                    newCopy.store(.current, in: journal.page)
                } catch let failure {
                    error = failure
                    newCopy.store(.outdated, in: journal.page)
                }
            }
            if plan.status != nil { placeCopy() }
            // The words of the header first: a process that sees the file finds them.
            let placed = PlacedFile(draft.reading.status, replacing: plan.status, after: journal.page)
            PlacedFile.noteChange(of: nil, in: journal.page)
            placed.store(in: journal.page)
            guard let (placedReading, isOverwritten) = try file.place(draft, over: plan.status, &newCopy) else { return nil }
            if plan.status == nil { placeCopy() }
            var reading = placedReading
            reading.contents = [:]
            if isOverwritten {
                // It has other times than the draft.
                placed.with(fingerprint: PlacedFile.fingerprint(of: reading.status)).store(in: journal.page)
                newCopy.store(.current, in: journal.page)
                error = nil
            }
            PlacedFile.noteChange(of: reading.status, in: journal.page)
            state.reading = reading
            state.lineage = placed.lineage
            for key in state.journal.journaled.keys { state.fileValues.updateValue(plan.contents[key], forKey: key) }
            state.readFailure = nil
            state.missingSince = nil
            return reading
        }
    }

    /// Replaces or removes a copy that could not be replaced together with the file.
    ///
    /// - Parameters:
    ///   - copy: The copy.
    ///   - draft: The file, which is in its place.
    ///   - plan: The plan that was carried out.
    /// - Throws: ``OutdatedCopyError`` when the copy is still there.
    private mutating func replaceOutdatedCopy(
        _ copy: inout LastGoodCopy,
        _ draft: SettingsFile.Draft,
        _ plan: Plan
    ) throws {
        var newCopy = copy
        try withJournalAlone { [store, lock] journal, _, effects in
            guard journal === plan.journal, try store.isInPlace(lock) else { return }
            do {
                // The space of the old copy may be all that the new one lacks.
                try newCopy.remove()
                newCopy.store(.missing, in: journal.page)
            } catch let failure as SettingsError where [.untrustedFile, .malformedFile].contains(failure.code) {
                // No process uses such a file as the copy.
                newCopy.store(.missing, in: journal.page)
                return effects.errors.append(failure)
            } catch {
                throw OutdatedCopyError(error: .outdatedCopy(newCopy.path, because: store.writeError(error)))
            }
            do {
                try newCopy.place(newCopy.draft(draft.bytes, like: draft.reading.status))
                newCopy.store(.current, in: journal.page)
            } catch {
                var failure = store.writeError(error)
                failure.consequence =
                    "the settings file is written; there is no last good copy of it until a later checkpoint succeeds"
                effects.errors.append(failure)
            }
        }
    }

    /// Removes the last good copy, whose space the draft of the file may lack.
    ///
    /// The settings file and the journal have all values. The new copy is written as soon as the file is in its place.
    private func makeRoom(_ plan: Plan) throws {
        guard plan.status != nil else { return }
        var copy = LastGoodCopy(directory: try file.directory(), knownInode: plan.journal.page[JournalHeader.lastGoodWord])
        guard try store.isInPlace(lock) else { throw SettingsError.checkpointLockLost(lock.path) }
        try copy.remove()
        copy.store(.missing, in: plan.journal.page)
    }

    /// Begins a new epoch at the front of the journal, where there are records that are in the file, on the disk too, and
    /// clears the space of the old ones.
    private mutating func reuse(_ plan: Plan) throws {
        try withJournalAlone { [store] journal, state, effects in
            guard journal === plan.journal, let epoch = journal.current?.epoch, epoch.epoch == plan.epoch,
                !journal.isDistrusted
            else { return }
            // The disk has a header with these facts.
            journal.page[JournalHeader.limitWord] = 0
            try store.reuse(journal, epoch, &state)
            do {
                try store.clearUnused(journal, &state)
            } catch {
                var error = store.writeError(error)
                error.consequence = "the file is written; values that it no longer has may still be in the journal"
                effects.errors.append(error)
            }
        }
    }

    /// Runs a body while this process alone may change the journal, and nobody here reads.
    private mutating func withJournalAlone<Result>(
        _ body: (Journal, inout FileStore.State, inout FileStore.Effects) throws -> Result
    ) throws -> Result {
        var effects = effects
        defer {
            self.effects = effects
            deliverChanges()
        }
        return try store.writer.withLock { failure in
            let journal = try store.beginAlone(&failure, patience: patience, mustBeTrusted: true, &effects)
            defer { store.unlock(journal) }
            return try store.state.withLock { try body(journal, &$0, &effects) }
        }
    }
}

extension FileStore {
    /// How often to begin again because somebody has changed a file meanwhile, before it is called an error.
    fileprivate static let mostPlans = 20
}
