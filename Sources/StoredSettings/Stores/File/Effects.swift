// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What a store does after it has released its locks.
struct Effects {
    var deliveries: [StoreDelivery] = []
    /// The errors to report, and those that were reported and are settled, in order.
    private(set) var reports: [(error: SettingsError, isSettled: Bool)]
    /// Retained until the locks are released: releasing the last reference to an observer closes the store.
    var observers: [any StoreObserver] = []
    /// Files that are no longer used, and are closed after the locks are released.
    ///
    /// When the last process closes a file that was replaced, the system frees its space, which may wait for the disk.
    var files: [FileHandle] = []
    /// Whether to look at the file again when no program can be writing it anymore.
    var isUnsettled = false
    /// Whether there are records that need a checkpoint.
    var isCheckpointDue = false
    /// Whether the journal needs a commit that recovers it.
    var needsRepair = false
    var isFirstLook = false
    /// Whether the file was looked at, and no event reports when it changes or can be read.
    var mustPoll = false

    init(_ reports: [(error: SettingsError, isSettled: Bool)] = []) {
        self.reports = reports
    }

    /// Moves the effects of a later operation here.
    mutating func take(_ later: inout Effects) {
        deliveries += later.deliveries
        reports += later.reports
        observers += later.observers
        files += later.files
        isUnsettled = isUnsettled || later.isUnsettled
        isCheckpointDue = isCheckpointDue || later.isCheckpointDue
        needsRepair = needsRepair || later.needsRepair
        isFirstLook = isFirstLook || later.isFirstLook
        mustPoll = mustPoll || later.mustPoll
        later = Effects()
    }

    /// Reports an error after the locks are released.
    mutating func report(_ error: SettingsError) { reports.append((error, false)) }

    /// Reports after the locks are released that an error is settled.
    mutating func reportRecovery(from error: SettingsError) { reports.append((error, true)) }

    /// Closes a file after the locks are released.
    mutating func close(_ reading: SettingsFile.Reading?) {
        if let reading { files.append(reading.handle) }
    }

    /// Notifies the subscribers of the changes so far, and retains everything else.
    mutating func deliverChanges() {
        let deliveries = deliveries
        self.deliveries = []
        for var delivery in deliveries {
            for error in delivery.errors { report(error) }
            delivery.errors = []
            delivery.perform()
        }
    }
}

extension FileStore {
    /// Performs effects.
    ///
    /// The caller holds no lock.
    func perform(_ effects: Effects) {
        for delivery in effects.deliveries { delivery.perform() }
        if !effects.reports.isEmpty {
            let observer = peek { $0.observer }
            WaitLimit.runWithout {
                for (error, isSettled) in effects.reports {
                    isSettled ? observer?.reportRecovery(from: error) : observer?.report(error)
                }
            }
        }
        if effects.isUnsettled { lookAgain() }
        if effects.isFirstLook { watchLater() }
        if effects.mustPoll { pollLater() }
        if effects.needsRepair { repairLater() }
        if effects.isCheckpointDue { checkpoints.schedule(isOwn: false) }
        startMissingThreads()
    }

    /// Looks at the file again when a program that was writing it should have finished.
    private func lookAgain() {
        WorkScheduler.shared.after(SettingsFileState.settlingTime) { [weak self] in
            self?.look()
        }
    }

    /// Looks at the file again after a while, because no event reports when it changes or can be read.
    ///
    /// Without subscribers, the next read looks. So nothing happens while nothing is read, and nothing has failed.
    private func pollLater() {
        guard schedule.isLookScheduled.set() else { return }
        WorkScheduler.shared.after(SettingsFileState.pollInterval) { [weak self] in
            guard let self else { return }
            schedule.isLookScheduled.clear()
            if let watch = peek({ $0.watch }), watch.isUnwatched { watch.arm() }
            storeVersion.mustLook()
            // Under the state lock: a subscriber that is added later finds that a look is due.
            if peek({ $0.isTransientFailure || storeVersion.needsChanges.load(ordering: .acquiring) }) {
                look()
            }
        }
    }

    /// Tries again to start threads for the work that waits for one, and reports once that the system starts none.
    private func startMissingThreads() {
        guard WorkScheduler.isAnyStarved else { return }
        WorkScheduler.durable.startThreadIfStarved()
        WorkScheduler.shared.startThreadIfStarved()
        guard WorkScheduler.isAnyStarved, !schedule.isShortageReported.exchange(true, ordering: .relaxed) else {
            return
        }
        // Caches may contain values that were read before this was known.
        storeVersion.invalidate()
        peek { $0.observer }?.report(.noThread(file.path))
    }

    /// Watches the file after the suite has been open for a while.
    private func watchLater() {
        guard schedule.isActive else { return }
        WorkScheduler.shared.after(PathWatch.delay) { [weak self] in self?.startWatching() }
    }

    /// Schedules a commit that recovers the journal.
    private func repairLater() {
        guard schedule.isActive, schedule.isRepairScheduled.set() else { return }
        WorkScheduler.durable.soon { [weak self] in
            guard let self else { return }
            schedule.isRepairScheduled.clear()
            do {
                try commit(isBlind: true) { _ in }
            } catch {
                // The problem was reported when it was found. The next commit tries again, and throws.
            }
        }
    }
}
