// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "The watch resumes, or everything is read again".

import StoredSettings

/// The task that connects a replica with etcd: it reads the contents, and then watches them.
final class ReplicaLink: Sendable {
    private let replica: Replica
    private let health = Locked(LinkHealth())

    /// The end of a watch that has missed something.
    private struct MissedEvents: Error {}

    init(_ replica: Replica) {
        self.replica = replica
    }

    /// Keeps the replica connected until the task is canceled.
    func run() async {
        while !Task.isCancelled {
            // A wish that is made from now on ends the pause after this attempt.
            let wishes = replica.connectionWishes.count
            do {
                if try await !resume() { try await replica.refresh() }
                try await follow()
            } catch is MissedEvents {
                _ = endAttempt()
                await pause(after: wishes, for: health.withLock { $0.nextDelay() })
            } catch {
                guard !Task.isCancelled else { break }
                let wasWatching = endAttempt()
                let error = (error as? EtcdError) ?? EtcdError(.unavailable, "the watch has ended")
                if let delay = failed(error, wasWatching: wasWatching) { await pause(after: wishes, for: delay) }
            }
        }
    }

    // MARK: - The connection

    /// Finds out whether the watch can be resumed: not with contents from the disk, whose age is unknown.
    private func resume() async throws(EtcdError) -> Bool {
        guard replica.peek({ $0.isFromServer }) else { return false }
        let head = try await replica.client.range(EtcdRangeRequest(EtcdKeyRange(key: replica.layout.head)))
        return replica.update { $0.verify(with: head) }
    }

    private func connected() {
        let settled = health.withLock { $0.takeReported() }
        guard !settled.isEmpty || replica.peek({ $0.problem != nil }) else { return }
        replica.update { state in
            state.problem = nil
            state.effects.recoveries += settled
        }
    }

    /// Waits before the next attempt, unless a caller has wished for a connection since the last one began.
    private func pause(after wishes: UInt64, for seconds: Double) async {
        await replica.connectionWishes.wait(after: wishes, for: seconds, on: replica.thread)
    }

    /// Notes the end of an attempt.
    ///
    /// - Returns: Whether a watch has ended.
    private func endAttempt() -> Bool {
        let (wasWatching, isDoubtful) = health.withLock { ($0.attemptEnds(), $0.isDoubtful) }
        // Changes arrive all the same, because everything is read before the next watch.
        // The next server can be one of another cluster, on which no commit is based.
        replica.update { isDoubtful ? $0.forgetHistory() : $0.markUnverified() }
        return wasWatching
    }

    /// Notes a failure.
    ///
    /// - Returns: The time until the next attempt, in seconds; `nil` if it begins at once.
    private func failed(_ error: EtcdError, wasWatching: Bool) -> Double? {
        var isUrgent = false
        switch error.code {
        case .compacted, .futureRevision, .responseTooLarge:
            replica.update { $0.markUnverified() }
        case .permissionDenied, .authenticationFailed, .malformedResponse, .rejected, .otherCluster:
            isUrgent = true
        default: break
        }
        if error.code == .otherCluster { replica.client.avoidCurrentServer() }
        if case .compacted = error.code {
            replica.update { $0.forgetHistory() }
            // The contents are read again at once, unless that has not helped, or is what has failed.
            guard !wasWatching || health.withLock({ $0.emptyWatches > 1 }) else { return nil }
        }
        let isKnown = replica.peek { $0.hasContents }
        let problem = SettingsError(error, isKnown ? .replicaUsed : .defaultsUsed)
        let tolerance = replica.configuration.outageTolerance
        let isReported = health.withLock { [isUrgent] health in
            health.failed(problem, isUrgent: isUrgent || !isKnown, tolerance: tolerance, .now)
        }
        replica.update { state in
            state.problem = problem
            if isReported { state.effects.errors.append(problem) }
        }
        return health.withLock { $0.nextDelay() } * Double.random(in: 0.5...1)
    }

    // MARK: - The watch

    /// Watches, and compares the contents with those of a quorum now and then.
    private func follow() async throws {
        health.withLock { $0.watchBegins() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.watch() }
            group.addTask { try await self.compare() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func watch() async throws {
        let start = replica.peek { $0.start }
        try await replica.client.watch(replica.layout.range, from: start.revision + 1) { [self] message in
            guard replica.peek({ $0.restorations == start.restorations }) else { throw MissedEvents() }
            switch message {
            case .created(let header):
                guard replica.peek({ $0.clusterID == header.clusterID }) else { throw MissedEvents() }
                // Either the member lags behind, or a backup was restored, whose next changes the watch would not show.
                if header.revision < start.revision {
                    guard try await resume() else { throw MissedEvents() }
                }
                if health.withLock({ $0.watchCreated() }) { connected() }
            case .events(let events, let header):
                guard try await apply(events, header, start) else {
                    replica.update { $0.forgetHistory() }
                    throw MissedEvents()
                }
                messageArrived()
            // A progress of etcd 3.4 may be sent before events of earlier revisions.
            case .progress: messageArrived()
            }
        }
    }

    private func messageArrived() {
        health.withLock { $0.messageArrived() }
        connected()
    }

    /// Applies the events of a message.
    ///
    /// - Parameters:
    ///   - events: The events.
    ///   - header: The header of the message.
    ///   - start: What the contents were when the watch began.
    /// - Returns: Whether no event is missing.
    /// - Throws: ``MissedEvents`` if the events belong to a history that a backup has replaced.
    private func apply(
        _ events: [EtcdEvent],
        _ header: EtcdHeader,
        _ start: ReplicaState.Start
    ) async throws -> Bool {
        while true {
            let progress: ReplicaState.Progress? = replica.update { state in
                // The events of another history do not continue the contents of a restored backup, also while they wait for
                // the sender of a commit.
                guard state.restorations == start.restorations else { return nil }
                return state.clusterID == header.clusterID ? state.apply(events) : .gap
            }
            switch progress {
            case nil: throw MissedEvents()
            case .applied: return true
            case .gap: return false
            case .own(let id):
                let timeout = replica.configuration.senderTimeout.seconds
                let isApplied = await replica.wait(for: timeout) { !$0.sent.contains(id) }
                if Task.isCancelled { return true }
                if !isApplied { replica.update { $0.sent.abandon(id) } }
            }
        }
    }

    /// Compares the keys and their revisions with those of a quorum at regular intervals.
    ///
    /// This detects a dead connection, and events that were lost.
    private func compare() async throws {
        await replica.pause(min(LinkHealth.leastLifetime, replica.configuration.comparisonInterval.seconds))
        try Task.checkCancellation()
        if health.withLock({ $0.watchLasts() }) { connected() }
        while true {
            await replica.pause(replica.configuration.comparisonInterval.seconds)
            try Task.checkCancellation()
            let range = replica.layout.range
            let start = replica.peek { $0.start }
            let result = try await replica.client.range(EtcdRangeRequest(range, isKeysOnly: true))
            let isSame = await replica.wait(for: replica.configuration.requestTimeout.seconds) { state in
                state.includes(result, since: start)
            }
            try Task.checkCancellation()
            guard isSame else {
                replica.update { $0.forgetHistory() }
                throw MissedEvents()
            }
            messageArrived()
        }
    }
}
