// SPDX-License-Identifier: Apache-2.0

/// Assignments that could not be saved yet.
///
/// They lie over what the store holds, for readers and for subscribers, until a commit takes them along.
struct UnsavedChanges {
    typealias Version = UInt64

    struct Entry {
        var value: StoredValue?
        var version: Version
    }

    private var entries: [String: Entry] = [:]
    private var version: Version = 0
    /// The version up to which the commit that is under way takes entries along.
    private var flushing: Version = 0

    /// Whether a retry is under way; there is one at a time.
    var isRetryScheduled: Bool {
        get { retryMark == Forks.count + 1 }
        set { retryMark = newValue ? Forks.count + 1 : 0 }
    }

    /// As in ``ScheduledFlag``: a forked child has no thread that would do what the parent has scheduled.
    private var retryMark = 0
    private var retryDelay = UnsavedChanges.firstRetryDelay

    /// In seconds.
    private static let firstRetryDelay = 0.1
    private static let longestRetryDelay = 2.0

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    func contains(_ key: String) -> Bool { entries[key] != nil }

    func value(forKey key: String, over stored: StoredValue?) -> StoredValue? {
        guard let entry = entries[key] else { return stored }
        return entry.value
    }

    func applied(to contents: [String: StoredValue]) -> [String: StoredValue] {
        entries.reduce(into: contents) { $0[$1.key] = $1.value.value }
    }

    mutating func keep(_ value: StoredValue?, forKey key: String) {
        version += 1
        entries[key] = Entry(value: value, version: version)
    }

    /// How many seconds to wait before the next retry; `nil` when none is needed, or one is on its way.
    mutating func nextRetry() -> Double? {
        guard !isEmpty, !isRetryScheduled else { return nil }
        isRetryScheduled = true
        defer { retryDelay = min(retryDelay * 2, Self.longestRetryDelay) }
        return retryDelay
    }

    /// What the commit that begins now takes along.
    mutating func beginFlush() -> (edits: [String: StoredValue?], version: Version) {
        flushing = version
        return (entries.mapValues(\.value), version)
    }

    /// The keys of what a commit has taken along.
    func keys(upTo version: Version) -> [String] {
        entries.filter { $0.value.version <= version }.keys.sorted()
    }

    /// Forgets what has been taken along under a key.
    ///
    /// - Returns: What is forgotten; `nil` when nothing is.
    mutating func remove(_ key: String, upTo version: Version) -> Entry? {
        guard let entry = entries[key], entry.version <= version else { return nil }
        entries[key] = nil
        if entries.isEmpty { retryDelay = Self.firstRetryDelay }
        return entry
    }

    /// What those see who saw one value and see another now, if it is another.
    static func change(ofKey key: String, from old: StoredValue?, to new: StoredValue?) -> StoreChange? {
        // What is unsaved has its own form still, where a store may give back the text that stands for it.
        guard old != new, old?.storedAsJSON != new?.storedAsJSON else { return nil }
        return StoreChange(key: key, old: old, new: new)
    }

    /// What a commit changes for those who see the unsaved values over the stored ones.
    ///
    /// What somebody else stores under an unsaved key stays hidden. What this process commits takes the entry's place.
    mutating func masking(_ commit: StoreCommit) -> (commit: StoreCommit, isOverlayChanged: Bool) {
        guard !entries.isEmpty else { return (commit, false) }
        var isOverlayChanged = false
        var visible = commit
        visible.changes = commit.changes.compactMap { change in
            guard let entry = entries[change.key] else { return change }
            guard commit.origin == .local, remove(change.key, upTo: flushing) != nil else { return nil }
            isOverlayChanged = true
            return Self.change(ofKey: change.key, from: entry.value, to: change.new)
        }
        return (visible, isOverlayChanged)
    }
}
