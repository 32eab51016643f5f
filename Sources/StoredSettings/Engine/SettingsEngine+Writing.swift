// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "A set that throws changes nothing".

import Synchronization

extension SettingsEngine {
    /// Runs a transaction's body, with all other writers excluded.
    func transact<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        let scope = TransactionScope()
        defer { scope.performPostponed() }
        // The body does not run again because of its own error.
        var isRunning = false
        return try retryingWithoutRejected(if: !isRunning) {
            try commit { transaction in
                isRunning = true
                let result = try scope.run { try checking(&transaction, body) }
                try transaction.checkStorable()
                isRunning = false
                return result
            }
        }
    }

    /// Runs a body, and checks the requirements that its changes may violate.
    private func checking<Result>(
        _ transaction: inout StoreTransaction,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result {
        guard hasRequirements else { return try body(&transaction) }
        // With the pending writes, which were checked before.
        let before = transaction
        let result = try body(&transaction)
        let after = transaction
        // Values that do not meet a requirement are not used.
        let held = checkedHeldValues
        let used = { (key: String) in before.isEdited(key) ? before[key] : held[key] ?? before[key] }
        let changed = Set(after.edited.map(\.key).filter { after[$0] != used($0) })
        let errors = CheckScope.run {
            requirementErrors(for: changed, from: used) { changed.contains($0) ? after[$0] : used($0) }
        }
        if let error = errors.first { throw error }
        return result
    }

    /// Stores some values; `nil` removes the value of a key.
    package func write(_ edits: some Collection<(key: String, value: StoredValue?)>) throws {
        guard edits.allSatisfy({ !$0.key.isEmpty }) else { throw SettingsError.emptyKey }
        // First, because the other failures may be temporary: a value that no store can hold must not become a pending write.
        for (key, value) in edits { try value?.checkStorable(forKey: key) }
        let keys = withMembers(edits.map(\.key))
        func apply(_ transaction: inout StoreTransaction) {
            for (key, value) in edits { transaction[key] = value }
        }
        guard requirements(for: keys).isEmpty else { return try transact(apply) }
        try retryingWithoutRejected { try commit(isBlind: true, apply) }
    }

    /// Stores a value; `nil` removes the value of the key.
    func write(_ value: StoredValue?, forKey key: String) throws {
        if try !write(value, forKey: key, mayWait: true) { try write(CollectionOfOne((key: key, value: value))) }
    }

    /// Stores a value without a transaction.
    ///
    /// - Returns: Whether the value is stored: not if it needs a transaction, or, without `mayWait`, if it would have to wait for
    ///   another thread or process.
    private func write(_ value: StoredValue?, forKey key: String, mayWait: Bool) throws -> Bool {
        guard isFree, !key.isEmpty, !isRestricted(key) else { return false }
        try value?.checkStorable(forKey: key)
        return try store.write(value, forKey: key, mayWait: mayWait)
    }

    /// Whether a set has nothing to do but to store its value.
    private var isFree: Bool { state.isPlain && TransactionScope.current == nil }

    /// Stores a value without throwing: see ``assign(_:isConverted:report:)``.
    func assign(
        _ value: StoredValue?,
        forKey key: String,
        report: @escaping @Sendable (SettingsError) -> Void
    ) -> Bool {
        assign(CollectionOfOne((key: key, value: value)), report: report)
    }

    /// Stores some values without throwing: reports a failure, and keeps all of them as pending writes, or none.
    ///
    /// The store may leave out the record of a value that a setting has converted, because that setting can use it.
    ///
    /// - Returns: Whether the values are stored, or are pending writes.
    @discardableResult
    func assign(
        _ edits: some Collection<(key: String, value: StoredValue?)>,
        isConverted: Bool = true,
        report: @escaping @Sendable (SettingsError) -> Void
    ) -> Bool {
        do {
            if isConverted, edits.count == 1, let edit = edits.first,
                try write(edit.value, forKey: edit.key, mayWait: false)
            {
                return true
            }
            if try writeLater(edits) { return true }
            // The thread may be one of the few that run tasks. While earlier values wait, another one need not try.
            let limit = isSavingInBackground.isSet ? .zero : Self.longestWaitInTask
            let isInTask = withUnsafeCurrentTask { $0 != nil }
            try isInTask ? WaitLimit.run(for: limit) { try write(edits) } : write(edits)
            return true
        } catch {
            return keep(edits, after: error, report)
        }
    }

    /// How long an assignment in a task may block its thread.
    static let longestWaitInTask = Duration.milliseconds(20)

    /// Leaves assignments to a store that sends them later.
    ///
    /// - Returns: Whether the store has accepted them.
    private func writeLater(_ edits: some Collection<(key: String, value: StoredValue?)>) throws -> Bool {
        guard isFree, edits.allSatisfy({ !$0.key.isEmpty }), try store.writeLater([:]) else { return false }
        for (key, value) in edits { try value?.checkStorable(forKey: key) }
        // A check makes no other one, so the transaction has to check the values.
        if CheckScope.isCurrent, edits.contains(where: { isRestricted($0.key) }) { return false }
        // What other processes store until then is checked when it arrives.
        try check(edits)
        guard try store.writeLater(Dictionary(edits.map { ($0.key, $0.value) }) { $1 }) else { return false }
        // A commit that is under way was checked without these values.
        if hasRequirements { state.withLock { $0.held.noteUncheckedChange(ofKeys: Set(edits.map(\.key))) } }
        checkIfDue()
        return true
    }

    private func keep(
        _ edits: some Collection<(key: String, value: StoredValue?)>,
        after error: any Error,
        _ report: @escaping @Sendable (SettingsError) -> Void
    ) -> Bool {
        let isBusy = error.isCaused(by: WaitLimitError.self)
        var error = SettingsError.wrapping(error, as: .writeFailed)
        var isKept = false
        do {
            if isBusy || error.code.isRetryable {
                try check(edits)
                isKept = keep(edits)
                error.consequence =
                    isKept
                    ? Self.consequence(ofPending: error.code) : "the suite is finished, and the value is not saved"
            }
        } catch let unmet {
            error = SettingsError.wrapping(unmet, as: .requirementNotMet)
        }
        if isKept, isBusy {
            saveInBackground(edits.first?.key ?? "", report)
        } else {
            if isKept { scheduleRetry() }
            // Without a place to store anything, every reporter was notified when the suite was opened.
            if !isKept || isStorageAvailable { afterTransaction { [error] in report(error) } }
        }
        return isKept
    }

    /// Saves the pending writes on another thread, and reports a failure.
    private func saveInBackground(_ key: String, _ report: @escaping @Sendable (SettingsError) -> Void) {
        // Released outside the lock: it may hold objects of the user.
        let old = waitingReports.withLock { $0.updateValue(report, forKey: key) }
        _ = consume old
        guard isSavingInBackground.set() else { return }
        // The work holds the engine: it alone has the values.
        suspendedWrites.runInBackground {
            repeat {
                let reports = self.waitingReports.withLock { exchange(&$0, with: [:]) }
                do {
                    try self.flush()
                } catch {
                    var error = SettingsError.wrapping(error, as: .writeFailed)
                    error.consequence = Self.consequence(ofPending: error.code)
                    for (_, report) in reports.sorted(by: { $0.key < $1.key }) { report(error) }
                }
                self.isSavingInBackground.clear()
                // A value that was assigned meanwhile may not have been tried.
            } while self.waitingReports.withLock({ !$0.isEmpty }) && self.isSavingInBackground.set()
            self.scheduleRetry()
        }
    }

    /// The consequence of an assignment that becomes a pending write.
    private static func consequence(ofPending code: SettingsError.Code) -> String {
        code == .nestedTransaction
            ? "the assignment is not part of the transaction, and is tried after it"
            : "the new value is used, is not saved yet, and is lost if the process ends before a later try succeeds"
    }

    private func commit<Result>(
        isBlind: Bool = false,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result {
        guard !isFinished else { throw SettingsError.suiteFinished }
        if isStorageAvailable, let scope = TransactionScope.current {
            // A check can run again with each retry, so it must not begin one.
            if !CheckScope.isCurrent { scope.postpone { self.retry() } }
            throw SettingsError.nestedTransaction
        }
        return try commitPending(isBlind: isBlind, body)
    }

    /// Runs a commit that also saves the pending writes.
    ///
    /// - Parameters:
    ///   - isBlind: Whether the body reads nothing, so that the commit is possible while the contents are unknown. It saves no
    ///     pending write that has to meet a requirement, because that depends on the contents.
    ///   - keys: The only keys whose pending writes are saved; `nil` for all.
    ///   - body: Changes the contents.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body or of the store. Then everything stays pending.
    func commitPending<Result>(
        isBlind: Bool,
        only keys: Set<String>? = nil,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result {
        if !isBlind, TransactionScope.current == nil, !CheckScope.isCurrent {
            // Other processes may store values that have to be checked first, again and again.
            for _ in 0..<3 {
                prepareRequirements()
                do {
                    return try commitOnce(isBlind: false, only: keys, mayEnd: true, body)
                } catch  where error.isCaused(by: UncheckedChangeError.self) {
                    continue
                }
            }
        }
        return try commitOnce(isBlind: isBlind, only: keys, mayEnd: false, body)
    }

    /// Runs a commit once: see ``commitPending(isBlind:only:_:)``.
    ///
    /// - Parameters:
    ///   - isBlind: As there.
    ///   - keys: As there.
    ///   - mayEnd: Whether to end the commit if a value from outside has to be checked first.
    ///   - body: As there.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body or of the store; `UncheckedChangeError` if the commit has ended for that reason.
    private func commitOnce<Result>(
        isBlind: Bool,
        only keys: Set<String>?,
        mayEnd: Bool,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result {
        // Before the store reads its newest contents: what others change from here on is newer than what the body sees.
        state.withLock { $0.held.beginCommit() }
        defer { state.withLock { _ = $0.held.endCommit() } }
        let scope = TransactionScope()
        defer { scope.performPostponed() }
        var flush = PendingWrites.Flush()
        let body: (inout StoreTransaction) throws -> Result = { [self] transaction in
            let (restricted, isChecked) = (restrictedKeys, hasRequirements && !isBlind)
            // The store has read the commits of other processes, so the writes that are still pending are newer.
            let isCheckDue: Bool
            (flush, isCheckDue) = state.withLock { state in
                let flush = state.pendingWrites.beginFlush(of: keys, except: isBlind ? restricted : [])
                state.held.beginBody(isChecked: isChecked)
                return (flush, state.held.isCheckDue)
            }
            // A value from outside that is assigned again has to meet the requirements.
            if mayEnd, isChecked, isCheckDue { throw UncheckedChangeError() }
            if scope.run({ !areRequirementsMet(by: flush, over: transaction) }) {
                // A check drops them, or finds which values are used instead of those from outside.
                state.withLock { $0.held.noteUncheckedChange(ofKeys: restricted) }
                if mayEnd { throw UncheckedChangeError() }
                flush = state.withLock { $0.pendingWrites.beginFlush(of: keys, except: restricted) }
            }
            flush.apply(to: &transaction)
            let result = try body(&transaction)
            if isChecked { scope.run { storeHeldValues(in: &transaction) } }
            let dropped = state.withLock { $0.pendingWrites.revertDropped(flush, in: &transaction) }
            if !isBlind, dropped.contains(where: restricted.contains) {
                // The body was checked with these values.
                if mayEnd { throw UncheckedChangeError() }
                throw SettingsError.uncheckedChanges
            }
            if hasRequirements || !flush.entries.isEmpty {
                let equal = transaction.edited.filter {
                    PendingWrites.change(ofKey: $0.key, from: $0.old, to: $0.new) == nil
                }
                transaction.isRecordingEqual = state.withLock { $0.held.noteReassigned(equal) }
            }
            return result
        }
        return try store.commit(isBlind: isBlind, body)
    }

    /// Stores the values that are used instead of stored ones, if these do not meet a requirement on a value that changes.
    ///
    /// From then on, all processes use the same values, whichever each of them has used before.
    private func storeHeldValues(in transaction: inout StoreTransaction) {
        let held = checkedHeldValues
        let changed = requirements(for: transaction.edited.map(\.key))
        guard !held.isEmpty, !changed.isEmpty else { return }
        let all = requirementTable.withLock(\.all)
        let connected = changed.flatMap(all.connected)
        let stored = transaction
        guard CheckScope.run({ connected.contains { $0.error(of: { stored[$0] }) != nil } }) else { return }
        // A secret that an edit has replaced or removed does not come back to the disk.
        for key in connected.flatMap(\.allKeys) where !transaction.isEdited(key) && !isSecret(key) {
            if let used = held[key] { transaction[key] = used }
        }
    }

    /// Whether there are pending writes that a commit can save.
    private var hasUnsavedWrites: Bool { isStorageAvailable && state.withLock { !$0.pendingWrites.isEmpty } }

    /// Tries again to save the pending writes.
    func flush() throws {
        guard hasUnsavedWrites else { return }
        try retryingWithoutRejected {
            let restricted = restrictedKeys
            if state.withLock({ !$0.pendingWrites.saved(except: restricted).isEmpty }) {
                try commit(isBlind: true) { _ in }
            }
            // A requirement may have been declared meanwhile.
            let excluded = restrictedKeys
            guard state.withLock({ $0.pendingWrites.contains(anyOf: excluded) }) else { return }
            let version = state.withLock(\.pendingWrites.version)
            try commit { _ in }
            let isAnyLeft = state.withLock { $0.pendingWrites.contains(anyOf: excluded, upTo: version) }
            if isAnyLeft { throw SettingsError.uncheckedChanges }
        }
    }

    /// Drops the pending write of a key.
    ///
    /// - Returns: The value that becomes visible, for subscribers; `nil` if there is no such write, or only one that is newer
    ///   than the version.
    private func drop(_ key: String, upTo version: PendingWrites.Version) -> StoreDelivery? {
        guard isPending(key) else { return nil }
        return store.withValue(forKey: key) { stored in
            state.withLock { state -> StoreDelivery? in
                guard let entry = state.pendingWrites.drop(key, upTo: version) else { return nil }
                invalidate()
                state.held.noteUncheckedChange(ofKeys: [key])
                // Another process may have stored a value since, which was hidden until now.
                let new = state.value(forKey: key, over: stored)
                let changes = PendingWrites.change(ofKey: key, from: entry.value, to: new).map { [$0] } ?? []
                return self.checkedDelivery(of: changes, .external, state)
            }
        }
    }

    /// Makes values pending writes, unless the suite is finished.
    ///
    /// - Returns: Whether they are.
    private func keep(_ edits: some Collection<(key: String, value: StoredValue?)>) -> Bool {
        // Values that other processes have stored before must not be mistaken for newer ones later.
        storeVersion?.mustLook()
        let edits = Array(edits)
        let others = edits.dropFirst().map { store.value(forKey: $0.key) }
        // Under one lock, so that no commit and no check meets a part of the assignment.
        let delivery = store.withValue(forKey: edits[0].key) { first in
            state.withLock { state -> StoreDelivery? in
                guard !state.isFinished else { return nil }
                let old = zip(edits, [first] + others).map { state.value(forKey: $0.key, over: $1) }
                state.pendingWrites.keep(edits)
                invalidate()
                state.noteLocalChange(ofKeys: edits.map(\.key))
                let changes = zip(edits, old)
                    .compactMap { PendingWrites.change(ofKey: $0.key, from: $1, to: $0.value) }
                return checkedDelivery(of: changes, .local, state)
            }
        }
        guard let delivery else { return false }
        (store as? any RecoveringStore)?.noteUnsavedWrites()
        afterTransaction { delivery.perform() }
        return true
    }

    /// Runs work that calls observers or reporters: at once, or after the transaction whose body is the caller, or on another
    /// thread if values may be lost while this one is blocked.
    func afterTransaction(_ work: @escaping @Sendable () -> Void) {
        if let scope = TransactionScope.current {
            scope.postpone(work)
        } else if WorkScheduler.isDurable {
            WorkScheduler.shared.soon(work)
        } else {
            work()
        }
    }
}

// MARK: - Retrying

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
        guard hasUnsavedWrites, !isFinished, isRetryScheduled.set() else { return }
        // The work holds the engine: it alone has the values, and the suite that assigned them may be gone.
        WorkScheduler.durable.after(Self.retryDelay) {
            // No code of the user runs on the threads that make values durable.
            self.suspendedWrites.runInBackground {
                self.isRetryScheduled.clear()
                self.retry()
            }
        }
    }

    /// In seconds.
    private static let retryDelay = 0.5
}

// MARK: - Rejected values

extension SettingsEngine {
    /// Runs a commit, and runs it once more if it may have failed because of the pending writes that it would have saved.
    func retryingWithoutRejected<Result>(
        if isOfStore: @autoclosure () -> Bool = true,
        _ commit: () throws -> Result
    ) throws -> Result {
        let isAnyPending = hasUnsavedWrites
        do {
            return try commit()
        } catch let error as SettingsError where error.code.isRejection {
            guard isOfStore(), isAnyPending || hasUnsavedWrites else { throw error }
            // Another thread may have dropped or saved them already.
            dropRejected()
            return try commit()
        }
    }

    /// Tries the pending writes one by one, and drops those that the store never accepts, so that they do not fail every
    /// commit that would save them.
    ///
    /// Those that were assigned together, or that a requirement connects, are saved together, or dropped together.
    private func dropRejected() {
        let pending = state.withLock(\.pendingWrites)
        // Those without a requirement come first, because they can also be saved while the contents are unknown.
        let (free, all) = (pending.saved(except: restrictedKeys).keys, pending.saved().keys)
        var rest = Set(all)
        for key in free.sorted() + all.sorted() where rest.contains(key) {
            var group = keys(connectedTo: key, in: pending)
            rest.subtract(group)
            let isRestricted = group.contains(where: isRestricted)
            do {
                try commitPending(isBlind: !isRestricted, only: group) { _ in }
            } catch let error as SettingsError where error.code.isRejection {
                while let key = group.min() {
                    let keys = pending.keys(assignedWith: [key])
                    group.subtract(keys)
                    let reason = error.key.flatMap { keys.contains($0) ? nil : SettingsError(rejectedWith: $0) }
                    let writes = UnmetWrites(key: keys.last, keys: keys, error: reason ?? error)
                    if let error = drop(writes, upTo: pending.version) { report(error) }
                }
            } catch {
                // It may be saved later, like the others.
                return
            }
        }
    }

    /// The keys of pending writes that were assigned with a key, or that requirements connect with it, directly or through
    /// others.
    private func keys(connectedTo key: String, in pending: PendingWrites) -> Set<String> {
        var keys: Set = [key]
        while true {
            let count = keys.count
            let connected = requirements(for: keys).flatMap(\.allKeys)
            keys.formUnion(connected.filter(pending.contains))
            keys.formUnion(pending.keys(assignedWith: keys))
            if keys.count == count { return keys }
        }
    }

    /// Whether the requirements are met after a commit that saves pending writes: another value may have been stored since they
    /// were assigned.
    private func areRequirementsMet(by flush: PendingWrites.Flush, over transaction: StoreTransaction) -> Bool {
        let requirements = requirements(for: flush.entries.keys)
        guard !requirements.isEmpty else { return true }
        let held = checkedHeldValues
        let values = { (key: String) in flush.value(forKey: key) ?? held[key] ?? transaction[key] }
        return CheckScope.run { requirements.allSatisfy { $0.error(of: values) == nil } }
    }

    /// Drops pending writes, unless they are newer than a version.
    ///
    /// - Parameters:
    ///   - writes: The writes.
    ///   - version: The version of the newest ones to drop.
    ///   - isChecked: Whether the caller checks the requirements afterwards.
    /// - Returns: The error to report; `nil` if another thread has dropped or saved the writes otherwise.
    func drop(
        _ writes: UnmetWrites,
        upTo version: PendingWrites.Version,
        isChecked: Bool = false
    ) -> SettingsError? {
        let dropped = writes.keys.map { drop($0, upTo: version) }
        for case var delivery? in dropped {
            if isChecked { delivery.isCheckDue = false }
            delivery.perform()
        }
        guard case .some? = dropped.last else { return nil }
        var error = writes.error
        error.key = writes.key
        error.consequence = "the assigned value is not saved, and the stored value remains as it is"
        return error
    }
}

/// Ends a commit that begins again after a check.
private struct UncheckedChangeError: Error {}

/// Pending writes that were assigned together, and cannot be saved.
struct UnmetWrites {
    /// The key of the setting to name.
    var key: String?
    /// See ``PendingWrites/keys(assignedWith:)``.
    var keys: [String]
    var error: SettingsError
}

extension SettingsError.Code {
    /// Whether the same write may succeed later.
    var isRetryable: Bool { !isRejection && ![.suiteFinished, .requirementNotMet].contains(self) }

    /// Whether the store never accepts the values, at least not together.
    var isRejection: Bool {
        // The last one is a code of StoredSettingsEtcd, which this module does not import.
        let tooLarge = Self("transactionTooLarge")
        return [.unstorable, .invalidKey, .validationFailed, .typeMismatch, .invalidValue, tooLarge].contains(self)
    }
}
