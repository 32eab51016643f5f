// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "A restored backup begins another history".

import EtcdTestSupport
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

/// In these tests, the old watch stays open and silent when the backup is restored, so a store finds out by itself.
@Suite("EtcdStore: a restored backup, step by step", .deadlockLimit)
struct RestorationPromiseTests {
    private static var configuration: EtcdStore.Configuration {
        var configuration = EtcdStore.Configuration.patient
        // The comparison would detect the backup in the end.
        configuration.comparisonInterval = .seconds(100_000)
        return configuration
    }

    private static func store(_ etcd: MemoryEtcd) -> EtcdStore {
        EtcdStore(etcd, prefix: "p", configuration: configuration)
    }

    private static func isRecorded(_ value: StoredValue, _ observer: ReplicaTrial.Observer) -> Bool {
        observer.commits.withLock { $0.contains { $0.values["a"] == .some(value) } }
    }

    /// A store whose last commit, `a` = 2, is lost when the backup is restored.
    ///
    /// In the backup, `a` is 1. The watch of the store has begun, so that nothing but the test makes further requests.
    private static func lostCommit(_ etcd: MemoryEtcd) async throws -> (EtcdStore, MemoryEtcd.Contents) {
        let store = store(etcd)
        try await blocking { try store.refresh(mayWait: true) }
        await eventually("the watch is created") { etcd.watches > 0 }
        etcd.put("p/k/a", "0")
        await eventually("the watch has begun") { store.value(forKey: "a") == 0 }
        let backup = try await blocking {
            try store.commit { $0["a"] = 1 }
            let backup = etcd.contents
            try store.commit { $0["a"] = 2 }
            return backup
        }
        return (store, backup)
    }

    // MARK: - Commits

    @Test(
        "A commit is never based on a lost value, also if the revision has grown beyond the known one",
        arguments: [0, 10]
    )
    func lostBase(growth: Int64) async throws {
        let etcd = MemoryEtcd()
        let (store, backup) = try await Self.lostCommit(etcd)
        etcd.restore(backup, grownTo: growth > 0 ? etcd.revision + growth : nil)
        let seen = try await blocking {
            var seen: [StoredValue?] = []
            try store.commit { transaction in
                seen.append(transaction["a"])
                transaction["a"] = EtcdStoreTests.incremented(transaction["a"])
            }
            return seen
        }
        #expect(seen == [2, 1])
        #expect(etcd.value(of: "p/k/a") == "2")
        #expect(store.value(forKey: "a") == 2)
        store.close()
    }

    @Test("A commit is not based on a value that another program has replaced, which does not change the head")
    func foreignChange() async throws {
        let etcd = MemoryEtcd()
        let store = Self.store(etcd)
        try await blocking {
            try store.commit { $0["a"] = 1 }
            etcd.holdEvents(true)
            etcd.put("p/k/a", "7")
            try store.commit { $0["a"] = EtcdStoreTests.incremented($0["a"]) }
        }
        #expect(etcd.value(of: "p/k/a") == "8")
        store.close()
    }

    @Test("Increments of two stores that begin after the restoration are exact", arguments: [0, 10])
    func incrementsAfterRestoration(growth: Int64) async throws {
        let etcd = MemoryEtcd()
        let (store, backup) = try await Self.lostCommit(etcd)
        let other = Self.store(etcd)
        try await blocking {
            try other.refresh(mayWait: true)
            etcd.restore(backup, grownTo: growth > 0 ? etcd.revision + growth : nil)
            etcd.holdEvents(true)
            for _ in 1...3 {
                for store in [store, other] {
                    try store.commit { $0["a"] = EtcdStoreTests.incremented($0["a"]) }
                }
            }
        }
        #expect(etcd.value(of: "p/k/a") == "7")
        store.close()
        other.close()
    }

    @Test("A set of a value that was lost stores it again")
    func equalValue() async throws {
        let etcd = MemoryEtcd()
        let store = Self.store(etcd)
        try await blocking { try store.commit { $0["a"] = 1 } }
        let backup = etcd.contents
        // Another program does not change the head.
        etcd.put("p/k/a", "2")
        try await blocking { try store.refresh(mayWait: true) }
        etcd.restore(backup)
        try await blocking { try store.write(2, forKey: "a") }
        #expect(etcd.value(of: "p/k/a") == "2")
        store.close()
    }

    @Test(
        "A commit whose answer is lost, and whose event has arrived, is not reported as stored after it was lost",
        arguments: [true, false],
        [0, 10]
    )
    func settledLoss(isForked: Bool, growth: Int64) async throws {
        let etcd = MemoryEtcd()
        let replica = Replica(ReplicaLayout(prefix: "p"), etcd, Self.configuration)
        let observer = ReplicaTrial.Observer()
        replica.update { $0.observer = observer }
        let committer = ReplicaCommitter(replica)
        let set = { (old: StoredValue?, new: StoredValue) async throws in
            let (base, changes) = (try await committer.base(), [StoreChange(key: "a", old: old, new: new)])
            let result = try await committer.send(changes, on: base, attempt: 0)
            if case .committed(let id, let revision?) = result {
                replica.update { $0.confirm(id, changes, at: revision, since: base.start) }
            }
            return result
        }
        _ = try await committer.base()
        await eventually("the watch is created") { etcd.watches > 0 }
        etcd.put("p/k/w", "1")
        await eventually("the watch has begun") { replica.peek { $0.stored["w"] } == 1 }
        _ = try await set(nil, 1)
        let backup = etcd.contents
        if isForked { _ = try await set(1, 2) }
        etcd.intercept { request, etcd in
            guard request.writes("p/head") else { return nil }
            etcd.intercept(nil)
            try etcd.execute(request)
            let id = CommitLog(Array((etcd.value(of: "p/head") ?? "").utf8)).last ?? ""
            // The event waits for its sender.
            _ = await replica.wait(for: longestWait.seconds) {
                $0.sent.outcome(of: id) == .committed(at: etcd.revision)
            }
            etcd.restore(backup, grownTo: growth > 0 ? etcd.revision + growth : nil)
            throw MemoryEtcd.lostConnection
        }
        #expect(try await set(isForked ? 2 : 1, 3) == .overtaken)
        #expect(replica.peek { $0.stored["a"] } == 1)
        // The watch continues with the event that has waited, or ends.
        etcd.put("p/k/b", "1")
        if growth == 0 || isForked {
            await eventually("the old watch has ended") { etcd.watches > 1 || Self.isRecorded(3, observer) }
        }
        #expect(!Self.isRecorded(3, observer))
        replica.close()
    }

    @Test("Old answers that used connections repeat are not taken for a restored backup")
    func repeatedAnswers() async throws {
        let etcd = MemoryEtcd()
        let (store, _) = try await Self.lostCommit(etcd)
        let old = Mutex<EtcdResponse?>(nil)
        etcd.intercept { request, etcd in
            guard request.path == "/v3/kv/range", !request.needsNewConnection else { return nil }
            return try old.withLock { old in
                if let old { return old }
                let response = try etcd.execute(request)
                old = response
                return response
            }
        }
        let observer = ReplicaTrial.Observer(of: store)
        try await blocking {
            try store.refresh(mayWait: true)
            try store.write(3, forKey: "a")
            try store.refresh(mayWait: true)
        }
        #expect(store.value(forKey: "a") == 3)
        #expect(observer.commits.withLock { $0.map(\.values) } == [["a": 3]])
        store.close()
    }

    // MARK: - Answers of the lost history

    @Test("Events of a watch that began before the restoration change nothing", arguments: [0, 10])
    func oldWatch(growth: Int64) async throws {
        let etcd = MemoryEtcd()
        let (store, backup) = try await Self.lostCommit(etcd)
        let observer = ReplicaTrial.Observer(of: store)
        etcd.put("p/k/b", "1")
        await eventually("the watch has begun") { store.value(forKey: "b") == 1 }
        let known = etcd.revision
        etcd.holdEvents(true)
        for _ in 1...20 { etcd.put("p/k/a", "9") }
        etcd.restore(backup, grownTo: growth > 0 ? known + growth : nil)
        try await blocking { try store.refresh(mayWait: true) }
        #expect(store.value(forKey: "a") == 1)
        etcd.holdEvents(false)
        await eventually("the old watch has ended") { etcd.watches > 1 || Self.isRecorded(9, observer) }
        #expect(!Self.isRecorded(9, observer))
        etcd.put("p/k/a", "5")
        await eventually("the new watch is used") { store.value(forKey: "a") == 5 }
        #expect(observer.commits.withLock { $0.last } == .external(["a": 5]))
        store.close()
    }

    @Test(
        "Contents that were requested before the restoration, and arrive after it, are requested again",
        arguments: [0, 2]
    )
    func oldAnswer(growth: Int64) async throws {
        let etcd = MemoryEtcd()
        let (store, backup) = try await Self.lostCommit(etcd)
        let observer = ReplicaTrial.Observer(of: store)
        etcd.holdEvents(true)
        let known = etcd.revision
        for _ in 1...5 { etcd.put("p/k/a", "9") }
        let (isRead, isFree) = (Gate(), Gate())
        etcd.intercept { request, etcd in
            guard request.readsPrefix else { return nil }
            etcd.intercept(nil)
            let response = try etcd.execute(request)
            isRead.open()
            await isFree.wait()
            return response
        }
        let late = Task { try await blocking { try store.refresh(mayWait: true) } }
        await isRead.wait()
        etcd.restore(backup, grownTo: growth > 0 ? known + growth : nil)
        try await blocking { try store.refresh(mayWait: true) }
        #expect(store.value(forKey: "a") == 1)
        isFree.open()
        try await late.value
        #expect(store.value(forKey: "a") == 1)
        #expect(!Self.isRecorded(9, observer))
        store.close()
    }

    @Test("A watch that begins at a revision that the backup does not have shows the backup")
    func futureWatch() async throws {
        let etcd = MemoryEtcd()
        let (first, backup) = try await Self.lostCommit(etcd)
        first.close()
        // The backup is restored between the contents and the watch.
        etcd.intercept { request, etcd in
            guard request.path == "/v3/watch" else { return nil }
            etcd.intercept(nil)
            etcd.restore(backup)
            return nil
        }
        let store = Self.store(etcd)
        store.watch()
        await eventually("the contents are those of the backup") { store.value(forKey: "a") == 1 }
        etcd.put("p/k/a", "5")
        await eventually("the watch shows the next change") { store.value(forKey: "a") == 5 }
        store.close()
    }

    // MARK: - Another cluster

    @Test(
        "Servers with another identifier, or without the keys of the suite, reset nothing until a person accepts them",
        arguments: [1, 2] as [UInt64]
    )
    func otherCluster(id: UInt64) async throws {
        let etcd = MemoryEtcd()
        let (store, _) = try await Self.lostCommit(etcd)
        var empty = MemoryEtcd.Contents()
        empty.cluster = id
        etcd.restore(empty)
        let failed = await #expect(throws: SettingsError.self) {
            try await blocking { try store.write(3, forKey: "a") }
        }
        #expect(failed?.code == .otherCluster)
        #expect(store.value(forKey: "a") == 2)
        #expect(etcd.value(of: "p/k/a") == nil)
        #expect(try store.writeLater(["b": 1]))
        #expect(store.contents() == ["a": 2, "b": 1])
        // A process that knows no values takes what it finds.
        let other = Self.store(etcd)
        _ = try await blocking { try other.acceptCluster() }
        try await blocking { try store.refresh(mayWait: true) }
        #expect(store.value(forKey: "a") == nil)
        try await blocking { try store.write(4, forKey: "a") }
        #expect(etcd.value(of: "p/k/a") == "4")
        store.close()
        other.close()
    }

    @Test("A suite that another process has begun anew on wiped servers resets nothing until a person accepts them")
    func begunAnew() async throws {
        let etcd = MemoryEtcd()
        let (store, _) = try await Self.lostCommit(etcd)
        etcd.restore(MemoryEtcd.Contents(), grownTo: 100)
        let other = Self.store(etcd)
        try await blocking { try other.write(5, forKey: "other") }
        let refused = await #expect(throws: SettingsError.self) {
            try await blocking { try store.refresh(mayWait: true) }
        }
        #expect(refused?.code == .otherCluster && store.contents() == ["a": 2])
        _ = try await blocking { try other.acceptCluster() }
        try await blocking { try store.refresh(mayWait: true) }
        #expect(store.contents() == ["other": 5])
        store.close()
        other.close()
    }

    @Test("Nothing is written into a copy of the cluster with another identifier, once the connection has ended")
    func copiedCluster() async throws {
        let etcd = MemoryEtcd()
        let (store, _) = try await Self.lostCommit(etcd)
        var copy = etcd.contents
        copy.cluster = 2
        etcd.restore(copy)
        etcd.endWatches()
        await eventually("the other cluster is reported") { store.problem?.code == .otherCluster }
        let failed = await #expect(throws: SettingsError.self) {
            try await blocking { try store.write(3, forKey: "a") }
        }
        #expect(failed?.code == .otherCluster)
        #expect(try store.writeLater(["b": 1]))
        #expect(etcd.value(of: "p/k/a") == "2" && etcd.value(of: "p/k/b") == nil && etcd.value(of: "p/fence") == nil)
        #expect(etcd.revision == copy.revision)
        store.close()
    }

    @Test(
        "A restored backup with the identifier and the keys of the suite needs no person, also if it has an earlier revision"
    )
    func ownBackup() async throws {
        let etcd = MemoryEtcd()
        let (store, backup) = try await Self.lostCommit(etcd)
        etcd.restore(backup)
        try await blocking { try store.refresh(mayWait: true) }
        #expect(store.value(forKey: "a") == 1)
        store.close()
    }

    // MARK: - The disk

    @Test(
        "The replica on the disk is replaced by that of another cluster with an equal revision, once that is accepted"
    )
    func disk() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/replica.json"
            let etcd = MemoryEtcd()
            etcd.put("p/k/a", "1")
            let local = LocalReplica(at: path, prefix: "p/")
            try local.save(
                SavedReplica(
                    values: ["a": 2],
                    revisions: ["a": etcd.revision],
                    revision: etcd.revision,
                    clusterID: 7,
                    head: nil,
                    headRevision: 0
                )
            )
            local.close()
            var configuration = Self.configuration
            configuration.replicaFile = path
            let store = EtcdStore(etcd, prefix: "p", configuration: configuration)
            let observer = ReplicaTrial.Observer(of: store)
            let refused = await #expect(throws: SettingsError.self) {
                try await blocking { try store.refresh(mayWait: true) }
            }
            #expect(refused?.code == .otherCluster && store.value(forKey: "a") == 2)
            await eventually("the problem is reported") {
                observer.errors.withLock { $0.map(\.code) == [.otherCluster] } && store.problem?.code == .otherCluster
            }
            try await blocking {
                _ = try store.acceptCluster()
                try store.refresh(mayWait: true)
            }
            await eventually("the problem is settled") { store.problem == nil }
            store.close()
            let saved = LocalReplica(at: path, prefix: "p/")
            #expect(saved.load()?.values == ["a": 1])
            #expect(saved.load()?.clusterID == 1)
            saved.close()
        }
    }
}
