// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "An assignment is based on the value that it replaces".

import StoredSettings

/// The task that sends pending assignments, one batch after the other, until there are none.
struct AssignmentSender {
    private let replica: Replica
    private let committer: ReplicaCommitter

    /// The longest time between two attempts, in seconds.
    private static let longestPause = 5.0

    init(_ replica: Replica) {
        self.replica = replica
        committer = ReplicaCommitter(replica)
    }

    /// Sends everything that is pending, and waits for a server if there is none.
    func run() async {
        var pause = 0.1
        while !Task.isCancelled, let batch = replica.update({ $0.pending.begin() }) {
            do {
                try await send(batch)
                pause = 0.1
            } catch {
                let error = SettingsError.wrapping(error, as: .writeFailed)
                guard !Task.isCancelled, !replica.peek({ $0.isClosed }) else {
                    replica.update { $0.pending.interrupt() }
                    return
                }
                if error.code == .transactionTooLarge {
                    drop(batch, because: error)
                    continue
                }
                replica.update { state in
                    state.pending.interrupt()
                    state.sendingFailed(error)
                }
                await replica.pause(pause * Double.random(in: 0.5...1))
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    private func send(_ batch: PendingAssignments.Batch) async throws {
        var attempt = 0
        while true {
            let base = try await committer.base()
            // The revisions that were unknown when the assignment was made are known now.
            guard let batch = replica.update({ $0.pending.begin() }) else { return }
            // A process that takes over the batch after it was sent has to notice what was written since.
            try replica.saveChangedBatches()
            if replica.peek({ $0.isOvertaken(batch) }) { return end(batch, isStored: false) }
            let changes = batch.edits.compactMap { key, value in
                base.values[key] == value ? nil : StoreChange(key: key, old: base.values[key], new: value)
            }
            switch try await committer.send(changes, on: base, attempt: attempt) {
            case .committed(let id, let revision):
                if let revision {
                    replica.update { state in
                        state.confirm(id, changes, at: revision, since: base.start, isAssignment: true)
                    }
                }
                return end(batch, isStored: true, at: revision)
            case .unchanged: return end(batch, isStored: true)
            case .overtaken: break
            case .notSent(let error), .refused(let error): throw SettingsError(error, .assignmentsWait)
            }
            attempt += 1
        }
    }

    private func end(_ batch: PendingAssignments.Batch, isStored: Bool, at revision: Int64? = nil) {
        replica.endBatch(batch) { $0.end(batch, isStored: isStored, at: revision) }
    }

    private func drop(_ batch: PendingAssignments.Batch, because error: SettingsError) {
        var error = error
        error.key = batch.edits.keys.sorted().first
        error.consequence = "the assigned value is not saved, and the stored value remains as it is"
        replica.endBatch(batch) { state in
            state.end(batch, isStored: true)
            state.effects.errors.append(error)
            state.noteDropped(batch, error)
        }
    }
}
