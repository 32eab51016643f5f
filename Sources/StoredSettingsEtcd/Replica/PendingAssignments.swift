// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "An assignment is based on the value that it replaces".

import StoredSettings

/// The assignments that no server has acknowledged, in batches that are sent one after the other.
struct PendingAssignments {
    /// Assignments that are stored together or not at all.
    struct Batch: Hashable, Sendable {
        let id: String
        /// The queue to which the batch was added first.
        let origin: String
        /// The queues that have taken over the batch, so that their own assignments follow it.
        var adopters: Set<String> = []
        fileprivate(set) var edits: [String: StoredValue?]
        /// For each key, the revision of the value that the assignment replaces; `nil` while it is unknown.
        fileprivate(set) var bases: [String: Int64?]
        /// The cluster of these revisions; `nil` while they are unknown.
        fileprivate(set) var clusterID: UInt64?

        init(
            id: String,
            origin: String,
            adopters: Set<String> = [],
            edits: [String: StoredValue?],
            bases: [String: Int64?],
            clusterID: UInt64?
        ) {
            (self.id, self.origin, self.adopters) = (id, origin, adopters)
            (self.edits, self.bases, self.clusterID) = (edits, bases, clusterID)
        }

        /// Whether the process that has made a later batch knew this one.
        func isKnown(to later: Batch) -> Bool { origin == later.origin || adopters.contains(later.origin) }
    }

    /// The identifier of this queue.
    let id = CommitLog.makeID()
    private(set) var batches: [Batch] = []
    /// Whether the first batch is being sent.
    private var isSending = false
    /// The number of batches that contain a key.
    private var counts: [String: Int] = [:]
    /// The batches whose bases have changed since they were stored on the disk.
    private var changed: Set<String> = []

    var isEmpty: Bool { batches.isEmpty }

    func contains(_ key: String) -> Bool { counts[key] != nil }

    /// Adds assignments.
    ///
    /// They replace those of a batch of this process with the same keys that is not being sent, unless a later batch has one of the keys.
    ///
    /// - Returns: The batch that contains them.
    mutating func add(
        _ edits: [String: StoredValue?],
        _ bases: [String: Int64?],
        of clusterID: UInt64? = nil
    ) -> Batch {
        let first = isSending ? 1 : 0
        if let index = batches.lastIndex(where: { batch in edits.keys.contains { batch.edits.keys.contains($0) } }),
            index >= first, batches[index].origin == id, Set(batches[index].edits.keys) == Set(edits.keys)
        {
            batches[index].edits = edits
            return batches[index]
        }
        let batch = Batch(id: CommitLog.makeID(), origin: id, edits: edits, bases: bases, clusterID: clusterID)
        append(batch)
        return batch
    }

    mutating func append(_ batch: Batch) {
        batches.append(batch)
        for key in batch.edits.keys { counts[key, default: 0] += 1 }
    }

    /// Returns the first batch, which does not change until it ends or is interrupted.
    mutating func begin() -> Batch? {
        guard let first = batches.first else { return nil }
        isSending = true
        return first
    }

    /// Lets the first batch be changed again, because it could not be sent.
    mutating func interrupt() { isSending = false }

    /// Removes the first batch.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - base: Returns the revision on which a later assignment of a key is based; `nil` if that does not change.
    mutating func end(_ batch: Batch, base: (String, StoredValue?) -> Int64?) {
        guard batches.first?.id == batch.id else { return }
        isSending = false
        batches.removeFirst()
        changed.remove(batch.id)
        for (key, value) in batch.edits {
            let count = (counts[key] ?? 1) - 1
            counts[key] = count > 0 ? count : nil
            guard count > 0, let revision = base(key, value) else { continue }
            // A later assignment replaces this one if its process knew this one.
            for index in batches.indices where batches[index].edits.keys.contains(key) {
                if batch.isKnown(to: batches[index]) { setBase(revision, ofKey: key, index) }
            }
        }
    }

    // MARK: - Bases

    /// The keys of assignments whose bases are unknown.
    var keysWithoutBase: Set<String> {
        Set(batches.flatMap { $0.bases.filter { $0.value == nil }.keys })
    }

    /// Determines the revisions that were unknown.
    mutating func fillBases(of clusterID: UInt64? = nil, _ revision: (String) -> Int64) {
        for index in batches.indices {
            for (key, base) in batches[index].bases where base == nil {
                setBase(revision(key), ofKey: key, index)
                batches[index].clusterID = clusterID
            }
        }
    }

    /// Bases assignments on a commit of this process that was stored while they were made.
    ///
    /// - Parameters:
    ///   - key: The key that the commit has changed.
    ///   - earlier: The revision of its value before the commit.
    ///   - revision: The revision of its value now.
    mutating func rebase(_ key: String, from earlier: Int64, to revision: Int64) {
        guard contains(key) else { return }
        for index in batches.indices where batches[index].bases[key] == .some(earlier) {
            setBase(revision, ofKey: key, index)
        }
    }

    private mutating func setBase(_ revision: Int64, ofKey key: String, _ index: Int) {
        batches[index].bases.updateValue(revision, forKey: key)
        changed.insert(batches[index].id)
    }

    /// Returns the batches whose bases have changed since the last call.
    mutating func takeChanged() -> [Batch] {
        guard !changed.isEmpty else { return [] }
        defer { changed = [] }
        return batches.filter { changed.contains($0.id) }
    }

    /// Adds batches to the result of the next ``takeChanged()``.
    mutating func noteChanged(_ batches: [Batch]) {
        changed.formUnion(batches.map(\.id))
    }
}
