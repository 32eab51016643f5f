// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A change from outside is used when its requirements are met".

/// The stored values that are not used because they do not meet a requirement, with the values that are used instead.
///
/// Readers and subscribers see the values of this table in place of the stored ones, beneath the pending writes. A change by
/// another process is held until its requirements were checked, which happens under no lock.
struct HeldValues {
    /// The value that is used instead of the stored one.
    struct Entry {
        var used: StoredValue?
        /// What readers see, which is a pending write that the stored value has ended until that value is checked.
        var seen: StoredValue?
        /// Whether the stored value was checked.
        ///
        /// Otherwise it is used as soon as it is found to meet all requirements.
        var isChecked: Bool
    }

    /// What a commit has noted for its record.
    struct Commit {
        /// Whether it checks the requirements, and no other check has ended since its body began.
        fileprivate(set) var isChecked = false
        /// The stored values that it assigns again, as changes from each value to itself.
        fileprivate(set) var reassigned: [StoreChange] = []
        /// The keys that others have changed since it began.
        fileprivate var changedMeanwhile: Set<String> = []
    }

    private(set) var entries: [String: Entry] = [:]
    /// The keys of all requirements.
    private(set) var restricted: Set<String> = []
    /// Changes with everything that the result of a check depends on.
    private(set) var version: UInt64 = 0
    /// Whether the requirements have to be checked.
    private(set) var isCheckDue = false
    /// Whether values may have been set since the last check that are no changes: the contents were read again as a whole.
    private(set) var hasGap = false
    /// The commits that have begun, until their records or their failures, by the thread.
    private var commits: [UInt: Commit] = [:]
    /// The errors that were reported, by the requirement.
    private var reports: [Requirement.ID: SettingsError] = [:]

    var progress: CheckProgress { CheckProgress(word: version << 1 | (isCheckDue ? 1 : 0)) }

    /// Whether there are requirements.
    var isRestricting: Bool { !restricted.isEmpty }

    func value(forKey key: String, over stored: StoredValue?) -> StoredValue? {
        guard let entry = entries[key] else { return stored }
        return entry.seen
    }

    /// The value that is used while the stored one does not meet a requirement, without pending writes.
    func usedValue(forKey key: String, over stored: StoredValue?) -> StoredValue? {
        guard let entry = entries[key] else { return stored }
        return entry.used
    }

    func applied(to contents: [String: StoredValue]) -> [String: StoredValue] {
        entries.reduce(into: contents) { $0.assign($1.value.seen, toKey: $1.key) }
    }

    /// The values that are used instead of stored ones that were checked.
    var checked: [String: StoredValue?] {
        entries.filter(\.value.isChecked).mapValues(\.used)
    }

    /// Adds the keys of a requirement, which is checked before the next read.
    mutating func restrict(_ keys: Set<String>) {
        restricted.formUnion(keys)
        noteUncheckedChange(ofKeys: keys)
    }

    /// Notes that a value of this process has changed, which may meet a requirement that was not met before.
    ///
    /// - Parameters:
    ///   - isChecked: Whether the change was checked together with all other values.
    ///   - isAnyPending: Whether the value of a requirement is a pending write.
    mutating func noteLocalChange(isChecked: Bool, besidePending isAnyPending: Bool) {
        version += 1
        if !isChecked || isAnyPending || !entries.isEmpty || !reports.isEmpty { isCheckDue = true }
    }

    /// Begins a commit of the current thread.
    mutating func beginCommit() { commits[SystemCalls.currentThread()] = Commit() }

    /// Begins the body of the commit, which can run again.
    mutating func beginBody(isChecked: Bool) { commits[SystemCalls.currentThread()]?.isChecked = isChecked }

    /// Ends the commit of the current thread, which is recorded now or has failed.
    ///
    /// - Returns: The commit; `nil` if the thread makes none, or it was recorded already.
    mutating func endCommit() -> Commit? {
        // What a commit has noted must not be part of another record.
        commits.removeValue(forKey: SystemCalls.currentThread())
    }

    /// Notes that a value has become visible that was never checked together with the others.
    ///
    /// - Parameter keys: The keys that may have changed; nothing happens if no requirement concerns them.
    mutating func noteUncheckedChange(ofKeys keys: Set<String>) {
        if !restricted.isDisjoint(with: keys) { (version, isCheckDue) = (version + 1, true) }
    }

    /// Notes the stored values that the current commit assigns again, which the store does not record as changes.
    ///
    /// Their pending writes end with the commit, and they are used from then on.
    ///
    /// - Returns: Whether another value is used instead of one of them, so that other processes have to know.
    mutating func noteReassigned(_ changes: [StoreChange]) -> Bool {
        let thread = SystemCalls.currentThread()
        // A newer value from outside remains stored.
        let others = commits[thread]?.changedMeanwhile ?? []
        commits[thread]?.reassigned = changes.filter { !others.contains($0.key) }
            .map { StoreChange(key: $0.key, old: $0.old, new: $0.old) }
        return changes.contains { entries[$0.key] != nil }
    }

    /// Notes that others have changed a value, which the commits that are under way do not assign again then.
    mutating func noteChangeFromOutside(ofKey key: String) {
        for thread in commits.keys {
            commits[thread]?.changedMeanwhile.insert(key)
            commits[thread]?.reassigned.removeAll { $0.key == key }
        }
    }

    /// Notes that the contents were read again, so that a value that is not used may have been set meanwhile.
    mutating func noteGap() {
        guard !entries.isEmpty else { return }
        (version, isCheckDue, hasGap) = (version + 1, true, true)
        for key in entries.keys { entries[key]?.isChecked = false }
    }

    /// Uses the new value of this process, and holds one from outside.
    ///
    /// - Parameters:
    ///   - change: A change of the store.
    ///   - origin: Its origin.
    ///   - used: The value that is used if the new one does not meet the requirements.
    ///   - seen: The value that readers have seen before, and see until the new one is checked.
    /// - Returns: Whether the table has changed.
    mutating func record(
        _ change: StoreChange,
        _ origin: SettingChangeOrigin,
        used: StoredValue?,
        seen: StoredValue?
    ) -> Bool {
        guard restricted.contains(change.key) else { return false }
        let isReplaced = entries.removeValue(forKey: change.key) != nil
        guard origin == .external else {
            // A stored value that was not used before.
            if isReplaced, change.old == change.new { noteUncheckedChange(ofKeys: [change.key]) }
            return isReplaced
        }
        isCheckDue = true
        guard PendingWrites.change(ofKey: change.key, from: seen, to: change.new) != nil else { return isReplaced }
        entries[change.key] = Entry(used: used, seen: seen, isChecked: false)
        return true
    }

    /// Ends a check.
    ///
    /// - Parameters:
    ///   - used: The values that are used instead of the stored ones.
    ///   - errors: The requirements that the stored values do not meet.
    /// - Returns: The errors to report, and the reported ones that are settled.
    mutating func endCheck(
        _ used: [String: StoredValue?],
        _ errors: [Requirement.ID: SettingsError]
    ) -> (new: [SettingsError], settled: [SettingsError]) {
        entries = used.mapValues { Entry(used: $0, seen: $0, isChecked: true) }
        (version, isCheckDue, hasGap) = (version + 1, false, false)
        // A commit that is under way was checked with values that may have changed before this check.
        for thread in commits.keys { commits[thread]?.isChecked = false }
        let new = errors.filter { reports[$0.key] == nil }
        let settled = reports.filter { errors[$0.key] == nil }
        reports = reports.filter { errors[$0.key] != nil }.merging(new) { first, _ in first }
        return (new.values.sorted { $0.fact < $1.fact }, settled.values.sorted { $0.fact < $1.fact })
    }
}

/// What the result of a check of the requirements depends on, and whether one is due.
struct CheckProgress: Equatable {
    let word: UInt64

    var isCheckDue: Bool { word & 1 == 1 }
}
