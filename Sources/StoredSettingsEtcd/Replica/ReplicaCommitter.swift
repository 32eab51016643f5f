// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "A condition on the whole prefix" and "A fence settles a lost answer".

import StoredSettings

/// Sends the changes of a commit, and finds out whether they are stored.
struct ReplicaCommitter {
    /// What a commit is based on.
    struct Base {
        var values: [String: StoredValue]
        var revision: Int64
        var log: CommitLog
        var headBytes: [UInt8]?
        var headRevision: Int64
        var clusterID: UInt64?
    }

    enum Result: Hashable {
        /// The changes are stored.
        ///
        /// - Parameters:
        ///   - id: The identifier of the commit.
        ///   - revision: The revision; `nil` if the replica includes the changes already.
        case committed(CommitLog.ID, at: Int64?)
        /// The contents already had all values.
        case unchanged
        /// Nothing is stored, because the base is no longer the newest state, which the replica now has.
        case overtaken
        /// Nothing is stored, because no server could be reached.
        case notSent(EtcdError)
    }

    /// The maximum number of changes: etcd allows 128 operations, one of which writes the head.
    static let mostChanges = EtcdLimits().operations - 1

    private let replica: Replica

    init(_ replica: Replica) {
        self.replica = replica
    }

    /// The newest contents that the replica knows, once they were compared with those of a server.
    func base() async throws -> Base {
        replica.start()
        if !replica.peek({ $0.isVerified }) { replica.reconnect() }
        let seconds = replica.configuration.timeout.seconds
        guard await replica.wait(for: seconds, until: { $0.isVerified || $0.isClosed }) else {
            throw replica.unavailable(.nothingChanged)
        }
        return try replica.peek { state in
            guard !state.isClosed else { throw SettingsError.storeClosed }
            return Base(
                values: state.stored,
                revision: state.revision,
                log: state.log,
                headBytes: state.headBytes,
                headRevision: state.headRevision,
                clusterID: state.clusterID
            )
        }
    }

    // MARK: - Sending

    /// Stores changes if nothing has changed since the base.
    ///
    /// - Throws: `SettingsError` if the changes cannot be stored, or if it is unknown whether they are.
    func send(_ changes: [StoreChange], on base: Base, attempt: Int) async throws -> Result {
        let layout = replica.layout
        let conditions = [
            EtcdCompare(layout.range, .less, .modRevision(base.revision + 1)),
            EtcdCompare(layout.head, .equal, base.headBytes.map(EtcdCompare.Target.value) ?? .version(0)),
        ]
        // Without an operation, any member would answer from its own state, which may be old.
        let readHead = EtcdOperation.range(EtcdRangeRequest(EtcdKeyRange(key: layout.head)))
        guard !changes.isEmpty else {
            let check = EtcdTransaction(if: conditions, then: [readHead], else: [readHead])
            do throws(EtcdError) {
                let result = try await replica.client.execute(check, isIdempotent: true)
                if result.succeeded, result.header.clusterID == base.clusterID { return .unchanged }
                return try await awaitChanges(with: result, since: base, attempt)
            } catch {
                return try await notSent(error, attempt)
            }
        }
        let id = CommitLog.makeID()
        var operations = try changes.map { change -> EtcdOperation in
            let name = layout.name(ofKey: change.key)
            guard let value = change.new else { return .delete(EtcdKeyRange(key: name)) }
            return .put(name, try ReplicaLayout.bytes(of: value))
        }
        operations.append(.put(layout.head, base.log.adding(id).bytes))
        replica.update { $0.sent.add(id) }
        let result: EtcdTransactionResult
        do throws(EtcdError) {
            let transaction = EtcdTransaction(if: conditions, then: operations, else: [readHead])
            result = try await replica.client.execute(transaction)
        } catch {
            guard error.mayHaveHappened else {
                replica.update { $0.sent.forget(id) }
                return try await notSent(error, attempt)
            }
            return try await settle(id, since: base)
        }
        let isSameCluster = result.header.clusterID == base.clusterID
        if result.succeeded, isSameCluster, result.header.revision > base.revision {
            return .committed(id, at: result.header.revision)
        }
        if !result.succeeded {
            do throws(EtcdError) {
                _ = try await awaitChanges(with: result, since: base, attempt)
            } catch {
                replica.reconnect()
            }
            let (outcome, isProven) = replica.peek { state in
                (state.sent.outcome(of: id), state.clusterID == base.clusterID && state.lastChange > base.revision)
            }
            if isProven, outcome == .unseen {
                replica.update { $0.sent.forget(id) }
                return .overtaken
            }
        }
        // The data were replaced by a backup, or a disturbed connection has delivered the answer to another request.
        return try await settle(id, since: base)
    }

    private func notSent(_ error: EtcdError, _ attempt: Int) async throws -> Result {
        switch error.code {
        case .unavailable, .timedOut, .compacted:
            await backOff(attempt)
            return .notSent(error)
        default: throw SettingsError(error, .nothingChanged)
        }
    }

    // MARK: - After a conflict

    /// How long to wait for the events of another commit before the contents are read again, in seconds.
    private static let patience = 0.25

    private func awaitChanges(
        with result: EtcdTransactionResult,
        since base: Base,
        _ attempt: Int
    ) async throws(EtcdError) -> Result {
        var head: EtcdKeyValue?
        if case .range(let range)? = result.operations.first { head = range.keyValues.first }
        let revision = head?.modRevision ?? 0
        let isOlder =
            result.header.clusterID != base.clusterID || result.header.revision < base.revision
            || revision < base.headRevision
        var isCurrent = false
        if !isOlder {
            isCurrent = await replica.wait(for: Self.patience) { state in
                state.revision > base.revision && state.headRevision >= revision
            }
        }
        if !isCurrent { try await replica.refresh() }
        await backOff(attempt)
        return .overtaken
    }

    /// In seconds.
    private static let shortestPause = 0.001
    private static let longestPause = 0.1

    /// Waits for a random time, which becomes longer with every attempt.
    private func backOff(_ attempt: Int) async {
        guard attempt > 0 else { return }
        let longest = min(Self.longestPause, Self.shortestPause * Double(1 << min(attempt, 10)))
        await replica.pause(Double.random(in: 0...longest))
    }

    // MARK: - After a lost answer

    /// Finds out whether a commit is stored whose answer was lost.
    ///
    /// The fence is a change of the prefix. So a commit that arrives after it fails, and one that has arrived before it is in
    /// the log that is read together with it, or in the events before it.
    private func settle(_ id: CommitLog.ID, since base: Base) async throws -> Result {
        var isCommitted = false
        // A commit is forgotten when it is applied.
        defer { if !isCommitted { replica.update { $0.sent.forget(id) } } }
        let layout = replica.layout
        let readHead = EtcdOperation.range(EtcdRangeRequest(EtcdKeyRange(key: layout.head)))
        let fence = EtcdTransaction(if: [], then: [.put(layout.fence, Array(id.utf8)), readHead])
        let end = ContinuousClock.now + replica.configuration.settlingTime
        var attempt = 0
        while true {
            do throws(EtcdError) {
                let result = try await replica.client.execute(fence, isIdempotent: true)
                let outcome = try await settle(id, since: base, with: result)
                if case .committed(_, .some) = outcome { isCommitted = true }
                return outcome
            } catch {
                guard [.unavailable, .timedOut].contains(error.code), ContinuousClock.now < end, !Task.isCancelled
                else {
                    throw SettingsError.outcomeUnknown(error)
                }
            }
            attempt += 1
            await replica.pause(min(1, 0.02 * Double(1 << min(attempt, 6))))
        }
    }

    private func settle(
        _ id: CommitLog.ID,
        since base: Base,
        with fence: EtcdTransactionResult
    ) async throws(EtcdError) -> Result {
        guard case .range(let range)? = fence.operations.last else {
            throw EtcdError(.malformedResponse, "a transaction has no range")
        }
        let head = range.keyValues.first
        let log = CommitLog(head?.value ?? [])
        // A commit to a cluster whose data were replaced by a backup is lost with them.
        guard fence.header.clusterID == base.clusterID, fence.header.revision > base.revision else {
            try await replica.refresh()
            return log.contains(id) ? .committed(id, at: nil) : .overtaken
        }
        if log.last == id, let head { return .committed(id, at: head.modRevision) }
        if case .committed(let revision) = replica.peek({ $0.sent.outcome(of: id) }) {
            return .committed(id, at: revision)
        }
        let isKnown = !log.contains(id) && log.continues(base.log)
        // The events that the watch has received since decide.
        let seconds = isKnown ? Self.patience : replica.configuration.timeout.seconds
        _ = await replica.wait(for: seconds) { state in
            state.revision >= fence.header.revision || state.sent.outcome(of: id) != .unseen
        }
        if isKnown { return .overtaken }
        if replica.peek({ $0.sent.outcome(of: id) == .unseen && $0.revision < fence.header.revision }) {
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
