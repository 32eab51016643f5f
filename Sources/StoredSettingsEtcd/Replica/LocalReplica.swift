// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "The disk has the last replica and the pending assignments".

import StoredSettings

/// The last replica of a suite and its pending assignments, in a file that the processes of a machine share.
///
/// The file is a settings file with a journal. `r/KEY` is the value of a setting, with its revision. `meta` has the revision of
/// the replica. `q/ID` is a batch of assignments with the process that sends it.
final class LocalReplica: Sendable {
    private static let format: StoredValue = 1

    private let file: any SettingsStore
    private let prefix: String
    private let owner: ProcessMark
    private let lastNumber = Locked<Int128>(0)

    /// - Parameters:
    ///   - path: The path of the file.
    ///   - prefix: The prefix of the suite. A file with another prefix is not used.
    init(at path: String, prefix: String) {
        file = LocalStores.file(at: path)
        self.prefix = prefix
        owner = ProcessMark.current
    }

    /// The error that prevents the file from being read, or `nil`.
    var problem: SettingsError? { file.problem }

    func close() {
        file.close()
    }

    // MARK: - The replica

    /// Returns the last replica; `nil` if there is none.
    func load() -> SavedReplica? {
        let contents = file.contents()
        guard let meta = Meta(contents["meta"], prefix: prefix) else { return nil }
        var replica = meta.replica
        for (name, entry) in contents where name.hasPrefix("r/") {
            guard case .array(let parts) = entry, parts.count == 2, let revision = parts[0].revision else { continue }
            let key = String(name.dropFirst(2))
            replica.values[key] = parts[1]
            replica.revisions[key] = revision
        }
        return replica
    }

    /// Stores a replica, unless the file has a newer one of the same cluster.
    func save(_ replica: SavedReplica) throws {
        try file.commit { transaction in
            if let meta = Meta(transaction["meta"], prefix: prefix)?.replica, meta.clusterID == replica.clusterID,
                meta.revision >= replica.revision
            {
                return
            }
            for name in transaction.keys where name.hasPrefix("r/") {
                if replica.values[String(name.dropFirst(2))] == nil { transaction[name] = nil }
            }
            for (key, value) in replica.values {
                transaction["r/\(key)"] = [.integer(Int128(replica.revisions[key] ?? 0)), value]
            }
            transaction["meta"] = Meta(replica: replica, prefix: prefix).stored
        }
    }

    /// What a file says of its replica.
    private struct Meta {
        var replica: SavedReplica
        var prefix: String

        init(replica: SavedReplica, prefix: String) {
            (self.replica, self.prefix) = (replica, prefix)
        }

        init?(_ stored: StoredValue?, prefix: String) {
            guard case .dictionary(let members)? = stored, members["format"] == LocalReplica.format,
                members["prefix"] == .string(prefix), let revision = members["revision"]?.revision,
                let cluster = members["cluster"]?.revision
            else { return nil }
            var head: [UInt8]?
            if case .string(let text)? = members["head"] { head = Array(text.utf8) }
            replica = SavedReplica(
                values: [:],
                revisions: [:],
                revision: revision,
                clusterID: UInt64(bitPattern: cluster),
                head: head,
                headRevision: members["headRevision"]?.revision ?? 0
            )
            self.prefix = prefix
        }

        var stored: StoredValue {
            var members: [String: StoredValue] = [
                "format": LocalReplica.format, "prefix": .string(prefix),
                "revision": .integer(Int128(replica.revision)),
                "cluster": .integer(Int128(Int64(bitPattern: replica.clusterID))),
                "headRevision": .integer(Int128(replica.headRevision)),
            ]
            if let head = replica.head { members["head"] = .string(String(decoding: head, as: UTF8.self)) }
            return .dictionary(members)
        }
    }

    // MARK: - Assignments

    /// Stores a batch.
    ///
    /// It survives the death of the process when this returns.
    func save(_ batch: PendingAssignments.Batch) throws {
        let number = lastNumber.withLock { number in
            number += 1
            return number
        }
        try file.write(Self.stored(batch, owner, number), forKey: "q/\(batch.id)")
    }

    /// Removes a batch that was stored in etcd or dropped.
    func remove(_ batch: PendingAssignments.Batch) throws {
        try file.write(nil, forKey: "q/\(batch.id)")
    }

    /// Makes this process the owner of the batches whose owners have ended.
    ///
    /// - Returns: The batches, oldest first.
    func takeOver() throws -> [PendingAssignments.Batch] {
        guard file.contents().keys.contains(where: { $0.hasPrefix("q/") }) else { return [] }
        return try file.commit { transaction in
            var batches: [(number: Int128, batch: PendingAssignments.Batch)] = []
            for name in transaction.keys where name.hasPrefix("q/") {
                guard let (batch, owner, number) = Self.batch(transaction[name], id: String(name.dropFirst(2))) else {
                    continue
                }
                guard owner == .none || !owner.isRunning else { continue }
                transaction[name] = Self.stored(batch, self.owner, number)
                batches.append((number, batch))
            }
            return batches.sorted { ($0.number, $0.batch.id) < ($1.number, $1.batch.id) }.map(\.batch)
        }
    }

    /// Leaves batches to the next process.
    func release(_ batches: [PendingAssignments.Batch]) throws {
        guard !batches.isEmpty else { return }
        try file.write { transaction in
            for (number, batch) in batches.enumerated() {
                transaction["q/\(batch.id)"] = Self.stored(batch, .none, Int128(number))
            }
        }
    }

    private static func stored(
        _ batch: PendingAssignments.Batch,
        _ owner: ProcessMark,
        _ number: Int128
    ) -> StoredValue {
        let values = batch.edits.compactMapValues { $0 }
        let removed = batch.edits.filter { $0.value == nil }.keys.sorted()
        let bases = batch.bases.compactMapValues { $0 }
        return .dictionary([
            "owner": .array([.integer(Int128(owner.process)), .integer(Int128(owner.start))]),
            "number": .integer(number),
            "set": .dictionary(values),
            "remove": .array(removed.map(StoredValue.string)),
            "bases": .dictionary(bases.mapValues { .integer(Int128($0)) }),
        ])
    }

    private static func batch(
        _ stored: StoredValue?,
        id: String
    ) -> (PendingAssignments.Batch, owner: ProcessMark, number: Int128)? {
        guard case .dictionary(let members)? = stored, case .dictionary(let values)? = members["set"],
            case .array(let removed)? = members["remove"], case .dictionary(let bases)? = members["bases"],
            case .array(let owner)? = members["owner"], owner.count == 2,
            case .integer(let process) = owner[0], case .integer(let start) = owner[1],
            case .integer(let number)? = members["number"]
        else { return nil }
        var edits: [String: StoredValue?] = values
        for case .string(let key) in removed { edits.updateValue(nil, forKey: key) }
        var known: [String: Int64?] = [:]
        for key in edits.keys { known.updateValue(bases[key]?.revision, forKey: key) }
        let mark = ProcessMark(process: UInt64(clamping: process), start: UInt64(clamping: start))
        return (PendingAssignments.Batch(id: id, edits: edits, bases: known), mark, number)
    }
}

extension StoredValue {
    /// The value as a revision; `nil` for another kind.
    fileprivate var revision: Int64? {
        if case .integer(let number) = self { Int64(exactly: number) } else { nil }
    }
}

/// A replica as it is stored on the disk.
struct SavedReplica: Hashable, Sendable {
    var values: [String: StoredValue]
    /// The revisions of the last changes of the values.
    var revisions: [String: Int64]
    var revision: Int64
    var clusterID: UInt64
    /// The bytes of the head, and the revision of its last change.
    var head: [UInt8]?
    var headRevision: Int64
}

extension SavedReplica {
    /// Creates the form of a replica that is stored on the disk.
    ///
    /// - Parameters:
    ///   - state: The replica; without contents, the result is `nil`.
    ///   - layout: The keys in etcd.
    init?(_ state: ReplicaState, _ layout: ReplicaLayout) {
        guard state.hasContents, let clusterID = state.clusterID else { return nil }
        var known: [String: Int64] = [:]
        for key in state.stored.keys { known[key] = state.revisions[layout.name(ofKey: key)] }
        self.init(
            values: state.stored,
            revisions: known,
            revision: state.revision,
            clusterID: clusterID,
            head: state.headBytes,
            headRevision: state.headRevision
        )
    }
}
