// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// When a store checkpoints by itself.
final class CheckpointSchedule: Sendable {
    /// How often to see whether there were more sets, in seconds: twice that after the last one the file is written.
    static let interval = 0.1
    /// How often to see that at most, before the file is written although there are more sets.
    static let mostTurns = 9
    /// How long to leave checkpointing to the process that has set, in seconds.
    static let courtesy = 0.5
    /// How long to wait for another process to checkpoint when this one ends.
    static let patienceAtEnd = Duration.seconds(2)
    /// How long to wait after a checkpoint has failed for the first time; each time twice as long, up to a minute.
    static let retryDelay = Duration.seconds(1)
    static let longestRetryDelay = Duration.seconds(60)
    /// How often to see whether it is time for another attempt, in seconds.
    static let retryInterval = 0.5

    /// Whether it checkpoints by itself at all.
    let isActive: Bool
    let isScheduled = ScheduledFlag()
    let isRepairScheduled = ScheduledFlag()
    let isLookScheduled = ScheduledFlag()
    /// Whether it was reported that the system starts no thread.
    let isShortageReported = Atomic(false)
    /// Whether the journal is being checkpointed because it has become long.
    let isUrgent = ScheduledFlag()
    /// Whether this process has set anything, and so owes it to others to checkpoint.
    let hasCommitted = Atomic(false)

    /// The checkpoints that have failed since the last one that did not.
    private struct Failures {
        var count = 0
        var nextAttempt = ContinuousClock.now
        /// What was reported.
        var causes: Set<String> = []
    }

    private let failures = Locked<Failures?>(nil)
    /// Whether there are any, which a commit must know without a lock.
    private let isFailing = Atomic(false)

    /// How long the journal may become before it is checkpointed at once, in bytes.
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
    /// - Returns: Whether it has not failed for this reason since the last one that was made.
    func noteFailure(_ error: SettingsError) -> Bool {
        isFailing.store(true, ordering: .relaxed)
        return failures.withLock { failures in
            var new = failures ?? Failures()
            defer { failures = new }
            let delay = Self.retryDelay * (1 << min(new.count, 6))
            new.count += 1
            new.nextAttempt = .now + min(delay, Self.longestRetryDelay)
            // The path of a draft is another one each time.
            let call = (error.underlying as? SystemError).map { "\($0.call) \($0.number)" }
            return new.causes.insert("\(error.code) \(call ?? error.fact)").inserted
        }
    }

    /// Notes that a checkpoint was made.
    func noteSuccess() {
        failures.withLock { $0 = nil }
        isFailing.store(false, ordering: .relaxed)
    }

    /// Makes another attempt due: what it has failed for may have gone.
    func retryNow() {
        failures.withLock { failures in
            failures?.count = 0
            failures?.nextAttempt = .now
        }
    }
}

extension FileStore {
    /// Sees to it that what is in the journal is checkpointed.
    ///
    /// - Parameters:
    ///   - isOwn: Whether this process has put it there.
    ///   - isUrgent: Whether not to wait for a pause.
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
        takeTurn(after: isOwn ? CheckpointSchedule.interval : CheckpointSchedule.courtesy, seen: 0, turns: 0)
    }

    /// Checkpoints without waiting for a pause, unless that is being done.
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

    private func takeTurn(after delay: Double, seen word: UInt64, turns: Int) {
        WorkScheduler.shared.after(delay) { [weak self] in
            guard let self else { return }
            let published = publishedWord
            if published == word || turns >= CheckpointSchedule.mostTurns {
                checkpointNow()
            } else {
                takeTurn(after: CheckpointSchedule.interval, seen: published, turns: turns + 1)
            }
        }
    }

    private var publishedWord: UInt64 {
        state.withLock { $0.journal.journal?.published.word ?? 0 }
    }

    private func checkpointNow() {
        guard !schedule.isBackingOff else { return retryLater() }
        // From here on, whoever sets has to see to it again.
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
        // Who has set nothing need not be able to checkpoint, and a file that is broken was told of.
        guard schedule.hasCommitted.load(ordering: .relaxed), error.code != .suiteFinished else { return }
        let isFirst = schedule.noteFailure(error)
        if isFirst, ![.malformedFile, .readFailed].contains(error.code) {
            if !isCopyOutdated {
                error.consequence = "what was set is safe in the journal, and the file is written later"
            }
            deliver(Effects(errors: [error]))
        }
        guard !schedule.isScheduled.exchange(true, ordering: .relaxed) else { return }
        retryLater()
    }

    /// Makes another attempt when it is time for one.
    private func retryLater() {
        takeTurn(after: CheckpointSchedule.retryInterval, seen: 0, turns: CheckpointSchedule.mostTurns)
    }

    /// Whether the file has all that the journal has, as far as is known without a look.
    private var isCheckpointed: Bool {
        state.withLock { state in
            guard let journal = state.journal.journal, let (epoch, position) = journal.current else { return true }
            let isCopyOutdated = LastGoodCopy.condition(in: journal.page) == .outdated
            return state.isClosed || (epoch.checkpointed >= position.end && !isCopyOutdated)
        }
    }

    /// Checkpoints when the suite is let go of, or the process ends.
    ///
    /// What cannot be done then is done by whoever opens the suite next.
    func checkpointAtEnd() {
        guard schedule.isActive, schedule.hasCommitted.load(ordering: .relaxed), !isCheckpointed else { return }
        do {
            let patience = CheckpointSchedule.patienceAtEnd
            try checkpoint(under: lockForCheckpoint(patience: patience), patience: patience)
        } catch let error as OutdatedCopyError {
            deliver(Effects(errors: [error.error]))
        } catch {
            var error = writeError(error)
            // Another process checkpoints, and when it is done it sees that there is more.
            guard error.code != .lockTimedOut else { return }
            error.consequence = "what was set is safe in the journal, and the file is written when the suite is opened"
            deliver(Effects(errors: [error]))
        }
    }
}
