// SPDX-License-Identifier: Apache-2.0

/// Assignments that could not be saved yet.
///
/// They lie over what the store holds, for readers and for subscribers, until a commit takes them along.
struct UnsavedChanges {
    typealias Version = UInt64

    private struct Entry {
        var value: StoredValue?
        var version: Version
    }

    private var entries: [String: Entry] = [:]
    private var version: Version = 0
    /// The version up to which the commit that is under way takes entries along.
    private var flushing: Version = 0

    /// Whether a retry is under way; there is one at a time.
    var isRetryScheduled = false
    private var retryDelay = UnsavedChanges.firstRetryDelay

    /// In seconds.
    private static let firstRetryDelay = 0.1
    private static let longestRetryDelay = 2.0

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

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

    /// Forgets what has been taken along.
    ///
    /// - Returns: Whether there was anything to forget.
    mutating func endFlush(_ version: Version) -> Bool {
        let before = entries.count
        entries = entries.filter { $0.value.version > version }
        if entries.isEmpty { retryDelay = Self.firstRetryDelay }
        return entries.count != before
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
            guard commit.origin == .local, entry.version <= flushing else { return nil }
            entries[change.key] = nil
            isOverlayChanged = true
            return entry.value == change.new ? nil : StoreChange(key: change.key, old: entry.value, new: change.new)
        }
        return (visible, isOverlayChanged)
    }
}
