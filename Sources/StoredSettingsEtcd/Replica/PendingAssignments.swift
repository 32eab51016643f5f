// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "An assignment is based on the value that it replaces".

import StoredSettings

/// The assignments that no server has acknowledged, in batches that are sent one after the other.
struct PendingAssignments {
    /// Assignments that are stored together or not at all.
    struct Batch: Hashable, Sendable {
        let id: String
        fileprivate(set) var edits: [String: StoredValue?]
        /// For each key, the revision of the value that the assignment replaces; `nil` while it is unknown.
        fileprivate(set) var bases: [String: Int64?]

        init(id: String, edits: [String: StoredValue?], bases: [String: Int64?]) {
            (self.id, self.edits, self.bases) = (id, edits, bases)
        }
    }

    private(set) var batches: [Batch] = []
    /// Whether the first batch is being sent.
    private var isSending = false
    /// The number of batches that contain a key.
    private var counts: [String: Int] = [:]

    var isEmpty: Bool { batches.isEmpty }

    func contains(_ key: String) -> Bool { counts[key] != nil }

    /// Adds assignments.
    ///
    /// They replace those of a batch with the same keys that is not being sent, unless a later batch has one of the keys.
    ///
    /// - Returns: The batch that contains them.
    mutating func add(_ edits: [String: StoredValue?], _ bases: [String: Int64?]) -> Batch {
        let first = isSending ? 1 : 0
        if let index = batches.lastIndex(where: { batch in edits.keys.contains { batch.edits.keys.contains($0) } }),
            index >= first, Set(batches[index].edits.keys) == Set(edits.keys)
        {
            batches[index].edits = edits
            return batches[index]
        }
        let batch = Batch(id: CommitLog.makeID(), edits: edits, bases: bases)
        append(batch)
        return batch
    }

    mutating func append(_ batch: Batch) {
        batches.append(batch)
        for key in batch.edits.keys { counts[key, default: 0] += 1 }
    }

    /// Determines the revisions that were unknown.
    mutating func fillBases(_ revision: (String) -> Int64) {
        for index in batches.indices {
            for (key, base) in batches[index].bases where base == nil {
                batches[index].bases.updateValue(revision(key), forKey: key)
            }
        }
    }

    /// Returns the first batch, which does not change until it ends or is interrupted.
    mutating func begin() -> Batch? {
        guard let first = batches.first else { return nil }
        isSending = true
        return first
    }

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
        for (key, value) in batch.edits {
            let count = (counts[key] ?? 1) - 1
            counts[key] = count > 0 ? count : nil
            // A later assignment of the same process replaces this one.
            guard let revision = base(key, value),
                let index = batches.firstIndex(where: { $0.edits.keys.contains(key) })
            else { continue }
            batches[index].bases.updateValue(revision, forKey: key)
        }
    }
}
