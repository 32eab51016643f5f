// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "The disk has the last replica and the pending assignments".

import StoredSettings

/// The last replica of a suite and its pending assignments, in a file that the processes of a machine share.
///
/// The file is a settings file with a journal. `r/KEY` is the value of a setting, with its revision. `meta` has the revision of
/// the replica. `q/ID` is a batch of assignments with the prefix of its suite and the process that sends it. `number` is the
/// greatest number of a batch, so that the batches of all processes have an order.
final class LocalReplica: Sendable {
    private static let format: StoredValue = 1

    private let file: any SettingsStore
    private let prefix: String
    private let owner: ProcessMark

    /// - Parameters:
    ///   - path: The path of the file.
    ///   - prefix: The prefix of the suite. A file with another prefix is not used.
    convenience init(at path: String, prefix: String) {
        self.init(LocalStores.file(at: path), prefix: prefix)
    }

    /// - Parameters:
    ///   - file: The store of the file.
    ///   - prefix: The prefix of the suite.
    init(_ file: any SettingsStore, prefix: String) {
        self.file = file
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
    ///
    /// - Parameters:
    ///   - replica: The replica.
    ///   - isRestored: Whether it is that of a restored backup, so that a newer one is lost.
    /// - Throws: `SettingsError` if the file cannot be written.
    func save(_ replica: SavedReplica, isRestored: Bool = false) throws {
        try file.commit { transaction in
            if let meta = Meta(transaction["meta"], prefix: prefix)?.replica, meta.clusterID == replica.clusterID,
                meta.revision >= replica.revision, !isRestored
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
                let clusterID = members["cluster"]?.clusterID
            else { return nil }
            var head: [UInt8]?
            if case .string(let text)? = members["head"] { head = Array(text.utf8) }
            replica = SavedReplica(
                values: [:],
                revisions: [:],
                revision: revision,
                clusterID: clusterID,
                head: head,
                headRevision: members["headRevision"]?.revision ?? 0
            )
            self.prefix = prefix
        }

        var stored: StoredValue {
            var members: [String: StoredValue] = [
                "format": LocalReplica.format, "prefix": .string(prefix),
                "revision": .integer(Int128(replica.revision)),
                "cluster": .integer(Int128(replica.clusterID)),
                "headRevision": .integer(Int128(replica.headRevision)),
            ]
            if let head = replica.head { members["head"] = .string(String(decoding: head, as: UTF8.self)) }
            return .dictionary(members)
        }
    }

    // MARK: - Assignments

    /// Stores batches, after those that the file has already.
    ///
    /// They survive the death of the process when this returns.
    func save(_ batches: [PendingAssignments.Batch]) throws {
        guard !batches.isEmpty else { return }
        try file.commit { save(batches, owner, in: &$0) }
    }

    /// Removes a batch that was stored in etcd or dropped, and stores those whose bases have changed with that.
    func remove(_ batch: PendingAssignments.Batch, changing changed: [PendingAssignments.Batch]) throws {
        try file.commit { transaction in
            transaction["q/\(batch.id)"] = nil
            save(changed, owner, in: &transaction)
        }
    }

    /// Makes this process the owner of the batches of the suite whose owners have ended.
    ///
    /// - Parameter queue: The queue that takes them over.
    /// - Returns: The batches, oldest first.
    /// - Throws: `SettingsError` if the file cannot be written.
    func takeOver(for queue: String) throws -> [PendingAssignments.Batch] {
        guard file.contents().keys.contains(where: { $0.hasPrefix("q/") }) else { return [] }
        return try file.commit { transaction in
            var all: [SavedBatch] = []
            for name in transaction.keys where name.hasPrefix("q/") {
                guard let saved = SavedBatch(transaction[name], id: String(name.dropFirst(2))), saved.prefix == prefix
                else { continue }
                all.append(saved)
            }
            let origins = Set(all.map(\.batch.origin))
            var batches: [SavedBatch] = []
            for var saved in all where saved.owner == .none || !saved.owner.isRunning {
                saved.owner = owner
                // Queues without assignments do not matter any longer.
                saved.batch.adopters = saved.batch.adopters.intersection(origins).union([queue])
                transaction["q/\(saved.batch.id)"] = saved.stored
                batches.append(saved)
            }
            return batches.sorted { ($0.number, $0.batch.id) < ($1.number, $1.batch.id) }.map(\.batch)
        }
    }

    /// Leaves batches to the next process.
    func release(_ batches: [PendingAssignments.Batch]) throws {
        guard !batches.isEmpty else { return }
        try file.commit { save(batches, .none, in: &$0) }
    }

    /// The greatest number of a batch that the file has, or has had.
    private func lastNumber(in transaction: StoreTransaction) -> Int64 {
        if let number = transaction["number"]?.revision { return number }
        let names = transaction.keys.filter { $0.hasPrefix("q/") }
        return names.compactMap { SavedBatch(transaction[$0], id: $0)?.number }.max() ?? 0
    }

    private func save(
        _ batches: [PendingAssignments.Batch],
        _ owner: ProcessMark,
        in transaction: inout StoreTransaction
    ) {
        for batch in batches {
            let name = "q/\(batch.id)"
            let number: Int64
            if let known = SavedBatch(transaction[name], id: batch.id)?.number {
                number = known
            } else {
                number = lastNumber(in: transaction) + 1
                transaction["number"] = .integer(Int128(number))
            }
            transaction[name] = SavedBatch(batch: batch, prefix: prefix, owner: owner, number: number).stored
        }
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
        for key in state.stored.keys { known[key] = state.contents.revision(ofKey: key) }
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
