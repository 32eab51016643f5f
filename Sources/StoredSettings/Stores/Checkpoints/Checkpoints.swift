// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Runs the checkpoints of a store: on request, in the background, and at the end.
struct Checkpoints {
    let store: FileStore

    private var schedule: CheckpointSchedule { store.schedule }
    private var file: SettingsFile { store.file }

    /// Writes the journal's changes that are not in the file yet into it.
    ///
    /// - Throws: ``SettingsError`` if the file cannot be written.
    func run() throws {
        store.look()
        if let problem = store.peek({ $0.journal.problem }) { throw problem }
        // Without a journal there is nothing to checkpoint, and no file has to be created.
        guard store.peek({ $0.journal.journal != nil }) else { return }
        do {
            try run(store.timeouts)
        } catch {
            let consequence = "the changes are in the journal and not in the settings file yet"
            throw file.writeError(error, consequence: consequence)
        }
    }

    private func run(_ timeout: LockTimeouts) throws {
        observer?.examineValues(forCheckpoint: true)
        let unwritten = unwrittenReplacements
        try FileHandle.reopening {
            let lock = try CheckpointLock.acquire(for: file, timeout) { store.peek { $0.journal.journal } }
            try Checkpointer.run(store, lock, unwritten, timeout: timeout)
        }
    }

    var observer: (any LastGoodObserver)? { store.peek { $0.observer } as? any LastGoodObserver }

    /// The keys whose last good values the copy lacks: another process, which does not know them, has written it since.
    var unwrittenReplacements: Set<String> {
        let observer = observer
        let known = store.peek { $0.replacements(of: observer) }
        guard !known.isEmpty, let copy = store.copiedValues() else { return [] }
        return Set(known.filter { copy.lastGood[$0.key] ?? copy.contents[$0.key] != $0.value }.keys)
    }

    private func report(_ error: SettingsError) {
        store.perform(Effects([(error, isSettled: false)]))
    }
}

// MARK: - In the background

extension Checkpoints {
    /// Schedules a checkpoint of the journal.
    ///
    /// - Parameters:
    ///   - isOwn: Whether this process has appended the records.
    ///   - isUrgent: Whether to start the checkpoint without waiting for a pause between sets.
    func schedule(isOwn: Bool, isUrgent: Bool = false) {
        guard schedule.isActive else { return }
        if isOwn, schedule.hasCommitted.set() { OpenStores.add(store) }
        if isUrgent, !schedule.isBackingOff { runSoon() }
        guard schedule.isScheduled.set() else { return }
        if !isOwn { OpenStores.add(store) }
        checkWhenIdle(
            after: isOwn ? CheckpointSchedule.interval : CheckpointSchedule.requestDelay,
            seen: 0,
            checks: 0
        )
    }

    /// Starts a checkpoint without waiting for a pause, unless one is in progress.
    private func runSoon() {
        guard schedule.isUrgent.set() else { return }
        WorkScheduler.durable.soon { [weak store] in
            guard let checkpoints = store?.checkpoints else { return }
            checkpoints.runNow()
            checkpoints.schedule.isUrgent.clear()
        }
    }

    private func checkWhenIdle(after delay: Double, seen word: UInt64, checks: Int) {
        WorkScheduler.durable.after(delay) { [weak store] in
            guard let checkpoints = store?.checkpoints else { return }
            let published = checkpoints.store.peek { $0.journal.journal?.published.word ?? 0 }
            if CheckpointSchedule.isDue(published: published, seen: word, checks: checks) {
                checkpoints.runNow()
            } else {
                checkpoints.checkWhenIdle(after: CheckpointSchedule.interval, seen: published, checks: checks + 1)
            }
        }
    }

    private func runNow(_ timeout: LockTimeouts = LockTimeouts()) {
        guard !schedule.isBackingOff else { return retryLater() }
        // A set from here on schedules another checkpoint.
        schedule.isScheduled.clear()
        do {
            // The checkpoint of another process may have lost a last good value that only this one knows.
            let unwritten = unwrittenReplacements
            guard !isCheckpointed || !unwritten.isEmpty else {
                // That may be the value of a setting that was not read since.
                examineLater(forCheckpoint: false)
                return store.perform(Effects(schedule.noteSuccess().settled.map { ($0, isSettled: true) }))
            }
            store.look()
            let isMade = try FileHandle.reopening {
                guard let lock = try CheckpointLock.tryToAcquire(for: file) else { return false }
                try Checkpointer.run(store, lock, unwritten, timeout: timeout)
                return true
            }
            if !isMade || !isCheckpointed { schedule(isOwn: false) }
            examineLater(forCheckpoint: true)
        } catch {
            noteFailure(error)
        }
    }

    /// Finds last good values where user code may run, and writes those that the checkpoint lacks.
    private func examineLater(forCheckpoint isForCheckpoint: Bool) {
        guard observer?.isExaminationDue(forCheckpoint: isForCheckpoint) == true else { return }
        WorkScheduler.shared.soon { [weak store] in
            guard let checkpoints = store?.checkpoints else { return }
            checkpoints.observer?.examineValues(forCheckpoint: isForCheckpoint)
            if !checkpoints.unwrittenReplacements.isEmpty { checkpoints.schedule(isOwn: false) }
        }
    }

    private func noteFailure(_ error: any Error) {
        let consequence = "the changes are safe in the journal, and the settings file is written later"
        var error = file.writeError(error, consequence: consequence)
        // A process that has committed nothing may lack the permission to write a checkpoint. A malformed file and a changed
        // root were reported before.
        guard schedule.hasCommitted.isSet, error.code != .suiteFinished else { return }
        if (error.underlying as? SystemError)?.number == Errno.noSuchFileOrDirectory {
            // The directory is gone, with the journal.
            error.consequence =
                "the settings file is written later, and the changes are lost if the process ends before"
        }
        if schedule.noteFailure(error) { report(error) }
        guard schedule.isScheduled.set() else { return }
        retryLater()
    }

    /// Makes another attempt when one is due.
    private func retryLater() {
        checkWhenIdle(after: CheckpointSchedule.retryInterval, seen: 0, checks: CheckpointSchedule.mostChecks)
    }

    /// Whether the file contains all known records of the journal.
    ///
    /// This does not look at the file.
    private var isCheckpointed: Bool {
        store.peek { state in
            guard let journal = state.journal.journal, let (epoch, position) = journal.current else {
                return true
            }
            let isCopyOutdated = LastGoodCopy.isOutdated(in: journal.page)
            return state.isClosed || (epoch.checkpointed >= position.end && !isCopyOutdated)
        }
    }

    // MARK: - At the end

    /// Makes a last checkpoint when the suite is closed or the process exits, of the records of this process or of one that has ended.
    ///
    /// If it fails, the next process that opens the suite makes the checkpoint.
    func runAtEnd() {
        guard schedule.isActive else { return }
        let hasCommitted = schedule.hasCommitted.isSet
        let limit = CheckpointSchedule.timeoutAtEnd
        let timeout = LockTimeouts(withoutProgress: limit, withSlowHolder: limit)
        if !hasCommitted, !isCheckpointed, !isWriterRunning { return runNow(timeout) }
        let isOwnLeft = hasCommitted && !isCheckpointed
        if !isOwnLeft { observer?.examineValues(forCheckpoint: false) }
        guard isOwnLeft || !unwrittenReplacements.isEmpty else { return }
        do {
            store.look()
            try run(timeout)
        } catch {
            let consequence =
                "the changes are safe in the journal; a program that uses the suite writes the file when the cause is corrected"
            let error = file.writeError(error, consequence: consequence)
            // Another process is making a checkpoint. When it has finished, it finds the remaining records. Or another thread
            // has closed the store meanwhile, and made the last checkpoint. A process that has stored nothing may not be allowed to.
            // A malformed file was reported before, too.
            guard hasCommitted, ![.lockTimedOut, .suiteFinished, .malformedFile].contains(error.code),
                !error.isChangedRoot
            else { return }
            report(error)
        }
    }

    /// Whether another process, which may still make a checkpoint, is known to have written the newest records.
    private var isWriterRunning: Bool {
        let writer = store.peek { $0.journal.journal.flatMap { LockHolder(of: .writer, in: $0.page) } }
        guard let writer, let process = writer.visibleProcess else { return false }
        return process != UInt64(SystemCalls.currentProcess()) && writer.mayBeRunning
    }
}

// MARK: - One checkpoint
// See Documentation/Decisions/Settings-file.md, "The last good copy has the newest contents".

/// One checkpoint, in the process that holds the checkpoint lock.
struct Checkpointer {
    private let store: FileStore
    private let lock: CheckpointLock
    /// The keys whose last good values the copy lacks.
    private let unwritten: Set<String>
    /// How long to wait for the journal's lock.
    private let timeout: LockTimeouts
    /// Held until the lock is released: the end of an engine closes the store, which makes the last checkpoint.
    private let observer: (any LastGoodObserver)?
    private var effects = Effects()
    /// What did not prevent the file from being written.
    private var problems: [SettingsError] = []

    private var file: SettingsFile { store.file }

    /// How often to start again after another program has changed the file, before the checkpoint fails.
    static let mostPlans = 20

    /// Makes checkpoints until no other program has changed the file meanwhile, and releases the checkpoint lock.
    ///
    /// - Throws: ``SystemError`` or ``SettingsError`` if the file cannot be written, or if it is written, and the last good copy
    ///   is outdated.
    static func run(
        _ store: FileStore,
        _ lock: CheckpointLock,
        _ unwritten: Set<String>,
        timeout: LockTimeouts
    ) throws {
        let observer = store.checkpoints.observer
        var checkpointer = Checkpointer(
            store: store,
            lock: lock,
            unwritten: unwritten,
            timeout: timeout,
            observer: observer
        )
        if let page = checkpointer.page { LockHolder.current?.store(as: .checkpoint, in: page) }
        // After the lock is released: a subscriber may make a checkpoint.
        defer {
            store.withState(&checkpointer.effects) { $0.contents.endSnapshot() }
            if let page = checkpointer.page { LockHolder.remove(as: .checkpoint, from: page) }
            lock.release()
            store.perform(checkpointer.effects)
            withExtendedLifetime(observer) {}
        }
        try checkpointer.run()
        let (new, settled) = store.schedule.noteSuccess(checkpointer.problems)
        for error in settled { checkpointer.effects.reportRecovery(from: error) }
        for error in new { checkpointer.effects.report(error) }
    }

    private mutating func run() throws {
        for _ in 0..<Self.mostPlans {
            waitUntilSettled()
            guard let plan = try makePlan() else { continue }
            // From here on, a cancellation of the task has no effect.
            if try WaitLimit.runWithout({ try carryOut(plan) }) { return }
        }
        throw SettingsError.alwaysEdited(file.path)
    }

    /// - Returns: `false` when a new plan is needed.
    private mutating func carryOut(_ plan: Plan) throws -> Bool {
        noteProgress()
        // The journal first: on the disk, it must not be older than the file.
        try plan.journal.synchronize()
        noteProgress()
        guard plan.isNeeded else {
            try reuse(plan)
            return true
        }
        prepareForSets()
        let retains = { [observer] (key: String) in
            // It may have had another value in between.
            !plan.changed.contains(key) && observer?.uses(plan.contents.value(forKey: key), forKey: key) != true
        }
        let draft = try file.draft(plan.contents, lastGood: plan.lastGood, retains: retains, replacing: plan.base) {
            // The draft may need the space of the copy. A new one is written as soon as the file is in place.
            if plan.status != nil { _ = try removeCopy() }
        }
        noteProgress()
        guard let draft else { return false }
        return try carryOut(plan, draft)
    }

    /// Spares the sets that follow the wait for a page that was just written to the disk.
    private func prepareForSets() {
        let (space, end) = store.peek { ($0.journal.space, $0.journal.position.end) }
        space?.prepare(at: Int(end))
    }

    /// The header that shows waiting processes the holder of the lock and its progress.
    ///
    /// A commit may replace the journal during the checkpoint.
    private var page: SharedPage? {
        store.peek { $0.journal.journal.flatMap { $0.isWritable ? $0.page : nil } }
    }

    /// Shows processes that wait for the lock that there is progress.
    private func noteProgress() {
        if let page { LockHolder.noteProgress(in: page) }
    }

    /// Waits while another program may be writing the file.
    private mutating func waitUntilSettled() {
        for _ in 0..<Int(SettingsFileState.settlingTime / 0.01) * 2 {
            store.reloadIfDue(lookingAtFile: true, &effects)
            let isSettled = store.peek { $0.reload == nil && $0.settings.isSettled }
            // Errors are reported at the end: a reporter may start a checkpoint.
            effects.deliverChanges()
            effects.files = []
            if isSettled { return }
            SystemCalls.sleep(seconds: 0.01)
        }
    }

    /// Runs a body while only this process can change the journal, and no thread of this process reads.
    ///
    /// Then notifies the subscribers of changes that were found, before anything waits for the disk.
    private mutating func withExclusiveJournal<Result: Sendable>(
        _ body: (Journal, inout FileStoreState) throws -> Result
    ) throws -> Result {
        var effects = effects
        defer {
            effects.deliverChanges()
            self.effects = effects
        }
        return try store.withWriter { failure in
            let locker = JournalLocker(store, timeout: timeout, mustBeTrusted: true)
            let journal = try locker.lock(&failure, &effects)
            defer { journal.unlock() }
            return try store.withState(&effects) { try body(journal, &$0) }
        }
    }
}

// MARK: - The plan

extension Checkpointer {
    /// The contents to write, and the state of the files that they are based on.
    private struct Plan {
        var journal: Journal
        var epoch: UInt32
        var contents: [String: StoredValue]
        /// The last good values of keys whose values are unusable, as far as this process knows.
        var lastGood: [String: StoredValue?]
        /// The keys whose values have changed since the last checkpoint.
        var changed: Set<String>
        /// The settings file, without its contents; `nil` when there is none.
        var base: SettingsFile.Reading?
        /// The end of the records that are in the contents.
        var end: UInt32
        /// Whether the file or its last good copy has to be written.
        var isNeeded: Bool

        var status: FileStatus? { base?.status }
    }

    /// - Returns: `nil` when the file has to be read first.
    private mutating func makePlan() throws -> Plan? {
        try withExclusiveJournal { [unwritten, observer] journal, state in
            // A file that could not be read a moment ago is not read again under the journal's lock.
            // A file whose times are coarse is compared when it is replaced.
            let isLookDue = state.settings.failure == nil && state.settings.reading?.checksum == nil
            state.refresh(lookingAtFile: isLookDue)
            guard state.reload == nil || (state.reload == .file && state.settings.failure != nil) else {
                return nil
            }
            guard state.journal.journal === journal, let epoch = journal.current?.epoch else {
                throw SystemError(call: .open, path: journal.file.path, number: Errno.resourceTemporarilyUnavailable)
            }
            let end = state.journal.position.end
            // A missing file is written again, because there is nothing to destroy.
            let isMissing = state.settings.failure?.isMissing == true
            let isCopyDue = LastGoodCopy.isOutdated(in: journal.page) && state.settings.failure == nil
            let lastGood = state.replacements(of: observer)
            let isUnwritten = !unwritten.isDisjoint(with: lastGood.keys)
            let isNeeded = epoch.checkpointed < end || isMissing || isCopyDue || isUnwritten
            if let failure = state.settings.failure, isNeeded, !isMissing || failure.isUnknown {
                var error = failure.error
                // For a checkpoint, it has another consequence than for reads.
                error.consequence = SettingsError.nothingIsChanged
                throw error
            }
            return Plan(
                journal: journal,
                epoch: epoch.epoch,
                contents: state.contents.beginSnapshot(),
                lastGood: lastGood,
                changed: Set(state.journal.journaled.keys),
                base: state.settings.reading,
                end: end,
                isNeeded: isNeeded
            )
        }
    }
}

// MARK: - Carrying it out

extension Checkpointer {
    /// Puts the draft in place, and records that in the journal after the file is on the disk.
    ///
    /// - Returns: `false` when another program has changed the file or the journal since the plan was made.
    /// - Throws: ``SystemError`` or ``SettingsError``, also if all of this has succeeded, and only the last good copy is outdated.
    private mutating func carryOut(_ plan: Plan, _ draft: SettingsFile.Draft) throws -> Bool {
        var copy = LastGoodCopy(in: draft.directory, plan.journal.page)
        copy.prepare(for: draft)
        var isPlaced = false
        defer {
            if !isPlaced {
                draft.directory.discardDraft(draft.name)
                copy.discard()
            }
        }
        guard let (reading, isOverwritten) = try place(draft, &copy, plan) else { return false }
        isPlaced = true
        try plan.journal.narrowPermissions(to: reading.status)
        noteProgress()
        // The contents of a draft are on the disk, unlike its new name. Where the directory cannot be synchronized, most file
        // systems write the name together with the file.
        if try isOverwritten || !draft.directory.synchronize() { try file.synchronize(reading) }
        noteProgress()
        // If the journal was replaced meanwhile, the next plan records the checkpoint in the new one.
        guard try noteCheckpoint(plan) else { return false }
        // After a power loss that destroys later records, checkpointed records must not be applied again.
        try plan.journal.synchronize()
        try reuse(plan)
        if LastGoodCopy.isOutdated(in: plan.journal.page) {
            // The new copy may need the space of the files that were replaced.
            copy.closeOld()
            effects.files = []
            try replaceOutdated(&copy, draft)
        }
        return true
    }

    /// Puts the draft and its copy in place.
    ///
    /// The copy is first, so that it is never older than a file that is damaged later. If there is no file yet, the
    /// copy is last: a copy proves that there was a file.
    ///
    /// - Returns: The file, and whether it was overwritten instead of replaced; `nil` when the file is not the one that the
    ///   draft is based on, or the draft no longer has its name.
    private mutating func place(
        _ draft: SettingsFile.Draft,
        _ copy: inout LastGoodCopy,
        _ plan: Plan
    ) throws -> (reading: SettingsFile.Reading, isOverwritten: Bool)? {
        try withExclusiveJournal { [file, lock] journal, state in
            guard journal === plan.journal, try file.isUnchanged(since: plan.status, plan.base?.checksum) else {
                return nil
            }
            try lock.check()
            let page = journal.page
            if plan.status != nil { copy.placeIfPossible() }
            // The words of the header first: a process that sees the file finds them.
            var written = WrittenFile(draft.reading.status, replacing: plan.status, after: page)
            WrittenFile.noteChange(of: nil, in: page)
            written.store(in: page)
            guard let (reading, isOverwritten) = try file.place(draft, over: plan.status, &copy) else {
                return nil
            }
            if isOverwritten {
                // Its times differ from those of the draft.
                written.fingerprint = WrittenFile.fingerprint(of: reading.status)
                written.store(in: page)
            } else if plan.status == nil {
                copy.placeIfPossible()
            }
            WrittenFile.noteChange(of: reading.status, in: page)
            state.noteWritten(reading, editVersion: written.editVersion, plan.contents)
            return (reading, isOverwritten)
        }
    }

    /// Records in the journal that the file contains the records of the plan.
    ///
    /// - Returns: `false` when the journal has been replaced, or another epoch has begun.
    private mutating func noteCheckpoint(_ plan: Plan) throws -> Bool {
        try withExclusiveJournal { journal, state in
            journal.page[.checkpointed] = 1
            guard journal === plan.journal, var epoch = journal.current?.epoch, epoch.epoch == plan.epoch else {
                return false
            }
            epoch.checkpointed = max(epoch.checkpointed, plan.end)
            journal.store(epoch)
            state.journal.dropCheckpointed(upTo: epoch.checkpointed)
            return true
        }
    }

    /// Begins a new epoch at the front of the journal if the records there are in the file, and clears their space.
    ///
    /// The file is on the disk.
    private mutating func reuse(_ plan: Plan) throws {
        var problem: SettingsError?
        try withExclusiveJournal { journal, state in
            guard journal === plan.journal, let epoch = journal.current?.epoch, epoch.epoch == plan.epoch,
                !journal.isUnreliable
            else { return }
            // The header with this epoch is on the disk.
            journal.page[.limit] = 0
            try state.reuse(journal, epoch)
            do {
                try state.clearUnused(journal)
            } catch  where !FileHandle.isClosed(error) {
                var error = state.file.writeError(error)
                error.consequence =
                    "the settings file is written, but values that it no longer has may still be in the journal"
                problem = error
            }
        }
        if let problem { problems.append(problem) }
    }
}

// MARK: - The last good copy

extension Checkpointer {
    /// - Returns: The error to report when the file in the copy's place is not a copy, and remains.
    private mutating func removeCopy() throws -> SettingsError? {
        try withExclusiveJournal { [file, lock] journal, _ in
            try lock.check()
            return try LastGoodCopy(in: file.directory(), journal.page).remove()
        }
    }

    /// Replaces or removes a copy that could not be replaced together with the file, which is in place.
    ///
    /// - Throws: ``SettingsError`` if the copy is still there.
    private mutating func replaceOutdated(_ copy: inout LastGoodCopy, _ draft: SettingsFile.Draft) throws {
        do {
            // The new copy may need the space of the old one.
            if let error = try removeCopy() { return problems.append(error) }
        } catch {
            throw SettingsError.outdatedCopy(copy.path, because: file.writeError(error))
        }
        defer { copy.discard() }
        do {
            // Not under the lock: this takes time in proportion to the file.
            try copy.write(draft)
            try withExclusiveJournal { [lock] journal, _ in
                try lock.check()
                copy.page = journal.page
                try copy.place()
            }
        } catch  where !FileHandle.isClosed(error) {
            var failure = file.writeError(error)
            failure.consequence =
                "the settings file is written, but there is no last good copy of it until a later checkpoint succeeds"
            problems.append(failure)
        }
    }
}
