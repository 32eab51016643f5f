// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Decides when a store makes a checkpoint in the background.
final class CheckpointSchedule: Sendable {
    /// The interval at which to check for further sets, in seconds.
    ///
    /// A checkpoint follows one to two intervals after the last set.
    static let interval = 0.1
    /// How often to postpone a checkpoint because of further sets.
    static let mostChecks = 9
    /// How long to leave the checkpoint to the process that committed, in seconds.
    static let courtesy = 0.5
    /// How long to wait for a checkpoint of another process when this one exits.
    static let patienceAtEnd = Duration.seconds(2)
    /// The delay after the first failed checkpoint.
    ///
    /// It doubles with each further failure, up to `longestRetryDelay`.
    static let retryDelay = Duration.seconds(1)
    static let longestRetryDelay = Duration.seconds(60)
    /// The interval at which to check whether a retry is due, in seconds.
    static let retryInterval = 0.5

    /// Whether the store makes checkpoints in the background at all.
    let isActive: Bool
    let isScheduled = ScheduledFlag()
    let isRepairScheduled = ScheduledFlag()
    let isLookScheduled = ScheduledFlag()
    /// Whether the lack of threads has been reported.
    let isShortageReported = Atomic(false)
    /// Whether a checkpoint is in progress because the journal has become long.
    let isUrgent = ScheduledFlag()
    /// Whether this process has committed anything, and is therefore responsible for a checkpoint.
    let hasCommitted = Atomic(false)

    /// The failed checkpoints since the last successful one.
    private struct Failures {
        var count = 0
        var nextAttempt = ContinuousClock.now
        /// The causes that have been reported.
        var causes: Set<String> = []
    }

    private let failures = Locked<Failures?>(nil)
    /// Whether there are failures, for commits, which must not take a lock for this.
    private let isFailing = Atomic(false)

    /// The length of the journal above which a checkpoint is due at once, in bytes.
    let journalBound: Int

    init(isActive: Bool, journalBound: Int) {
        (self.isActive, self.journalBound) = (isActive, journalBound)
    }

    /// Whether it is too early for another attempt.
    var isBackingOff: Bool {
        guard isFailing.load(ordering: .relaxed) else { return false }
        return failures.withLock { $0.map { .now < $0.nextAttempt } ?? false }
    }

    /// Notes that a checkpoint has failed.
    ///
    /// - Returns: Whether this is the first failure for this reason since the last successful checkpoint.
    func noteFailure(_ error: SettingsError) -> Bool {
        isFailing.store(true, ordering: .relaxed)
        return failures.withLock { failures in
            var new = failures ?? Failures()
            defer { failures = new }
            let delay = Self.retryDelay * (1 << min(new.count, 6))
            new.count += 1
            new.nextAttempt = .now + min(delay, Self.longestRetryDelay)
            // The path of a draft differs each time.
            let call = (error.underlying as? SystemError).map { "\($0.call) \($0.number)" }
            return new.causes.insert("\(error.code) \(call ?? error.fact)").inserted
        }
    }

    /// Notes that a checkpoint has succeeded.
    func noteSuccess() {
        failures.withLock { $0 = nil }
        isFailing.store(false, ordering: .relaxed)
    }

    /// Makes another attempt due, because the cause of the failure may be gone.
    func retryNow() {
        failures.withLock { failures in
            failures?.count = 0
            failures?.nextAttempt = .now
        }
    }
}

extension FileStore {
    /// Schedules a checkpoint of the journal.
    ///
    /// - Parameters:
    ///   - isOwn: Whether this process has appended the records.
    ///   - isUrgent: Whether to start the checkpoint without waiting for a pause between sets.
    func checkpointLater(isOwn: Bool, isUrgent: Bool = false) {
        guard schedule.isActive else { return }
        if isOwn, !schedule.hasCommitted.load(ordering: .relaxed) {
            schedule.hasCommitted.store(true, ordering: .relaxed)
            OpenStores.add(self)
        }
        if isUrgent, !schedule.isBackingOff { checkpointAtOnce() }
        guard !schedule.isScheduled.load(ordering: .relaxed),
            !schedule.isScheduled.exchange(true, ordering: .relaxed)
        else { return }
        checkWhenIdle(after: isOwn ? CheckpointSchedule.interval : CheckpointSchedule.courtesy, seen: 0, checks: 0)
    }

    /// Starts a checkpoint without waiting for a pause, unless one is in progress.
    private func checkpointAtOnce() {
        guard !schedule.isUrgent.load(ordering: .relaxed), !schedule.isUrgent.exchange(true, ordering: .relaxed) else {
            return
        }
        WorkScheduler.shared.soon { [weak self] in
            guard let self else { return }
            checkpointNow()
            schedule.isUrgent.store(false, ordering: .relaxed)
        }
    }

    private func checkWhenIdle(after delay: Double, seen word: UInt64, checks: Int) {
        WorkScheduler.shared.after(delay) { [weak self] in
            guard let self else { return }
            let published = publishedWord
            if published == word || checks >= CheckpointSchedule.mostChecks {
                checkpointNow()
            } else {
                checkWhenIdle(after: CheckpointSchedule.interval, seen: published, checks: checks + 1)
            }
        }
    }

    private var publishedWord: UInt64 {
        state.withLock { $0.journal.journal?.published.word ?? 0 }
    }

    private func checkpointNow() {
        guard !schedule.isBackingOff else { return retryLater() }
        // A set from here on schedules another checkpoint.
        schedule.isScheduled.store(false, ordering: .relaxed)
        do {
            guard !isCheckpointed else { return }
            guard let lock = try tryToLockForCheckpoint() else { return checkpointLater(isOwn: false) }
            try checkpoint(under: lock, patience: FileLock.patience)
            schedule.noteSuccess()
            if !isCheckpointed { checkpointLater(isOwn: false) }
        } catch {
            checkpointFailed(error)
        }
    }

    private func checkpointFailed(_ error: any Error) {
        let isCopyOutdated = error is OutdatedCopyError
        var error = (error as? OutdatedCopyError)?.error ?? writeError(error)
        // A process that has committed nothing may lack the permission to write a checkpoint. A malformed file was
        // reported before.
        guard schedule.hasCommitted.load(ordering: .relaxed), error.code != .suiteFinished else { return }
        let isFirst = schedule.noteFailure(error)
        if isFirst, ![.malformedFile, .readFailed].contains(error.code) {
            if !isCopyOutdated {
                error.consequence = "the changes are safe in the journal, and the settings file is written later"
            }
            deliver(Effects(errors: [error]))
        }
        guard !schedule.isScheduled.exchange(true, ordering: .relaxed) else { return }
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
        state.withLock { state in
            guard let journal = state.journal.journal, let (epoch, position) = journal.current else { return true }
            let isCopyOutdated = LastGoodCopy.condition(in: journal.page) == .outdated
            return state.isClosed || (epoch.checkpointed >= position.end && !isCopyOutdated)
        }
    }

    /// Makes a last checkpoint when the suite is closed or the process exits.
    ///
    /// If it fails, the next process that opens the suite makes the checkpoint.
    func checkpointAtEnd() {
        guard schedule.isActive, schedule.hasCommitted.load(ordering: .relaxed), !isCheckpointed else { return }
        do {
            let patience = CheckpointSchedule.patienceAtEnd
            try checkpoint(under: lockForCheckpoint(patience: patience), patience: patience)
        } catch let error as OutdatedCopyError {
            deliver(Effects(errors: [error.error]))
        } catch {
            var error = writeError(error)
            // Another process is making a checkpoint. When it has finished, it finds the remaining records.
            guard error.code != .lockTimedOut else { return }
            error.consequence =
                "the changes are safe in the journal, and the settings file is written when the suite is opened again"
            deliver(Effects(errors: [error]))
        }
    }
}
