// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsEngine {
    /// Tries to save the pending writes, and schedules the next try while there are any.
    func retry() {
        do {
            try flush()
        } catch {
            // The first failure was reported, and `synchronize()` throws while it lasts.
        }
        scheduleRetry()
    }

    /// Schedules ``retry()`` while there are pending writes that can still be saved.
    func scheduleRetry() {
        guard let delay = state.withLock({ $0.isFinished ? nil : $0.pendingWrites.nextRetry() }) else { return }
        // The work holds the engine: it alone has the values, and the suite that assigned them may be gone.
        WorkScheduler.durable.after(delay) {
            self.state.withLock { $0.pendingWrites.isRetryScheduled = false }
            self.retry()
        }
    }
}

// MARK: - Rejected values

extension SettingsEngine {
    /// Runs a commit, and runs it once more if it failed because of a pending write that the store never accepts.
    func retryingWithoutRejected(_ commit: () throws -> Void) throws {
        do {
            try commit()
        } catch let error as SettingsError where error.code.isRejection {
            guard dropRejected() else { throw error }
            try commit()
        }
    }

    /// Tries the pending writes one by one, and drops those that the store never accepts, so that they do not fail every
    /// commit that would save them.
    ///
    /// - Returns: Whether there was one.
    private func dropRejected() -> Bool {
        var isAnyDropped = false
        let versions = state.withLock { $0.pendingWrites.versions }
        for (key, version) in versions.sorted(by: { $0.key < $1.key }) {
            do {
                try commitPending(isBlind: true, only: key) { _ in }
            } catch let error as SettingsError where error.code.isRejection {
                isAnyDropped = true
                drop(key, upTo: version, because: error)
            } catch {
                // It may be saved later.
            }
        }
        return isAnyDropped
    }

    /// Drops the pending writes after which a requirement would not be met: another value may have been stored since they were
    /// assigned.
    ///
    /// - Returns: What the others were checked with.
    func dropPendingWritesThatViolateRequirements() -> CheckedPendingWrites {
        var checked = CheckedPendingWrites()
        guard hasRequirements.load(ordering: .acquiring) else { return checked }
        let versions = state.withLock { $0.pendingWrites.versions }
        for (key, version) in versions.sorted(by: { $0.key < $1.key }) {
            let requirements = requirements(for: CollectionOfOne(key))
            guard !requirements.isEmpty else { continue }
            let moment = readingChecked { readMoment() }
            let contents = moment.visible
            for requirement in requirements { requirement.prepare { contents[$0] } }
            do {
                for requirement in requirements { try requirement.check(requirement.combination { contents[$0] }) }
                checked.versions[key] = version
                checked.values.held = moment.usedHeldValues
                for name in requirements.flatMap(\.keys).flatMap(\.all) {
                    checked.values.stored.updateValue(moment.stored[name], forKey: name)
                }
            } catch {
                drop(key, upTo: version, because: SettingsError.wrapping(error, as: .requirementNotMet))
            }
        }
        return checked
    }

    /// Throws ``OutdatedCheck`` if pending writes were checked with other values than those that are stored now.
    func check(_ checked: CheckedPendingWrites, in transaction: StoreTransaction) throws {
        guard hasRequirements.load(ordering: .acquiring) else { return }
        let versions = state.withLock { $0.pendingWrites.versions }
        let isCurrent =
            versions.allSatisfy { checked.versions[$0.key] == $0.value || !isRestricted($0.key) }
            && (checked.versions.isEmpty || checked.values.areCurrent(in: transaction, checkedHeldValues))
        guard isCurrent else { throw OutdatedCheck() }
    }

    /// Drops the pending write of a key, unless it is newer than a version, and reports that.
    func drop(_ key: String, upTo version: PendingWrites.Version, because cause: SettingsError) {
        guard forget(key, upTo: version) else { return }
        var error = cause
        error.key = key
        error.consequence = "the assigned value is not saved, and the stored value remains as it is"
        report(error)
    }
}

/// The pending writes that meet the requirements, and the values that they were checked with.
struct CheckedPendingWrites {
    /// The versions of the pending writes that have to meet requirements.
    var versions: [String: PendingWrites.Version] = [:]
    /// What the check depends on.
    var values = CheckedValues()
}

/// Pending writes have to be checked again.
struct OutdatedCheck: Error {}

extension SettingsError.Code {
    /// Whether the same write may succeed later.
    var isRetryable: Bool { !isRejection && ![.suiteFinished, .requirementNotMet].contains(self) }

    /// Whether the store never accepts the value.
    var isRejection: Bool {
        [.unstorable, .invalidKey, .validationFailed, .typeMismatch, .invalidValue].contains(self)
    }
}
