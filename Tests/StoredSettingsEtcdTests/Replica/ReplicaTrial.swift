// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

@testable import StoredSettingsEtcd

/// The state of a replica, and an observer that records its commits.
final class ReplicaTrial {
    /// A commit with the new values of its keys.
    struct Commit: Hashable {
        var values: [String: StoredValue?]
        var origin: SettingChangeOrigin

        static func local(_ values: [String: StoredValue?]) -> Commit { Commit(values: values, origin: .local) }
        static func external(_ values: [String: StoredValue?]) -> Commit { Commit(values: values, origin: .external) }
    }

    final class Observer: StoreObserver {
        let commits = Mutex<[Commit]>([])
        let errors = Mutex<[SettingsError]>([])
        let recoveries = Mutex<[SettingsError]>([])

        /// - Parameter store: A store to observe.
        init(of store: EtcdStore? = nil) { store?.setObserver(self) }

        func record(_ commit: StoreCommit) -> StoreDelivery {
            var values: [String: StoredValue?] = [:]
            for change in commit.changes { values.updateValue(change.new, forKey: change.key) }
            commits.withLock { $0.append(Commit(values: values, origin: commit.origin)) }
            return .none
        }

        func report(_ error: SettingsError) {
            errors.withLock { $0.append(error) }
        }

        func reportRecovery(from error: SettingsError) {
            recoveries.withLock { $0.append(error) }
        }
    }

    static let layout = ReplicaLayout(prefix: "p")

    var state = ReplicaState(layout, StoreVersion())
    let observer = Observer()

    init() {
        state.observer = observer
    }

    convenience init(installed values: [String: String], at revision: Int64, log: [String] = []) {
        self.init()
        install(values, at: revision, log: log)
        _ = takeCommits()
    }

    func takeCommits() -> [Commit] {
        observer.commits.withLock { commits in
            defer { commits = [] }
            return commits
        }
    }

    private static func result(
        _ keyValues: [EtcdKeyValue],
        at revision: Int64,
        cluster: UInt64
    ) -> EtcdRangeResult {
        EtcdRangeResult(
            header: EtcdHeader(clusterID: cluster, memberID: 1, revision: revision, raftTerm: 1),
            keyValues: keyValues,
            hasMore: false,
            count: Int64(keyValues.count)
        )
    }

    @discardableResult
    func install(
        _ values: [String: String],
        at revision: Int64,
        log: [String] = [],
        since start: Int64 = 0,
        cluster: UInt64 = 1,
        restorations: Int = 0
    ) -> Bool {
        var keyValues = values.map { EtcdEvent.put($0.key, $0.value, revision).keyValue }
        if !log.isEmpty { keyValues.append(EtcdEvent.head(log, revision).keyValue) }
        return state.install(
            Self.result(keyValues, at: revision, cluster: cluster),
            since: ReplicaState.Start(revision: start, restorations: restorations)
        )
    }

    func apply(_ events: [EtcdEvent]) -> ReplicaState.Progress { state.apply(events) }

    func verify(log: [String], written: Int64, at revision: Int64, cluster: UInt64 = 1) -> Bool {
        var copy = state
        let head = EtcdEvent.head(log, written).keyValue
        return copy.verify(with: Self.result([head], at: revision, cluster: cluster))
    }

    func includes(
        _ revisions: [String: Int64],
        fence: Int64? = nil,
        at revision: Int64,
        since start: Int64 = 0
    ) -> Bool {
        var keyValues = revisions.map { EtcdEvent.put($0.key, "", $0.value).keyValue }
        if let fence { keyValues.append(EtcdEvent.fence(fence).keyValue) }
        let start = ReplicaState.Start(revision: start)
        return state.includes(Self.result(keyValues, at: revision, cluster: 1), since: start)
    }
}

extension EtcdEvent {
    private init(_ name: [UInt8], _ value: String, _ revision: Int64, isDeletion: Bool) {
        let keyValue = EtcdKeyValue(
            key: name,
            value: Array(value.utf8),
            createRevision: 1,
            modRevision: revision,
            version: isDeletion ? 0 : 1
        )
        self.init(isDeletion: isDeletion, keyValue: keyValue)
    }

    static func put(_ key: String, _ json: String, _ revision: Int64) -> EtcdEvent {
        EtcdEvent(ReplicaTrial.layout.name(ofKey: key), json, revision, isDeletion: false)
    }

    static func delete(_ key: String, _ revision: Int64) -> EtcdEvent {
        EtcdEvent(ReplicaTrial.layout.name(ofKey: key), "", revision, isDeletion: true)
    }

    static func fence(_ revision: Int64) -> EtcdEvent {
        EtcdEvent(ReplicaTrial.layout.fence, "x", revision, isDeletion: false)
    }

    static func head(_ log: [String], _ revision: Int64) -> EtcdEvent {
        EtcdEvent(ReplicaTrial.layout.head, log.joined(separator: " "), revision, isDeletion: false)
    }
}
