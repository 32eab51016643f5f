// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md.

import StoredSettings
import Synchronization

/// The parts of an ``EtcdStore`` that its tasks use.
///
/// The tasks hold this object, and not the store.
///
/// Locks are taken in the order `writer`, `state`.
final class Replica: Sendable {
    let layout: ReplicaLayout
    let client: EtcdClient
    let configuration: EtcdStore.Configuration
    let thread: ReplicaThread
    /// Signals every change of ``state``.
    let changes = ChangeSignal()
    /// Signals that a caller waits for a connection, so that the next attempt begins at once.
    let connectionWishes = ChangeSignal()
    let versionStamp = VersionStamp()
    /// Held for a whole commit, including the user's body.
    let writer = Locked<Void>(())
    /// The replica and the pending assignments on the disk; `nil` if there is no file for them.
    private let local: LocalReplica?
    /// Held while a batch is changed in the state and on the disk, in this order.
    private let queue = Locked<Void>(())
    private let state: Locked<ReplicaState>
    private let linkTask = Locked<Task<Void, Never>?>(nil)
    private let senderTask = Locked<Task<Void, Never>?>(nil)
    private let isStarted = Atomic(false)
    private let isSending = Atomic(false)
    private let isSaving = Atomic(false)
    private let isSavingReported = Atomic(false)
    /// The revision of the replica on the disk.
    private let savedRevision = Atomic<Int64>(-1)

    init(_ layout: ReplicaLayout, _ transport: any EtcdTransport, _ configuration: EtcdStore.Configuration) {
        let thread = ReplicaThread.shared
        var limits = EtcdClient.Configuration()
        limits.timeout = configuration.requestTimeout
        self.layout = layout
        self.configuration = configuration
        self.thread = thread
        client = EtcdClient(
            transport,
            configuration: limits,
            credentials: configuration.credentials?.read,
            executor: thread
        )
        state = Locked(ReplicaState(layout, versionStamp))
        let prefix = String(decoding: layout.prefix, as: UTF8.self)
        local = configuration.replicaFile.map { LocalReplica(at: $0, prefix: prefix) }
    }

    // MARK: - The state

    /// Runs a body that reads the state.
    func peek<Result>(_ body: (ReplicaState) throws -> Result) rethrows -> Result {
        try state.withLock { try body($0) }
    }

    /// Runs a body that changes the state.
    ///
    /// - Parameters:
    ///   - effects: Receives what to do after all locks are released.
    ///   - body: Changes the state.
    /// - Returns: The result of the body.
    func withState<Result>(
        _ effects: inout ReplicaState.Effects,
        _ body: (inout ReplicaState) throws -> Result
    ) rethrows -> Result {
        defer { changes.signal() }
        return try state.withLock { state in
            defer {
                effects.deliveries += state.effects.deliveries
                effects.observers += state.effects.observers
                effects.errors += state.effects.errors
                effects.recoveries += state.effects.recoveries
                state.effects = ReplicaState.Effects()
            }
            return try body(&state)
        }
    }

    /// Runs a body that changes the state, on a thread of the replicas.
    ///
    /// The effects, which run code of the user, are performed on another thread.
    func update<Result>(_ body: (inout ReplicaState) throws -> Result) rethrows -> Result {
        var effects = ReplicaState.Effects()
        defer {
            performLater(effects)
            saveLater()
        }
        return try withState(&effects, body)
    }

    private func performLater(_ effects: ReplicaState.Effects) {
        guard !effects.isEmpty else { return }
        WorkScheduler.shared.soon { self.perform(effects) }
    }

    /// Performs effects.
    ///
    /// The caller holds no lock.
    func perform(_ effects: ReplicaState.Effects) {
        for delivery in effects.deliveries { delivery.perform() }
        guard !effects.errors.isEmpty || !effects.recoveries.isEmpty else { return }
        let observer = peek { $0.observer }
        WaitLimit.runWithout {
            for error in effects.recoveries { observer?.reportRecovery(from: error) }
            for error in effects.errors { observer?.report(error) }
        }
    }

    // MARK: - The connection

    /// Connects, unless that has happened before.
    func start() {
        guard !isStarted.load(ordering: .relaxed), !isStarted.exchange(true, ordering: .relaxed) else { return }
        load()
        linkTask.withLock { task in
            guard !peek({ $0.isClosed }) else { return }
            task = thread.start { [self] in
                var link = ReplicaLink(self)
                await link.run()
            }
        }
    }

    /// Ends all tasks.
    func close() {
        var effects = ReplicaState.Effects()
        withState(&effects) { $0.isClosed = true }
        perform(effects)
        isStarted.store(true, ordering: .relaxed)
        linkTask.withLock { $0 }?.cancel()
        senderTask.withLock { $0 }?.cancel()
        release()
    }

    /// Replaces the contents by those that a quorum has now, unless events have brought newer ones.
    func refresh() async throws(EtcdError) {
        let start = peek { $0.revision }
        var result = try await client.contents(of: layout.range)
        // A disturbed connection can deliver the answer to an earlier request. So a backup that was restored, and whatever else is
        // unlikely, is read twice.
        if !peek({ $0.isFollowed(by: result, since: start) }) {
            result = try await client.contents(of: layout.range)
        }
        update { state in
            // Events have brought the contents of the result, or newer ones.
            if !state.install(result, since: start) { return }
        }
    }

    /// Begins the next attempt to connect at once.
    func reconnect() {
        connectionWishes.signal()
    }

    // MARK: - The disk

    /// Uses the last replica on the disk, and the assignments of processes that have ended.
    private func load() {
        guard let local else { return }
        var effects = ReplicaState.Effects()
        if let saved = local.load() {
            savedRevision.store(saved.revision, ordering: .relaxed)
            withState(&effects) { $0.restore(saved) }
        }
        if let problem = local.problem {
            effects.errors.append(.localFailure(problem, "the last replica may be missing until a server is reached"))
        }
        do {
            try queue.withLock { _ in
                for batch in try local.takeOver() { withState(&effects) { $0.takeOver(batch) } }
            }
        } catch {
            effects.errors.append(.localFailure(error, "assignments of an earlier process stay on the disk"))
        }
        perform(effects)
        if !peek({ $0.pending.isEmpty }) { sendPending() }
    }

    /// The delay before the replica is stored, in seconds, so that several changes are stored together.
    private static let savingDelay = 0.5

    /// Stores the replica a little later.
    private func saveLater() {
        guard let local, peek({ $0.revision }) != savedRevision.load(ordering: .relaxed),
            !isSaving.exchange(true, ordering: .relaxed)
        else { return }
        WorkScheduler.shared.after(Self.savingDelay) {
            self.isSaving.store(false, ordering: .relaxed)
            self.save(in: local)
        }
    }

    private func save(in local: LocalReplica) {
        guard let saved = peek({ $0.isClosed ? nil : SavedReplica($0, layout) }) else { return }
        do {
            try local.save(saved)
            isSavingReported.store(false, ordering: .relaxed)
        } catch {
            // The next change is stored again.
            if !isSavingReported.exchange(true, ordering: .relaxed) {
                let consequence = "a process that starts without a server uses an older replica"
                perform(ReplicaState.Effects(errors: [.localFailure(error, consequence)]))
            }
        }
        savedRevision.store(saved.revision, ordering: .relaxed)
    }

    /// Stores the replica for the last time, and leaves the pending assignments to the next process.
    private func release() {
        guard let local else { return }
        queue.withLock { _ in
            do {
                if let saved = peek({ SavedReplica($0, layout) }),
                    saved.revision != savedRevision.load(ordering: .relaxed)
                {
                    try local.save(saved)
                }
                try local.release(peek { $0.pending.batches })
            } catch {
                // The batches are on the disk with the mark of this process, so a later process takes them over.
            }
            local.close()
        }
    }

    // MARK: - Assignments

    /// Makes assignments visible, stores them on the disk, and sends them in the background.
    func assign(_ edits: [String: StoredValue?]) {
        var effects = ReplicaState.Effects()
        queue.withLock { _ in
            let batch = withState(&effects) { $0.assign(edits) }
            do {
                try local?.save(batch)
            } catch {
                effects.errors.append(
                    .localFailure(error, "the new value is used, and is lost if the process ends before it is sent")
                )
            }
        }
        perform(effects)
        sendPending()
    }

    /// Ends a batch in the state and on the disk.
    func endBatch(_ batch: PendingAssignments.Batch, _ body: (inout ReplicaState) -> Void) {
        queue.withLock { _ in
            update(body)
            do {
                try local?.remove(batch)
            } catch {
                // A later process finds that the values are stored, or that they were overtaken.
            }
        }
    }

    /// Sends the pending assignments, unless they are being sent.
    func sendPending() {
        guard !isSending.exchange(true, ordering: .acquiring) else { return }
        senderTask.withLock { task in
            guard !peek({ $0.isClosed }) else { return }
            task = thread.start { [self] in
                await AssignmentSender(self).run()
                isSending.store(false, ordering: .releasing)
                // An assignment may have been added after the last look.
                if !peek({ $0.pending.isEmpty || $0.isClosed }) { sendPending() }
            }
        }
    }

    /// Waits until all assignments are acknowledged.
    func waitForPending() async throws {
        guard !peek({ $0.pending.isEmpty }) else { return }
        reconnect()
        guard await wait(for: configuration.timeout.seconds, until: { $0.pending.isEmpty || $0.isClosed }) else {
            throw unavailable(.assignmentsWait)
        }
        guard peek({ $0.pending.isEmpty }) else { throw SettingsError.storeClosed }
    }

    /// The error of an operation that has waited for a server in vain.
    func unavailable(_ consequence: SettingsError.EtcdConsequence) -> SettingsError {
        let unknown = EtcdError(.timedOut, "no server of etcd has answered in time")
        var error = peek { $0.problem } ?? SettingsError(unknown, consequence)
        error.consequence = consequence.rawValue
        return error
    }

    // MARK: - Waiting

    /// Waits until a condition holds.
    ///
    /// - Returns: Whether it holds; `false` when the time is over or the task is canceled.
    func wait(for seconds: Double, until condition: (ReplicaState) -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            let count = changes.count
            if peek(condition) { return true }
            let rest = (end - .now).seconds
            guard rest > 0, !Task.isCancelled else { return false }
            await changes.wait(after: count, for: rest, on: thread)
        }
    }

    /// Waits for a time, unless the task is canceled.
    func pause(_ seconds: Double) async {
        let clock = ChangeSignal()
        await clock.wait(after: 0, for: seconds, on: thread)
    }
}

extension Duration {
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
