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
        /// Whether the stored value was checked.
        ///
        /// Otherwise it is used as soon as it is found to meet all requirements.
        var isChecked: Bool
    }

    private(set) var entries: [String: Entry] = [:]
    /// The keys of all requirements.
    private(set) var restricted: Set<String> = []
    /// Changes with everything that the result of a check depends on.
    private(set) var version: UInt64 = 0
    /// Whether the requirements have to be checked.
    private(set) var isCheckDue = false
    /// The number of commits that have begun.
    private var commits: UInt64 = 0
    /// Whether the current commit checks the requirements, and no other check has ended since it began.
    private var isCommitChecked = false
    /// The stored values that the current commit assigns again, so that pending writes and values in use instead of them end.
    private(set) var reassigned: [String: StoredValue?] = [:]
    /// The keys that others have changed since the current commit began; `nil` without one.
    private var changedMeanwhile: Set<String>?
    /// The errors that were reported, by the requirement.
    private var reports: [Requirement.ID: SettingsError] = [:]

    var progress: CheckProgress { CheckProgress(word: version << 1 | (isCheckDue ? 1 : 0)) }

    /// Whether there are requirements.
    var isRestricting: Bool { !restricted.isEmpty }

    func value(forKey key: String, over stored: StoredValue?) -> StoredValue? {
        guard let entry = entries[key] else { return stored }
        return entry.used
    }

    func applied(to contents: [String: StoredValue]) -> [String: StoredValue] {
        entries.reduce(into: contents) { $0[$1.key] = $1.value.used }
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
    /// - Parameter isAnyPending: Whether the value of a requirement is a pending write.
    mutating func noteLocalChange(besidePending isAnyPending: Bool) {
        version += 1
        if !isCommitChecked || isAnyPending || !entries.isEmpty || !reports.isEmpty { isCheckDue = true }
    }

    /// - Returns: The number of the commit.
    mutating func beginCommit(isChecked: Bool) -> UInt64 {
        commits += 1
        (isCommitChecked, reassigned, changedMeanwhile) = (isChecked, [:], [])
        return commits
    }

    /// Ends the check of the current commit, when it is recorded.
    mutating func endCheckedCommit() {
        isCommitChecked = false
    }

    /// Ends a commit that has begun, unless another one has begun since.
    ///
    /// The record of another commit must not use what a failed one has noted.
    mutating func endCommit(_ commit: UInt64) {
        guard commit == commits else { return }
        (isCommitChecked, reassigned, changedMeanwhile) = (false, [:], nil)
    }

    /// Notes that a value has become visible that was never checked together with the others.
    ///
    /// - Parameter keys: The keys that may have changed; nothing happens if no requirement concerns them.
    mutating func noteUncheckedChange(ofKeys keys: Set<String>) {
        if !restricted.isDisjoint(with: keys) { (version, isCheckDue) = (version + 1, true) }
    }

    /// Notes the stored values that the current commit assigns again.
    ///
    /// For the store, they do not change. So the record of the commit does not contain them.
    mutating func noteReassigned(_ values: [String: StoredValue?]) {
        // A newer value from outside remains stored.
        reassigned = values.filter { changedMeanwhile?.contains($0.key) != true }
    }

    /// Notes that others have changed a value, which the current commit does not assign again then.
    mutating func noteChangeFromOutside(ofKey key: String) {
        changedMeanwhile?.insert(key)
        reassigned[key] = nil
    }

    /// Whether the store has recorded nothing for a commit that has noted values.
    func isUnrecorded(_ commit: UInt64) -> Bool { commit == commits && !reassigned.isEmpty }

    /// The stored values that the current commit assigns again, as changes from each value to itself.
    mutating func takeReassigned() -> [StoreChange] {
        defer { reassigned = [:] }
        return reassigned.map { StoreChange(key: $0, old: $1, new: $1) }
    }

    /// Uses the new value of this process, and holds one from outside.
    ///
    /// - Parameters:
    ///   - change: A change of the store.
    ///   - origin: Its origin.
    ///   - seen: The value that readers have seen before, which is used until the new one is checked.
    /// - Returns: Whether the table has changed.
    mutating func record(_ change: StoreChange, _ origin: SettingChangeOrigin, seen: StoredValue?) -> Bool {
        guard restricted.contains(change.key) else { return false }
        let isReplaced = entries.removeValue(forKey: change.key) != nil
        guard origin == .external else {
            // A stored value that was not used before.
            if isReplaced, change.old == change.new { noteUncheckedChange(ofKeys: [change.key]) }
            return isReplaced
        }
        isCheckDue = true
        guard PendingWrites.change(ofKey: change.key, from: seen, to: change.new) != nil else { return isReplaced }
        entries[change.key] = Entry(used: seen, isChecked: false)
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
        entries = used.mapValues { Entry(used: $0, isChecked: true) }
        (version, isCheckDue) = (version + 1, false)
        // The current commit was checked with values that may have changed before this check.
        isCommitChecked = false
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
