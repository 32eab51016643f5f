// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "A condition on the whole prefix".

import StoredSettings

/// Sends the changes of a commit, and finds out whether they are stored.
struct ReplicaCommitter {
    /// What a commit is based on.
    struct Base {
        var values: [String: StoredValue]
        /// The keys in etcd that are another form of a key, see ``ReplicaContents``.
        var hidden: [String: Set<[UInt8]>]
        var start: ReplicaState.Start
        var log: CommitLog
        var headBytes: [UInt8]?
        var headRevision: Int64
        var clusterID: UInt64?

        var revision: Int64 { start.revision }
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
        /// Nothing is stored, because etcd has refused the commit.
        case refused(EtcdError)
    }

    /// The maximum number of changes: etcd allows 128 operations, one of which writes the head, and one reads it.
    static let mostChanges = EtcdLimits().operations - 2

    /// A commit with its transaction.
    private struct Commit {
        let id: CommitLog.ID
        let base: Base
        /// The head that the commit writes.
        let head: [UInt8]
        let transaction: EtcdTransaction

        /// Whether a result is that of the commit, which was executed.
        ///
        /// What a transaction writes and reads proves that an answer is its own.
        func isExecuted(_ result: EtcdTransactionResult) -> Bool {
            result.succeeded && result.header.clusterID == base.clusterID && result.header.revision > base.revision
                && result.range?.keyValues.first?.value == head
        }
    }

    private let replica: Replica

    init(_ replica: Replica) {
        self.replica = replica
    }

    /// The newest contents that the replica knows, once they were compared with those of a server.
    func base() async throws -> Base {
        replica.start()
        if !replica.peek({ $0.isVerified }) { replica.reconnect() }
        let seconds = replica.configuration.timeout.seconds
        // A person has to act before another cluster is used.
        let isOver = { @Sendable (state: ReplicaState) in
            state.isVerified || state.isClosed || state.problem?.code == .otherCluster
        }
        guard await replica.wait(for: seconds, until: isOver), replica.peek({ $0.isVerified || $0.isClosed }) else {
            throw replica.unavailable(.nothingChanged)
        }
        return try replica.peek { state in
            guard !state.isClosed else { throw SettingsError.storeClosed }
            return Base(state)
        }
    }

    /// The result of ``base()``, if there is nothing to wait for, not even for assignments.
    var baseWithoutWaiting: Base? {
        replica.start()
        return replica.peek { state in
            state.isVerified && !state.isClosed && state.pending.isEmpty ? Base(state) : nil
        }
    }

    // MARK: - Sending

    /// Stores changes if nothing has changed since the base.
    ///
    /// - Throws: `SettingsError` if the changes cannot be stored, or if it is unknown whether they are.
    func send(_ changes: [StoreChange], on base: Base, attempt: Int) async throws -> Result {
        guard !changes.isEmpty else { return try await check(base, attempt) }
        return try await send(try prepare(changes, on: base), attempt)
    }

    /// Stores changes like ``send(_:on:attempt:)``, on the calling thread.
    ///
    /// A task is started only if the transaction cannot be sent there, or its answer is not a success.
    func sendBlocking(_ changes: [StoreChange], on base: consuming Base, attempt: Int) throws -> Result {
        // The tasks below cannot capture the parameter, which is consumed so that its values are not copied when they change.
        let base = base
        let thread = replica.thread
        guard !changes.isEmpty else {
            return try thread.run { try await send(changes, on: base, attempt: attempt) }
        }
        let commit = try prepare(changes, on: base)
        let answer = Swift.Result { () throws(EtcdError) in
            try replica.client.executeBlocking(commit.transaction)
        }
        switch answer {
        case .success(let result?) where commit.isExecuted(result):
            return .committed(commit.id, at: result.header.revision)
        case .success(let result?):
            return try thread.run { try await outcome(of: commit, .success(result), attempt) }
        case .success(nil): return try thread.run { try await send(commit, attempt) }
        case .failure(let error): return try thread.run { try await outcome(of: commit, .failure(error), attempt) }
        }
    }

    /// The conditions under which nothing has changed since the base.
    private func conditions(_ base: Base) -> [EtcdCompare] {
        let layout = replica.layout
        return [
            EtcdCompare(layout.range, .less, .modRevision(base.revision + 1)),
            EtcdCompare(layout.head, .equal, base.headBytes.map(EtcdCompare.Target.value) ?? .version(0)),
        ]
    }

    private var readingHead: EtcdOperation { .range(EtcdRangeRequest(EtcdKeyRange(key: replica.layout.head))) }

    /// Finds out whether the base is the newest state.
    private func check(_ base: Base, _ attempt: Int) async throws -> Result {
        // Without an operation, any member would answer from its own state, which may be old.
        let check = EtcdTransaction(if: conditions(base), then: [readingHead], else: [readingHead])
        do throws(EtcdError) {
            let result = try await replica.client.execute(check, isIdempotent: true)
            // A restored backup can have the same head, and lack values that another program has written.
            let isSameHistory = result.header.clusterID == base.clusterID && result.header.revision >= base.revision
            if result.succeeded, isSameHistory { return .unchanged }
            return try await awaitChanges(with: result, since: base, attempt)
        } catch {
            return try await notSent(error, attempt)
        }
    }

    private func prepare(_ changes: [StoreChange], on base: Base) throws -> Commit {
        let layout = replica.layout
        let id = CommitLog.makeID()
        var operations: [EtcdOperation] = []
        operations.reserveCapacity(changes.count + 2)
        for change in changes {
            let name = layout.name(ofKey: change.key, in: base.values)
            let value = try change.new.map(ReplicaLayout.bytes)
            operations.append(value.map { .put(name, $0) } ?? .delete(EtcdKeyRange(key: name)))
            guard !base.hidden.isEmpty else { continue }
            operations += (base.hidden[change.key] ?? []).map { .delete(EtcdKeyRange(key: $0)) }
        }
        let head = base.log.adding(id).bytes
        operations += [.put(layout.head, head), readingHead]
        replica.note { $0.sent.add(id) }
        let transaction = EtcdTransaction(if: conditions(base), then: operations, else: [readingHead])
        return Commit(id: id, base: base, head: head, transaction: transaction)
    }

    private func send(_ commit: Commit, _ attempt: Int) async throws -> Result {
        let answer: Swift.Result<EtcdTransactionResult, EtcdError>
        do throws(EtcdError) {
            answer = .success(try await replica.client.execute(commit.transaction))
        } catch {
            answer = .failure(error)
        }
        return try await outcome(of: commit, answer, attempt)
    }

    /// Finds out what an answer means for a commit.
    private func outcome(
        of commit: Commit,
        _ answer: Swift.Result<EtcdTransactionResult, EtcdError>,
        _ attempt: Int
    ) async throws -> Result {
        let (id, base) = (commit.id, commit.base)
        let result: EtcdTransactionResult
        do throws(EtcdError) {
            result = try answer.get()
        } catch {
            guard error.mayHaveHappened else {
                replica.update { $0.sent.forget(id) }
                return try await notSent(error, attempt)
            }
            return try await settle(commit, refused: error.code == .noSpace ? error : nil)
        }
        if commit.isExecuted(result) { return .committed(id, at: result.header.revision) }
        if !result.succeeded {
            do throws(EtcdError) {
                _ = try await awaitChanges(with: result, since: base, attempt)
            } catch {
                guard error.code != .otherCluster else { throw refused(commit, error) }
                replica.reconnect()
            }
            guard result.header.clusterID == replica.peek({ $0.clusterID }) else {
                throw refused(commit, EtcdError(.otherCluster, "some of the servers belong to another cluster"))
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
        return try await settle(commit)
    }

    /// The error of a commit that another cluster has not executed.
    private func refused(_ commit: Commit, _ error: EtcdError) -> SettingsError {
        replica.update { $0.sent.forget(commit.id) }
        return SettingsError(error, .nothingChanged)
    }

    private func settle(_ commit: Commit, refused refusal: EtcdError? = nil) async throws -> Result {
        try await CommitSettlement(of: commit.id, since: commit.base, replica).settle(refused: refusal)
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
    static let timeout = 0.25

    private func awaitChanges(
        with result: EtcdTransactionResult,
        since base: Base,
        _ attempt: Int
    ) async throws(EtcdError) -> Result {
        let revision = result.range?.keyValues.first?.modRevision ?? 0
        let isOlder =
            result.header.clusterID != base.clusterID || result.header.revision < base.revision
            || revision < base.headRevision
        var isCurrent = false
        if !isOlder {
            isCurrent = await replica.wait(for: Self.timeout) { state in
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
}

extension EtcdTransactionResult {
    /// The result of the last operation, if it is a range.
    fileprivate var range: EtcdRangeResult? {
        if case .range(let range)? = operations.last { range } else { nil }
    }
}

extension ReplicaCommitter.Base {
    fileprivate init(_ state: ReplicaState) {
        self.init(
            values: state.stored,
            hidden: state.contents.hidden,
            start: state.start,
            log: state.log,
            headBytes: state.headBytes,
            headRevision: state.headRevision,
            clusterID: state.clusterID
        )
    }
}
