// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md.

import StoredSettings
import Synchronization

/// The parts of an ``EtcdStore`` that its tasks use.
///
/// The tasks hold this object, and not the store.
///
/// Locks are taken in the order `writer`, `starting`, `queue`, `state`.
final class Replica: Sendable {
    let layout: ReplicaLayout
    let client: EtcdClient
    let configuration: EtcdStore.Configuration
    let thread: ReplicaThread
    /// Signals every change of ``state``.
    let changes = ChangeSignal()
    /// Signals that a caller waits for a connection, so that the next attempt begins at once.
    let connectionWishes = ChangeSignal()
    let storeVersion = StoreVersion()
    /// Held for a whole commit, including the user's body.
    let writer = Locked<Void>(())
    /// The replica and the pending assignments on the disk; `nil` if there is no file for them.
    private let local: LocalReplica?
    /// Held while a batch is changed in the state and on the disk, in this order.
    private let queue = Locked<Void>(())
    private let state: Locked<ReplicaState>
    /// The keys of the store; a failure if another suite has some of them, so that nothing is read or written.
    private let keys: Result<KeySpace, SettingsError>
    private let linkTask = Locked<Task<Void, Never>?>(nil)
    private let senderTask = Locked<Task<Void, Never>?>(nil)
    private let isStarted = Atomic(false)
    /// Held while the file is read, so that later assignments follow those of the file.
    private let starting = Locked<Void>(())
    private let forks = Forks.count
    private let isSending = Atomic(false)
    private let saver: ReplicaSaver?

    init(
        _ layout: ReplicaLayout,
        _ transport: any EtcdTransport,
        _ configuration: EtcdStore.Configuration,
        thread: ReplicaThread = .shared
    ) {
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
        keys = Result { () throws(SettingsError) in try KeySpace.reserve(layout.prefix, transport) }
        var state = ReplicaState(layout, storeVersion)
        if case .failure(let error) = keys { (state.isClosed, state.problem) = (true, error) }
        self.state = Locked(state)
        let prefix = String(decoding: layout.prefix, as: UTF8.self)
        local = configuration.replicaFile.map { path in
            LocalReplica(configuration.openReplicaFile(path), prefix: prefix)
        }
        saver = local.map(ReplicaSaver.init)
    }

    // MARK: - The state

    /// Runs a body that reads the state.
    func peek<Result, Failure: Error>(_ body: (ReplicaState) throws(Failure) -> Result) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) in try body(state) }
    }

    /// Runs a body that changes something for which no task waits, and which has no effects.
    func note(_ body: (inout ReplicaState) -> Void) {
        state.withLock { body(&$0) }
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
            defer { state.moveEffects(to: &effects) }
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
            saver?.saveLater(self)
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

    /// Whether this object belongs to the process that this one was forked from, whose threads do not exist here.
    var isInherited: Bool { forks != Forks.count }

    /// - Throws: `SettingsError` if this object belongs to the process that this one was forked from, or if another
    ///   suite has some of the keys.
    func checkOwner() throws {
        if isInherited { throw SettingsError.storeInherited }
        _ = try keys.get()
    }

    /// Connects, unless that has happened before.
    ///
    /// Afterward, the assignments in the file are in the queue, whichever thread has read them.
    func start() {
        guard !isStarted.load(ordering: .acquiring), !isInherited, case .success = keys else { return }
        var effects = ReplicaState.Effects()
        let isFirst = starting.withLock { _ in
            guard !isStarted.load(ordering: .acquiring) else { return false }
            load(&effects)
            isStarted.store(true, ordering: .releasing)
            return true
        }
        guard isFirst else { return }
        linkTask.withLock { task in
            guard !peek({ $0.isClosed }) else { return }
            task = thread.start { [self] in await ReplicaLink(self).run() }
        }
        if !peek({ $0.pending.isEmpty }) { sendPending() }
        perform(effects)
    }

    /// Ends all tasks.
    ///
    /// In a forked child, the tasks and the assignments remain those of its parent.
    func close() {
        guard !isInherited, case .success(let keys) = self.keys else { return }
        keys.release()
        var effects = ReplicaState.Effects()
        withState(&effects) { $0.isClosed = true }
        perform(effects)
        // Another thread may be reading the file, whose batches are released below.
        starting.withLock { _ in isStarted.store(true, ordering: .releasing) }
        linkTask.withLock { $0 }?.cancel()
        senderTask.withLock { $0 }?.cancel()
        release()
    }

    /// Replaces the contents by those that a quorum has now, unless events have brought newer ones.
    func refresh() async throws(EtcdError) {
        while true {
            let start = peek { $0.start }
            var result = try await client.contents(of: layout.range)
            // A disturbed connection can deliver the answer to an earlier request. So a backup that was restored, and whatever
            // else is unlikely, is read again on a connection that has had no earlier request.
            if !peek({ $0.isFollowed(by: result, since: start) }) {
                result = try await client.contents(of: layout.range, needsNewConnection: true)
                try peek { state throws(EtcdError) in try state.checkCluster(of: result) }
            }
            let isRestoredMeanwhile = update { state in
                // Otherwise, events have brought the contents of the result, or newer ones.
                !state.install(result, since: start) && state.restorations != start.restorations
            }
            // Another task has found a restored backup. This result may be older than the backup.
            if !isRestoredMeanwhile { return }
        }
    }

    /// Accepts the cluster of the servers as that of the suite, for all processes.
    ///
    /// - Returns: The identifier of the cluster.
    func acceptCluster() async throws(EtcdError) -> UInt64 {
        let id = try await client.range(EtcdRangeRequest(EtcdKeyRange(key: layout.cluster))).header.clusterID
        let put = EtcdTransaction(if: [], then: [.put(layout.cluster, ReplicaLayout.identifier(of: id))])
        _ = try await client.execute(put, isIdempotent: true)
        return id
    }

    /// Begins the next attempt to connect at once.
    func reconnect() {
        connectionWishes.signal()
    }

    // MARK: - The disk

    /// Uses the last replica on the disk, and the assignments of processes that have ended.
    private func load(_ effects: inout ReplicaState.Effects) {
        guard let local else { return }
        if let saved = local.load() {
            saver?.noteSaved(saved.revision)
            withState(&effects) { $0.restore(saved) }
        }
        if let problem = local.problem {
            effects.errors.append(.localFailure(problem, "the last replica may be missing until a server is reached"))
        }
        do {
            try queue.withLock { _ in
                let queue = peek { $0.pending.id }
                for batch in try local.takeOver(for: queue) { withState(&effects) { $0.takeOver(batch) } }
            }
        } catch {
            effects.errors.append(.localFailure(error, "assignments of an earlier process stay on the disk"))
        }
    }

    /// Stores the replica for the last time, and leaves the pending assignments to the next process.
    private func release() {
        guard let local else { return }
        queue.withLock { _ in
            do {
                try saver?.saveNow(self)
                try local.release(peek { $0.pending.batches })
            } catch {
                // The batches are on the disk with the mark of this process, so a later process takes them over.
            }
            local.close()
        }
    }

    // MARK: - Assignments

    /// Makes assignments visible, stores them on the disk, and sends them in the background.
    ///
    /// - Returns: `false` if the store is closed.
    func assign(_ edits: [String: StoredValue?]) -> Bool {
        var effects = ReplicaState.Effects()
        let isAssigned = queue.withLock { _ in
            // Closing leaves the queue to the next process, under the same lock.
            guard let batch = withState(&effects, { $0.isClosed ? nil : $0.assign(edits) }) else { return false }
            do {
                try local?.save([batch])
            } catch {
                effects.errors.append(
                    .localFailure(error, "the new value is used, and is lost if the process ends before it is sent")
                )
            }
            return true
        }
        perform(effects)
        if isAssigned { sendPending() }
        thread.startThreadIfStarved()
        return isAssigned
    }

    /// Stores the batches on the disk whose bases have changed.
    func saveChangedBatches() throws {
        guard let local else { return }
        try queue.withLock { _ in
            let changed = update { $0.pending.takeChanged() }
            do {
                try local.save(changed)
            } catch {
                update { $0.pending.noteChanged(changed) }
                throw SettingsError.localFailure(error, SettingsError.EtcdConsequence.assignmentsWait.rawValue)
            }
        }
    }

    /// Ends a batch in the state and on the disk.
    func endBatch(_ batch: PendingAssignments.Batch, _ body: (inout ReplicaState) -> Void) {
        queue.withLock { _ in
            update(body)
            let changed = update { $0.pending.takeChanged() }
            do {
                try local?.remove(batch, changing: changed)
            } catch {
                // A later process finds that the values are stored, or that they were overtaken.
                update { $0.pending.noteChanged(changed) }
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

    /// Waits until the assignments that exist now are acknowledged or dropped.
    ///
    /// - Parameter consequence: The consequence if no server can be reached.
    /// - Throws: `SettingsError` if no server can be reached, or the store is closed.
    func waitForPending(or consequence: SettingsError.EtcdConsequence) async throws {
        guard let last = peek({ $0.pending.batches.last?.id }) else { return }
        let isOver = { @Sendable (state: ReplicaState) in !state.pending.batches.contains { $0.id == last } }
        reconnect()
        guard await wait(for: configuration.timeout.seconds, until: { isOver($0) || $0.isClosed }) else {
            throw unavailable(consequence)
        }
        guard peek(isOver) else { throw SettingsError.storeClosed }
    }

    /// The error of an operation that has waited for a server in vain.
    func unavailable(_ consequence: SettingsError.EtcdConsequence) -> SettingsError {
        let unknown = EtcdError(.timedOut, "no server of etcd has answered in time")
        var error = peek { $0.problem } ?? SettingsError(unknown, consequence)
        error.consequence = consequence.rawValue
        return error
    }

    // MARK: - Waiting

    /// Waits for the first contents from a server, or until none can be reached.
    ///
    /// - Returns: Whether there are any.
    func waitForServer(_ seconds: Double) async -> Bool {
        _ = await wait(for: seconds) { $0.isFromServer || $0.problem != nil || $0.isClosed }
        return peek { $0.isFromServer }
    }

    /// Waits until a condition holds.
    ///
    /// - Returns: Whether it holds; `false` when the time is over or the task is canceled.
    func wait(for seconds: Double, until condition: (ReplicaState) -> Bool) async -> Bool {
        await changes.wait(for: seconds, on: thread) { peek(condition) }
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
