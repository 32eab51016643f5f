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
        let patience = Patience(
            withoutProgress: store.lockPatience,
            withSlowHolder: max(store.lockPatience, FileLock.slowPatience)
        )
        store.findLastGoodValues()
        do {
            try FileHandle.reopening { try Checkpointer.run(store, acquireLock(patience), patience: patience) }
            noteSuccess()
        } catch let error as OutdatedCopyError {
            throw error.error
        } catch {
            let consequence = "the changes are in the journal and not in the settings file yet"
            throw file.writeError(error, consequence: consequence)
        }
    }

    private func acquireLock(_ patience: Patience) throws -> CheckpointLock {
        try .acquire(for: file, patience) {
            store.peek { $0.journal.journal }
        }
    }

    private func report(_ error: SettingsError) {
        store.perform(Effects(errors: [error]))
    }

    /// Notes that the changes are in the file, and reports that earlier failures are settled.
    private func noteSuccess() {
        let settled = schedule.noteSuccess()
        if !settled.isEmpty { store.perform(Effects(recoveries: settled)) }
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
        if isOwn, !schedule.hasCommitted.load(ordering: .relaxed) {
            schedule.hasCommitted.store(true, ordering: .relaxed)
            OpenStores.add(store)
        }
        if isUrgent, !schedule.isBackingOff { runSoon() }
        guard schedule.isScheduled.set() else { return }
        checkWhenIdle(after: isOwn ? CheckpointSchedule.interval : CheckpointSchedule.courtesy, seen: 0, checks: 0)
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
            let published = checkpoints.publishedWord
            if CheckpointSchedule.isDue(published: published, seen: word, checks: checks) {
                checkpoints.runNow()
            } else {
                checkpoints.checkWhenIdle(after: CheckpointSchedule.interval, seen: published, checks: checks + 1)
            }
        }
    }

    private var publishedWord: UInt64 {
        store.peek { $0.journal.journal?.published.word ?? 0 }
    }

    private func runNow() {
        guard !schedule.isBackingOff else { return retryLater() }
        // A set from here on schedules another checkpoint.
        schedule.isScheduled.clear()
        do {
            guard !isCheckpointed else { return noteSuccess() }
            store.look()
            store.findLastGoodValues()
            let isMade = try FileHandle.reopening {
                guard let lock = try CheckpointLock.tryToAcquire(for: file) else { return false }
                try Checkpointer.run(store, lock, patience: Patience())
                return true
            }
            guard isMade else { return schedule(isOwn: false) }
            noteSuccess()
            if !isCheckpointed { schedule(isOwn: false) }
        } catch {
            noteFailure(error)
        }
    }

    private func noteFailure(_ error: any Error) {
        let isCopyOutdated = error is OutdatedCopyError
        var error = (error as? OutdatedCopyError)?.error ?? file.writeError(error)
        // A process that has committed nothing may lack the permission to write a checkpoint. A malformed file was
        // reported before.
        guard schedule.hasCommitted.load(ordering: .relaxed), error.code != .suiteFinished else { return }
        let isFirst = schedule.noteFailure(error)
        if isFirst, ![.malformedFile, .readFailed].contains(error.code) {
            if !isCopyOutdated {
                let isDirectoryGone = (error.underlying as? SystemError)?.number == Errno.noSuchFileOrDirectory
                error.consequence =
                    isDirectoryGone
                    ? "the settings file is written later, and the changes are lost if the process ends before"
                    : "the changes are safe in the journal, and the settings file is written later"
            }
            schedule.noteReport(error)
            report(error)
        }
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
            guard let journal = state.journal.journal, let (epoch, position) = journal.current else { return true }
            let isCopyOutdated = LastGoodCopy.condition(in: journal.page) == .outdated
            return state.isClosed || (epoch.checkpointed >= position.end && !isCopyOutdated)
        }
    }

    // MARK: - At the end

    /// Makes a last checkpoint when the suite is closed or the process exits.
    ///
    /// If it fails, the next process that opens the suite makes the checkpoint.
    func runAtEnd() {
        guard schedule.isActive, schedule.hasCommitted.load(ordering: .relaxed), !isCheckpointed else { return }
        store.findLastGoodValues()
        do {
            let limit = CheckpointSchedule.patienceAtEnd
            let patience = Patience(withoutProgress: limit, withSlowHolder: limit)
            try FileHandle.reopening { try Checkpointer.run(store, acquireLock(patience), patience: patience) }
        } catch let error as OutdatedCopyError {
            report(error.error)
        } catch {
            var error = file.writeError(error)
            // Another process is making a checkpoint. When it has finished, it finds the remaining records. Or another thread
            // has closed the store meanwhile, and made the last checkpoint.
            guard ![.lockTimedOut, .suiteFinished].contains(error.code) else { return }
            error.consequence =
                "the changes are safe in the journal; a program that uses the suite writes the file when the cause is corrected"
            report(error)
        }
    }
}
