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
    /// How often to start again after another program has changed the file, before the checkpoint fails.
    static let mostPlans = 20

    /// Writes the journal's changes that are not in the file yet into it.
    func checkpoint() throws {
        let patience = lockPatience
        look()
        if let problem = state.withLock({ $0.journal.problem }) { throw problem }
        // Without a journal there is nothing to checkpoint, and no file has to be created.
        guard state.withLock({ $0.journal.journal != nil }) else { return }
        do {
            let lock = try lockForCheckpoint(patience: patience, slowPatience: FileLock.slowPatience)
            try checkpoint(under: lock, patience: patience)
            schedule.noteSuccess()
        } catch let error as OutdatedCopyError {
            throw error.error
        } catch {
            throw writeError(error, consequence: "the changes are in the journal and not in the settings file yet")
        }
    }

    /// Makes checkpoints until no other program has changed the file meanwhile.
    ///
    /// - Parameters:
    ///   - lock: The checkpoint lock, which is released afterwards.
    ///   - patience: How long to wait while the process that holds the journal's lock makes no progress.
    /// - Throws: ``SystemError`` or ``SettingsError`` if the file cannot be written.
    func checkpoint(under lock: FileHandle, patience: Duration) throws {
        var checkpointing = Checkpointer(store: self, lock: lock, patience: patience)
        let journal = state.withLock { $0.journal.journal }
        let page = journal?.isWritable == true ? journal?.page : nil
        if let page { LockHolder.current?.store(as: .checkpoint, in: page) }
        // After the lock is released: a subscriber may make a checkpoint.
        defer {
            if let page { LockHolder.remove(as: .checkpoint, from: page) }
            release(lock)
            deliver(checkpointing.effects)
        }
        try checkpointing.run()
    }
}

/// The error of a checkpoint that has written the settings file, but could neither replace nor remove the last good
/// copy.
struct OutdatedCopyError: Error {
    var error: SettingsError
}

/// One checkpoint, in the process that holds the checkpoint lock.
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
    private func noteProgress(_ journal: Journal) {
        if journal.isWritable { LockHolder.noteProgress(in: journal.page) }
    }

    mutating func run() throws {
        for _ in 0..<FileStore.mostPlans {
            waitUntilSettled()
            guard let plan = try makePlan() else { continue }
            noteProgress(plan.journal)
            // The journal first: on the disk, it must not be older than the file.
            try plan.journal.synchronize()
            noteProgress(plan.journal)
            guard plan.isNeeded else { return try reuse(plan) }
            let draft = try file.draft(plan.contents, replacing: plan.status) { try makeRoom(plan) }
            noteProgress(plan.journal)
            if try carryOut(plan, draft) { return }
        }
        throw SettingsError.alwaysEdited(file.path)
    }

    /// Notifies the subscribers of changes that were found, before anything waits for the disk.
    ///
    /// Errors are reported at the end, after the lock is released: a reporter may start a checkpoint.
    private mutating func deliverChanges() {
        let deliveries = effects.deliveries
        effects.deliveries = []
        for var delivery in deliveries {
            effects.errors += delivery.errors
            delivery.errors = []
            delivery.perform()
        }
    }

    /// Waits while another program may be writing the file.
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

    /// The contents to write, and the state of the files that they are based on.
    private struct Plan {
        var journal: Journal
        var epoch: UInt32
        var contents: [String: StoredValue]
        var status: FileStatus?
        /// The end of the records that are in the contents.
        var end: UInt32
        /// Whether the file or its last good copy has to be written.
        var isNeeded: Bool
    }

    /// - Returns: `nil` when the file has to be read first.
    private mutating func makePlan() throws -> Plan? {
        try withExclusiveJournal { [store] journal, state, effects in
            // A file that could not be read a moment ago is not read again under the journal's lock.
            store.refresh(&state, &effects, lookingAtFile: state.readFailure == nil)
            guard state.reload == nil || (state.reload == .file && state.readFailure != nil) else { return nil }
            guard state.journal.journal === journal, let epoch = journal.current?.epoch else {
                throw SystemError(call: .open, path: journal.file.path, number: EAGAIN)
            }
            let end = state.journal.position.end
            // A missing file is written again, because there is nothing to destroy.
            let isMissing = state.readFailure?.isMissing == true
            let isCopyDue = LastGoodCopy.condition(in: journal.page) == .outdated && state.readFailure == nil
            let isNeeded = epoch.checkpointed < end || isMissing || isCopyDue
            if let readFailure = state.readFailure, isNeeded, !isMissing || readFailure.isUnknown {
                throw readFailure.error
            }
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

    /// Puts the draft in place, and records that in the journal after the file is on the disk.
    ///
    /// - Returns: `false` when another program has changed the file since the plan was made.
    /// - Throws: ``OutdatedCopyError`` if all of this has succeeded, and only the last good copy is outdated.
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
            noteProgress(plan.journal)
            try file.synchronize(reading)
            noteProgress(plan.journal)
        } catch {
            file.discard(draft)
            if let copyDraft { draft.directory.discardDraft(copyDraft.name) }
            throw error
        }
        try withExclusiveJournal { journal, state, _ in
            guard journal === plan.journal, var epoch = journal.current?.epoch, epoch.epoch == plan.epoch else {
                return
            }
            epoch.checkpointed = max(epoch.checkpointed, plan.end)
            journal.page[JournalHeader.checkpointedWord] = 1
            journal.store(epoch)
            state.journal.dropCheckpointed(upTo: epoch.checkpointed)
        }
        // After a power loss that destroys later records, checkpointed records must not be applied again.
        try plan.journal.synchronize()
        try reuse(plan)
        if copyError != nil { try replaceOutdatedCopy(&copy, draft, plan) }
        return true
    }

    /// Puts the draft and its copy in place.
    ///
    /// The copy is first, so that it is never older than a file that is damaged later. If there is no file yet, the
    /// copy is last: a copy proves that there was a file.
    ///
    /// - Returns: `nil` when the file is not the one that the draft is based on, or the draft no longer has its name.
    private mutating func place(
        _ draft: SettingsFile.Draft,
        _ copy: inout LastGoodCopy,
        _ copyDraft: LastGoodCopy.Draft?,
        _ copyError: inout (any Error)?,
        _ plan: Plan
    ) throws -> SettingsFile.Reading? {
        var (newCopy, error) = (copy, copyError)
        defer { (copy, copyError) = (newCopy, error) }
        return try withExclusiveJournal { [store, file, lock] journal, state, _ in
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
            guard let (placedReading, isOverwritten) = try file.place(draft, over: plan.status, &newCopy) else {
                return nil
            }
            if plan.status == nil { placeCopy() }
            var reading = placedReading
            reading.contents = [:]
            if isOverwritten {
                // Its times differ from those of the draft.
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
    ///   - draft: The file, which is in place.
    ///   - plan: The plan that was carried out.
    /// - Throws: ``OutdatedCopyError`` if the copy is still there.
    private mutating func replaceOutdatedCopy(
        _ copy: inout LastGoodCopy,
        _ draft: SettingsFile.Draft,
        _ plan: Plan
    ) throws {
        var newCopy = copy
        try withExclusiveJournal { [store, lock] journal, _, effects in
            guard journal === plan.journal, try store.isInPlace(lock) else { return }
            do {
                // The new copy may need the space of the old one.
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
                    "the settings file is written, but there is no last good copy of it until a later checkpoint succeeds"
                effects.errors.append(failure)
            }
        }
    }

    /// Removes the last good copy, because the draft of the file may need its space.
    ///
    /// The settings file and the journal contain all values. A new copy is written as soon as the file is in place.
    private func makeRoom(_ plan: Plan) throws {
        guard plan.status != nil else { return }
        let knownInode = plan.journal.page[JournalHeader.lastGoodWord]
        var copy = LastGoodCopy(directory: try file.directory(), knownInode: knownInode)
        guard try store.isInPlace(lock) else { throw SettingsError.checkpointLockLost(lock.path) }
        try copy.remove()
        copy.store(.missing, in: plan.journal.page)
    }

    /// Begins a new epoch at the front of the journal if the records there are in the file, and clears their space.
    ///
    /// The file is on the disk.
    private mutating func reuse(_ plan: Plan) throws {
        try withExclusiveJournal { [store] journal, state, effects in
            guard journal === plan.journal, let epoch = journal.current?.epoch, epoch.epoch == plan.epoch,
                !journal.isDistrusted
            else { return }
            // The header with this epoch is on the disk.
            journal.page[JournalHeader.limitWord] = 0
            try store.reuse(journal, epoch, &state)
            do {
                try store.clearUnused(journal, &state)
            } catch {
                var error = store.writeError(error)
                error.consequence =
                    "the settings file is written, but values that it no longer has may still be in the journal"
                effects.errors.append(error)
            }
        }
    }

    /// Runs a body while only this process can change the journal, and no thread of this process reads.
    private mutating func withExclusiveJournal<Result>(
        _ body: (Journal, inout FileStore.State, inout FileStore.Effects) throws -> Result
    ) throws -> Result {
        var effects = effects
        defer {
            self.effects = effects
            deliverChanges()
        }
        return try store.writer.withLock { failure in
            let journal = try store.lockAndRecover(&failure, patience: patience, mustBeTrusted: true, &effects)
            defer { store.unlock(journal) }
            return try store.state.withLock { try body(journal, &$0, &effects) }
        }
    }
}
