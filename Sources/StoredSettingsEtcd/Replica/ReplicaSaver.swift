// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "The disk has the last replica and the pending assignments".

import StoredSettings
import Synchronization

/// Stores a replica on the disk when it has changed.
final class ReplicaSaver: Sendable {
    /// The delay before the replica is stored, in seconds, so that several changes are stored together.
    private static let delay = 0.5

    private let local: LocalReplica
    private let isScheduled = ProcessFlag()
    private let isFailureReported = Atomic(false)
    /// The revision of the replica on the disk.
    private let savedRevision = Atomic<Int64>(-1)

    init(_ local: LocalReplica) {
        self.local = local
    }

    /// Notes the revision of the replica on the disk.
    func noteSaved(_ revision: Int64) {
        savedRevision.store(revision, ordering: .relaxed)
    }

    /// Stores the replica a little later.
    func saveLater(_ replica: Replica) {
        guard isChanged(replica), isScheduled.set() else { return }
        WorkScheduler.durable.after(Self.delay) {
            self.isScheduled.clear()
            if !replica.peek({ $0.isClosed }) { self.save(replica) }
        }
    }

    private func isChanged(_ replica: Replica) -> Bool {
        replica.peek { $0.isRestored || $0.revision != savedRevision.load(ordering: .relaxed) }
    }

    private func save(_ replica: Replica) {
        let revision = replica.peek { $0.revision }
        do {
            try saveNow(replica)
            isFailureReported.store(false, ordering: .relaxed)
        } catch {
            // The next change is stored again.
            noteSaved(revision)
            if !isFailureReported.exchange(true, ordering: .relaxed) {
                let consequence = "a process that starts without a server uses an older replica"
                replica.perform(ReplicaState.Effects(errors: [.localFailure(error, consequence)]))
            }
        }
    }

    /// Stores the replica if it has changed.
    func saveNow(_ replica: Replica) throws {
        let (contents, isRestored) = replica.peek { (SavedReplica($0, replica.layout), $0.isRestored) }
        guard let contents, isRestored || contents.revision != savedRevision.load(ordering: .relaxed) else { return }
        try local.save(contents, isRestored: isRestored)
        noteSaved(contents.revision)
        var effects = ReplicaState.Effects()
        if isRestored { replica.withState(&effects) { $0.isRestored = false } }
    }
}
