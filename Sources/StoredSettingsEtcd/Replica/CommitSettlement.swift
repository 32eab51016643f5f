// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "A fence settles a lost answer".

import StoredSettings

/// Finds out whether a commit is stored whose answer was lost.
struct CommitSettlement {
    private let id: CommitLog.ID
    private let base: ReplicaCommitter.Base
    private let replica: Replica

    /// - Parameters:
    ///   - id: The identifier of the commit.
    ///   - base: What it is based on.
    ///   - replica: The replica.
    init(of id: CommitLog.ID, since base: ReplicaCommitter.Base, _ replica: Replica) {
        (self.id, self.base, self.replica) = (id, base, replica)
    }

    /// What was read to find out an outcome.
    private struct Evidence {
        var header: EtcdHeader
        var head: EtcdKeyValue?
        /// Whether reading has changed the prefix.
        var isFence: Bool
    }

    /// Finds out whether the commit is stored.
    ///
    /// - Parameter refusal: The error with which etcd has answered, although it may have stored the commit before; `nil` if the
    ///   answer was lost.
    /// - Returns: What has become of the commit.
    /// - Throws: `SettingsError` if that cannot be found out.
    func settle(refused refusal: EtcdError? = nil) async throws -> ReplicaCommitter.Result {
        var isCommitted = false
        // A commit is forgotten when it is applied.
        defer { if !isCommitted { replica.update { $0.sent.forget(id) } } }
        let end = ContinuousClock.now + replica.configuration.settlingTime
        var attempt = 0
        while true {
            do throws(EtcdError) {
                let evidence = refusal == nil ? try await fence() : try await readHead()
                let outcome = try await outcome(with: evidence)
                if case .committed(_, .some) = outcome { isCommitted = true }
                if let refusal, outcome == .overtaken { return .refused(refusal) }
                return outcome
            } catch {
                let isOver = [.closed, .canceled, .otherCluster].contains(error.code)
                guard !isOver, ContinuousClock.now < end, !Task.isCancelled else {
                    throw SettingsError.outcomeUnknown(error)
                }
            }
            attempt += 1
            await replica.pause(min(1, 0.02 * Double(1 << min(attempt, 6))))
        }
    }

    /// Changes the prefix, and reads the head.
    ///
    /// A commit that arrives after the fence fails, and one that has arrived before it is in the log that is read together with
    /// it, or in the events before it.
    private func fence() async throws(EtcdError) -> Evidence {
        let layout = replica.layout
        // Nothing is written into another cluster.
        let clusterID = try await replica.client.range(EtcdRangeRequest(EtcdKeyRange(key: layout.head))).header
            .clusterID
        guard clusterID == base.clusterID || clusterID == replica.peek({ $0.clusterID }) else {
            throw EtcdError(.otherCluster, "the servers belong to another cluster by now")
        }
        let mark = Array(CommitLog.makeID().utf8)
        let names = [layout.fence, layout.head]
        let reads = names.map { EtcdOperation.range(EtcdRangeRequest(EtcdKeyRange(key: $0))) }
        let fence = EtcdTransaction(if: [], then: [.put(layout.fence, mark)] + reads)
        let result = try await replica.client.execute(fence, isIdempotent: true)
        guard result.operations.count == 3, case .range(let own) = result.operations[1],
            case .range(let head) = result.operations[2], own.keyValues.first?.value == mark
        else { throw EtcdError(.malformedResponse, "the answer is that to another transaction") }
        return Evidence(header: result.header, head: head.keyValues.first, isFence: true)
    }

    /// Reads the head after etcd has answered a commit.
    ///
    /// An etcd without space refuses a fence, and needs none: the commit has arrived.
    private func readHead() async throws(EtcdError) -> Evidence {
        let result = try await replica.client.range(EtcdRangeRequest(EtcdKeyRange(key: replica.layout.head)))
        return Evidence(header: result.header, head: result.keyValues.first, isFence: false)
    }

    private func outcome(with evidence: Evidence) async throws(EtcdError) -> ReplicaCommitter.Result {
        let (header, head) = (evidence.header, evidence.head)
        let log = CommitLog(head?.value ?? [])
        // A commit to a cluster whose data were replaced by a backup is lost with them.
        let least = evidence.isFence ? base.revision + 1 : base.revision
        guard header.clusterID == base.clusterID, header.revision >= least else {
            try await replica.refresh()
            return log.contains(id) ? .committed(id, at: nil) : .overtaken
        }
        if log.last == id, let head {
            if head.modRevision > base.revision { return .committed(id, at: head.modRevision) }
            // The revision of a restored backup has grown since.
            try await replica.refresh()
            return .committed(id, at: nil)
        }
        let isKnown = !log.contains(id) && log.continues(base.log)
        let isForked = evidence.isFence && !log.contains(id) && log.isForked(from: base.log)
        if case .committed(let revision) = replica.peek({ $0.sent.outcome(of: id) }) {
            guard isForked || evidence.isFence && isKnown else { return .committed(id, at: revision) }
            // The head that was read after the event does not have the commit: a backup was restored between them.
            replica.update { $0.beginHistory() }
            try await replica.refresh()
            return .overtaken
        }
        if isForked {
            try await replica.refresh()
            return .overtaken
        }
        // The events that the watch has received since decide.
        let seconds = isKnown ? ReplicaCommitter.timeout : replica.configuration.timeout.seconds
        _ = await replica.wait(for: seconds) { state in
            state.revision >= header.revision || state.sent.outcome(of: id) != .unseen
        }
        if isKnown { return .overtaken }
        if replica.peek({ $0.sent.outcome(of: id) == .unseen && $0.revision < header.revision }) {
            try await replica.refresh()
        }
        switch replica.peek({ $0.sent.outcome(of: id) }) {
        case .committed(let revision): return .committed(id, at: revision)
        case .unseen: return .overtaken
        case .lost:
            if log.contains(id) { return .committed(id, at: nil) }
            throw EtcdError(.compacted(nil), "too many later changes hide the outcome")
        }
    }
}
