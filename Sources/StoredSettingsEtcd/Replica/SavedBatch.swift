// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "The disk has the last replica and the pending assignments".

import StoredSettings

/// A batch of assignments as it is stored on the disk.
struct SavedBatch {
    var batch: PendingAssignments.Batch
    /// The prefix of the suite.
    var prefix: String
    /// The process that sends the batch.
    var owner: ProcessMark
    /// The place of the batch among those of all processes.
    var number: Int64

    init(batch: PendingAssignments.Batch, prefix: String, owner: ProcessMark, number: Int64) {
        (self.batch, self.prefix, self.owner, self.number) = (batch, prefix, owner, number)
    }

    /// Creates a batch from a value of the file; `nil` if it is not one.
    init?(_ stored: StoredValue?, id: String) {
        guard case .dictionary(let members)? = stored, case .dictionary(let values)? = members["set"],
            case .array(let removed)? = members["remove"], case .dictionary(let bases)? = members["bases"],
            case .array(let owner)? = members["owner"], owner.count == 2,
            case .integer(let process) = owner[0], case .integer(let start) = owner[1],
            case .string(let prefix)? = members["prefix"], case .string(let origin)? = members["origin"],
            case .array(let adopters)? = members["adopters"], let number = members["number"]?.revision
        else { return nil }
        var edits: [String: StoredValue?] = values
        for case .string(let key) in removed { edits.updateValue(nil, forKey: key) }
        var known: [String: Int64?] = [:]
        for key in edits.keys { known.updateValue(bases[key]?.revision, forKey: key) }
        batch = PendingAssignments.Batch(
            id: id,
            origin: origin,
            adopters: Set(adopters.compactMap { if case .string(let queue) = $0 { queue } else { nil } }),
            edits: edits,
            bases: known,
            clusterID: members["cluster"]?.clusterID
        )
        self.owner = ProcessMark(process: UInt64(clamping: process), start: UInt64(clamping: start))
        (self.prefix, self.number) = (prefix, number)
    }

    var stored: StoredValue {
        let removed = batch.edits.filter { $0.value == nil }.keys.sorted()
        let bases = batch.bases.compactMapValues { $0 }
        var members: [String: StoredValue] = [
            "prefix": .string(prefix),
            "origin": .string(batch.origin),
            "adopters": .array(batch.adopters.sorted().map(StoredValue.string)),
            "owner": .array([.integer(Int128(owner.process)), .integer(Int128(owner.start))]),
            "number": .integer(Int128(number)),
            "set": .dictionary(batch.edits.compactMapValues { $0 }),
            "remove": .array(removed.map(StoredValue.string)),
            "bases": .dictionary(bases.mapValues { .integer(Int128($0)) }),
        ]
        if let clusterID = batch.clusterID { members["cluster"] = .integer(Int128(clusterID)) }
        return .dictionary(members)
    }
}

extension StoredValue {
    /// The value as a revision, or as another number that another one can follow; `nil` for another value.
    var revision: Int64? {
        guard case .integer(let number) = self, let revision = Int64(exactly: number) else { return nil }
        return 0..<Int64.max ~= revision ? revision : nil
    }

    /// The value as the identifier of a cluster; `nil` for another value.
    var clusterID: UInt64? {
        if case .integer(let number) = self { UInt64(exactly: number) } else { nil }
    }
}
