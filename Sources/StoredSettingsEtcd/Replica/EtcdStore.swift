// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md.

public import StoredSettings
import Synchronization

/// The store of a suite that the processes of a fleet share in etcd.
///
/// ```swift
/// let transport = try SocketTransport(["http://10.0.0.1:2379", "http://10.0.0.2:2379", "http://10.0.0.3:2379"])
/// let suite = SettingsSuite(store: EtcdStore(transport, prefix: "settings/server/"), name: "server")
/// ```
///
/// Reads use a replica in memory, which is always a whole past state of the suite, never goes backwards, and includes the
/// acknowledged writes of this process. A watch brings the changes of other processes. Reads never use the network.
///
/// A set, an update or a transaction that returns is stored on the disks of a quorum of the servers. It is applied only if
/// nothing in the suite has changed since the values that it is based on; otherwise it is repeated. So the closure of an update
/// or of a transaction may run more than once.
///
/// An assignment is visible in this process at once, and is sent in the background. If another process's write of the setting
/// comes first, the assignment is dropped and reported.
///
/// A process that is forked from this one needs a store of its own: writing with this one throws there, and closing it has no
/// effect.
///
/// Commits of one store exclude each other. Those of different processes and stores do not, but no change is lost. A store
/// receives the commits of the others a moment later; ``refresh(mayWait:)`` waits for them.
public final class EtcdStore: LimitedStore {
    let replica: Replica
    private let isWaitOver = Atomic(false)

    /// Creates a store.
    ///
    /// It connects when it is first used.
    ///
    /// - Parameters:
    ///   - transport: The connection to the servers.
    ///   - prefix: The prefix of all keys in etcd that the store reads and writes. A slash is added if it does not end with
    ///     one. If another store of this process has the same servers, and one of the prefixes begins with the other,
    ///     each change and ``refresh(mayWait:)`` throws that.
    ///   - configuration: The user, the file of the replica, and the timeouts.
    public init(_ transport: any EtcdTransport, prefix: String, configuration: Configuration = Configuration()) {
        replica = Replica(ReplicaLayout(prefix: prefix), transport, configuration)
    }

    deinit {
        replica.close()
    }

    /// The object that shows whether values are current.
    public var sharedVersion: StoreVersion? { replica.storeVersion }

    // MARK: - Reading

    /// Sets the observer that records every change from now on.
    public func setObserver(_ observer: any StoreObserver) {
        let previous = replica.peek { $0.observer }
        var effects = ReplicaState.Effects()
        replica.withState(&effects) { state in
            state.observer = observer
            // A store that begins closed, because another suite has some of its keys.
            if state.isClosed, !state.wasObserved, let problem = state.problem { state.effects.errors.append(problem) }
            state.wasObserved = true
        }
        _ = consume previous
        replica.perform(effects)
        replica.start()
    }

    /// Reads a value and runs a body with it before a later change can be recorded.
    public func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        waitForContents()
        return replica.peek { body($0.visible[key]) }
    }

    /// All stored values, with the assignments that are not acknowledged yet.
    public func contents() -> [String: StoredValue] {
        waitForContents()
        return replica.peek { $0.visible }
    }

    /// How long the first read of a task may block its thread, in seconds.
    private static let longestWaitInTask = 0.1

    /// Waits for the first contents from a server, once and for a limited time, or until none can be reached.
    private func waitForContents() {
        guard !isWaitOver.load(ordering: .relaxed), !replica.isInherited else { return }
        replica.start()
        let isInTask = withUnsafeCurrentTask { $0 != nil }
        let limit = replica.configuration.firstReadTimeout.seconds
        let replica = replica
        do {
            _ = try replica.thread.run {
                await replica.waitForServer(isInTask ? min(limit, Self.longestWaitInTask) : limit)
            }
        } catch {
            // The operation throws nothing, and has no limit of the caller.
        }
        isWaitOver.store(true, ordering: .relaxed)
    }

    /// Waits for the first contents from a server, while the task is suspended.
    ///
    /// - Returns: Whether there are any.
    func waitForServer(within timeout: Duration) async -> Bool {
        replica.start()
        defer { isWaitOver.store(true, ordering: .relaxed) }
        return await replica.waitForServer(timeout.seconds)
    }

    /// Whether a server can be reached.
    ///
    /// While none can be reached, values are read from the replica, and assignments wait for a server.
    public var persistence: SettingsPersistence {
        let path = "etcd:\(String(decoding: replica.layout.prefix, as: UTF8.self))"
        guard let problem else { return .durable(path: path) }
        return .readOnly(path: path, reason: problem.fact)
    }

    // MARK: - Writing

    /// Runs a body on the newest contents, and stores either all its changes or none.
    ///
    /// The body runs again if another process has changed the suite meanwhile.
    ///
    /// - Throws: The error of the body, or `SettingsError`. If its code is `SettingsError.Code.outcomeUnknown`, the
    ///   changes may be stored. After every other error, nothing has changed.
    public func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try commitChanges { base in
            var transaction = StoreTransaction(base: base)
            let result = try body(&transaction)
            try transaction.checkStorable()
            return (transaction.storedAsJSON(includingEqual: false), result)
        }
    }

    /// Makes assignments visible in this process, and sends them in the background.
    ///
    /// With a ``Configuration/replicaFile``, they survive the process until they are acknowledged. They are dropped, and that is
    /// reported, if another process changes one of the values first.
    ///
    /// - Returns: `true`, unless the store is closed.
    /// - Throws: `SettingsError` if etcd never accepts the values.
    public func writeLater(_ edits: [String: StoredValue?]) throws -> Bool {
        guard !replica.isInherited else { return false }
        guard !edits.isEmpty else { return true }
        try replica.checkOwner()
        replica.start()
        var stored: [String: StoredValue?] = [:]
        var size = 0
        for (key, value) in edits {
            try value?.checkStorable(forKey: key)
            let value = value?.storedAsJSON
            size += try value.map(ReplicaLayout.bytes)?.count ?? 0
            stored.updateValue(value, forKey: key)
        }
        guard edits.count <= ReplicaCommitter.mostChanges, size <= Self.mostBytesOfValues else {
            // A code of values that can never be stored: others become pending writes, which every later set would save.
            throw SettingsError(
                .unstorable,
                fact: "the assigned values are too many or too large for etcd",
                consequence: "nothing is changed",
                remedy: "assign at most \(ReplicaCommitter.mostChanges) settings and 1.4 MB at once"
            )
        }
        return replica.assign(stored)
    }

    /// The maximum size of assigned values, in bytes, which leaves space for keys and conditions.
    private static let mostBytesOfValues = 1_400_000

    /// Stores the value of one key, whatever is stored now.
    ///
    /// - Throws: The same as ``commit(isBlind:_:)``.
    public func write(_ value: StoredValue?, forKey key: String, mayWait: Bool) throws -> Bool {
        // The servers are always waited for.
        guard mayWait else { return false }
        try value?.checkStorable(forKey: key)
        let value = value?.storedAsJSON
        return try commitChanges { base in
            let old = base[key]
            return (old == value ? [] : [StoreChange(key: key, old: old, new: value)], true)
        }
    }

    /// The time after which a commit that is always overtaken fails.
    private static let longestContention = Duration.seconds(120)

    /// Stores changes of the newest contents.
    ///
    /// - Parameter body: Receives the contents, and returns the changes. It runs again after a conflict.
    /// - Returns: The result of the last run.
    /// - Throws: The error of the body, or `SettingsError`.
    private func commitChanges<Result>(
        _ body: ([String: StoredValue]) throws -> ([StoreChange], Result)
    ) throws -> Result {
        try replica.checkOwner()
        var effects = ReplicaState.Effects()
        defer { replica.perform(effects) }
        return try WaitLimit.withLock(replica.writer) { _ in try commit(&effects, body) }
    }

    /// - Parameters:
    ///   - effects: Receives what to do after the lock is released.
    ///   - body: Receives the contents, and returns the changes. It runs again after a conflict.
    /// - Returns: The result of the last run.
    /// - Throws: The error of the body, or `SettingsError`.
    private func commit<Result>(
        _ effects: inout ReplicaState.Effects,
        _ body: ([String: StoredValue]) throws -> ([StoreChange], Result)
    ) throws -> Result {
        let replica = replica
        let committer = ReplicaCommitter(replica)
        let begin = ContinuousClock.now
        var attempt = 0
        while true {
            let isFirst = attempt == 0
            try WaitLimit.check()
            let current = isFirst ? committer.baseWithoutWaiting : nil
            let base =
                try current
                ?? replica.thread.run(limited: true) {
                    if isFirst { try await replica.waitForPending(or: .nothingChanged) }
                    return try await committer.base()
                }
            let (changes, result) = try body(base.values)
            let start = base.start
            if isFirst { try WaitLimit.check() }
            // A limited operation can be canceled, but sending is not limited.
            switch try committer.sendBlocking(changes, on: consume base, attempt: attempt) {
            case .committed(let id, let revision):
                replica.withState(&effects) { $0.confirm(id, changes, at: revision, since: start) }
                return result
            case .unchanged:
                replica.withState(&effects) { $0.recordCommitWithoutChanges() }
                return result
            case .overtaken:
                guard ContinuousClock.now - begin < Self.longestContention else { throw SettingsError.alwaysOvertaken }
            case .refused(let error): throw SettingsError(error, .nothingChanged)
            case .notSent(let error):
                guard ContinuousClock.now - begin < replica.configuration.timeout else {
                    throw SettingsError(error, .nothingChanged)
                }
            }
            attempt += 1
        }
    }

    // MARK: - Other processes

    /// Reads the newest contents with the agreement of a quorum.
    ///
    /// Afterward, reads return every write that was acknowledged to any process before the call.
    ///
    /// - Parameter mayWait: Whether to ask the servers. Otherwise, only what is known of them counts.
    /// - Throws: `SettingsError` if no server can be reached.
    public func refresh(mayWait: Bool) throws {
        let replica = replica
        guard mayWait else {
            if let problem = replica.peek({ $0.problem }) { throw problem }
            return
        }
        try replica.checkOwner()
        replica.start()
        try replica.thread.run(limited: true) {
            do throws(EtcdError) {
                try await replica.refresh()
            } catch {
                throw SettingsError(error, .notCurrent)
            }
        }
    }

    /// Marks the cluster of the servers as that of the suite, for all processes.
    ///
    /// - Returns: The identifier of the cluster.
    /// - Throws: `SettingsError` if no server can be reached.
    package func acceptCluster() throws -> UInt64 {
        let replica = replica
        try replica.checkOwner()
        return try replica.thread.run(limited: true) {
            do throws(EtcdError) {
                return try await replica.acceptCluster()
            } catch {
                throw SettingsError(error, .nothingChanged)
            }
        }
    }

    /// Waits until the assignments before the call are stored on a quorum of the servers, or were dropped.
    ///
    /// - Throws: `SettingsError` if assignments cannot be sent, or with `SettingsError.Code.pendingWriteDropped` if one of this process
    ///   was dropped since the last call.
    public func synchronize() throws {
        let replica = replica
        try replica.checkOwner()
        replica.start()
        try replica.thread.run(limited: true) { try await replica.waitForPending(or: .assignmentsWait) }
        var effects = ReplicaState.Effects()
        if let error = replica.withState(&effects, { $0.takeDropped() }) { throw error }
    }

    /// Does the same as ``synchronize()``.
    public func checkpoint() throws {
        try synchronize()
    }

    /// Connects to the servers, unless that has happened before.
    public func watch() {
        replica.start()
    }

    /// Closes the connections of the store.
    ///
    /// The transport stays open. A commit that begins afterwards throws. Reads return the last contents.
    public func close() {
        replica.close()
    }
}
