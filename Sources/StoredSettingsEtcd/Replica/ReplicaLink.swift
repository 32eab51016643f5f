// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "The watch resumes, or everything is read again".

import StoredSettings

/// The task that connects a replica with etcd: it reads the contents, and then watches them.
struct ReplicaLink {
    private let replica: Replica
    private var firstFailure: ContinuousClock.Instant?
    private var reported: SettingsError?
    private var delay = ReplicaLink.shortestDelay

    /// In seconds.
    private static let shortestDelay = 0.1
    private static let longestDelay = 5.0

    /// The end of a watch that has missed something.
    private struct MissedEvents: Error {}

    init(_ replica: Replica) {
        self.replica = replica
    }

    /// Keeps the replica connected until the task is canceled.
    mutating func run() async {
        while !Task.isCancelled {
            do {
                if try await !resume() { try await replica.refresh() }
                connected()
                try await follow()
            } catch is MissedEvents {
                await replica.pause(Self.shortestDelay)
            } catch {
                guard !Task.isCancelled else { break }
                await failed((error as? EtcdError) ?? EtcdError(.unavailable, "the watch has ended"))
            }
        }
    }

    // MARK: - The connection

    /// Finds out whether the watch can be resumed.
    private func resume() async throws(EtcdError) -> Bool {
        guard replica.peek({ $0.hasContents }) else { return false }
        let head = try await replica.client.range(EtcdRangeRequest(EtcdKeyRange(key: replica.layout.head)))
        return replica.update { $0.verify(with: head) }
    }

    private mutating func connected() {
        firstFailure = nil
        delay = Self.shortestDelay
        let settled = reported
        reported = nil
        replica.update { state in
            state.problem = nil
            if let settled { state.effects.recoveries.append(settled) }
        }
    }

    /// Notes a failure, and waits before the next attempt.
    private mutating func failed(_ error: EtcdError) async {
        var isUrgent = false
        switch error.code {
        case .compacted, .futureRevision, .responseTooLarge:
            replica.update { $0.distrust() }
        case .permissionDenied, .authenticationFailed, .malformedResponse, .rejected:
            isUrgent = true
        default: break
        }
        if case .compacted = error.code {
            // The contents are read again at once.
            return forget()
        }
        let now = ContinuousClock.now
        let start = firstFailure ?? now
        firstFailure = start
        let isKnown = replica.peek { $0.hasContents }
        let problem = SettingsError(error, isKnown ? .replicaUsed : .defaultsUsed)
        let isLong = now - start >= replica.configuration.outageTolerance
        let isReported = reported == nil && (isUrgent || !isKnown || isLong)
        if isReported { reported = problem }
        replica.update { state in
            state.problem = problem
            if isReported { state.effects.errors.append(problem) }
        }
        let pause = delay * Double.random(in: 0.5...1)
        delay = min(delay * 2, Self.longestDelay)
        let wishes = replica.connectionWishes.count
        await replica.connectionWishes.wait(after: wishes, for: pause, on: replica.thread)
    }

    private mutating func forget() {
        replica.update { $0.forgetHistory() }
    }

    // MARK: - The watch

    /// Watches, and compares the contents with those of a quorum now and then.
    private func follow() async throws {
        let replica = replica
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Self.watch(replica) }
            group.addTask { try await Self.compare(replica) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func watch(_ replica: Replica) async throws {
        let start = replica.peek { $0.revision + 1 }
        try await replica.client.watch(replica.layout.range, from: start) { message in
            switch message {
            case .created(let header):
                guard replica.peek({ $0.clusterID == header.clusterID }) else { throw MissedEvents() }
            case .events(let events, let header):
                guard await Self.apply(events, header, to: replica) else {
                    replica.update { $0.forgetHistory() }
                    throw MissedEvents()
                }
            // A progress of etcd 3.4 may be sent before events of earlier revisions.
            case .progress: break
            }
        }
    }

    /// How long to wait for the sender of an own commit whose events have arrived, in seconds.
    private static let patienceWithSender = 1.0

    /// Applies the events of a message.
    ///
    /// - Returns: Whether no event is missing.
    private static func apply(_ events: [EtcdEvent], _ header: EtcdHeader, to replica: Replica) async -> Bool {
        while true {
            let progress = replica.update { state in
                state.clusterID == header.clusterID ? state.apply(events) : .gap
            }
            switch progress {
            case .applied: return true
            case .gap: return false
            case .own(let id):
                let isApplied = await replica.wait(for: patienceWithSender) { !$0.sent.contains(id) }
                if Task.isCancelled { return true }
                if !isApplied { replica.update { $0.sent.abandon(id) } }
            }
        }
    }

    /// Compares the keys and their revisions with those of a quorum at regular intervals.
    ///
    /// This detects a dead connection, and events that were lost.
    private static func compare(_ replica: Replica) async throws {
        while true {
            await replica.pause(replica.configuration.comparisonInterval.seconds)
            try Task.checkCancellation()
            let range = replica.layout.range
            let result = try await replica.client.range(EtcdRangeRequest(range, isKeysOnly: true))
            let isSame = await replica.wait(for: replica.configuration.requestTimeout.seconds) { $0.includes(result) }
            try Task.checkCancellation()
            guard isSame else {
                replica.update { $0.forgetHistory() }
                throw MissedEvents()
            }
        }
    }
}
