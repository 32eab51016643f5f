// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

/// In these tests, a pause ends only when the test decides.
@Suite("The link of a replica, step by step", .deadlockLimit)
struct ReplicaLinkTests {
    private static let compacted =
        #"{"error":"etcdserver: mvcc: required revision has been compacted","code":11,"#
        + #""message":"etcdserver: mvcc: required revision has been compacted"}"#

    private static func replica(_ etcd: MemoryEtcd, _ timers: HeldTimers) -> Replica {
        Replica(ReplicaLayout(prefix: "p"), etcd, EtcdStore.Configuration(), thread: timers.thread)
    }

    // MARK: - Pauses

    @Test("A wish for a connection ends the pause after a failure, also if it was made before the pause begins")
    func wishAfterFailure() async {
        let (etcd, timers) = (MemoryEtcd(), HeldTimers())
        let isFirst = Atomic(true)
        let replica = Self.replica(etcd, timers)
        etcd.intercept { _, _ in
            guard isFirst.exchange(false, ordering: .relaxed) else { return nil }
            replica.reconnect()
            throw MemoryEtcd.lostConnection
        }
        replica.start()
        await eventually("the contents are read") { replica.peek { $0.hasContents } }
        replica.close()
        etcd.intercept(nil)
    }

    @Test("A wish for a connection ends the pause after a watch that has missed something")
    func wishAfterMissedEvents() async {
        let (etcd, timers) = (MemoryEtcd(), HeldTimers())
        let isFirst = Atomic(true)
        let replica = Self.replica(etcd, timers)
        etcd.intercept { request, etcd in
            guard request.path == "/v3/watch", isFirst.exchange(false, ordering: .relaxed) else { return nil }
            // The watch is created in another cluster than that of the contents.
            var contents = etcd.contents
            contents.cluster = 2
            etcd.restore(contents)
            replica.reconnect()
            return nil
        }
        replica.start()
        await eventually("the next watch is created") { etcd.watches == 2 }
        #expect(replica.peek { $0.clusterID } == 2)
        replica.close()
        etcd.intercept(nil)
    }

    @Test("A read that compactions interrupt is reported, and is repeated after a pause")
    func compactedRead() async {
        let (etcd, timers) = (MemoryEtcd(), HeldTimers())
        let reads = Atomic(0)
        let replica = Self.replica(etcd, timers)
        let observer = ReplicaTrial.Observer()
        replica.update { $0.observer = observer }
        etcd.intercept { request, _ in
            guard request.readsPrefix else { return nil }
            reads.add(1, ordering: .relaxed)
            return EtcdResponse(status: 400, body: Array(Self.compacted.utf8))
        }
        replica.start()
        await eventually("the failure is reported") { observer.errors.withLock { $0.count } == 1 }
        await eventually("there is a pause") { timers.count == 1 }
        // Those of one attempt.
        #expect(reads.load(ordering: .relaxed) == 3)
        #expect(observer.errors.withLock { $0.first?.remedy.contains("compact") } == true)
        etcd.intercept(nil)
        timers.fire()
        await eventually("the contents are read") { replica.peek { $0.hasContents } }
        replica.close()
    }

    // MARK: - Waits

    @Test("A wait has one timer, whatever the number of changes")
    func oneTimer() async {
        let timers = HeldTimers()
        let checks = Atomic(0)
        let replica = Self.replica(MemoryEtcd(), timers)
        let hasEnded = Atomic(false)
        let wait = Task {
            let holds = await replica.wait(for: 100_000) { _ in checks.add(1, ordering: .relaxed).newValue >= 20 }
            hasEnded.store(true, ordering: .releasing)
            return holds
        }
        await eventually("the condition holds") {
            replica.update { _ in }
            return hasEnded.load(ordering: .acquiring)
        }
        #expect(await wait.value)
        #expect(timers.count <= 1)
    }

    @Test("A wait whose condition holds at once has no timer, and one whose time is over ends")
    func endOfTime() async {
        let timers = HeldTimers()
        let replica = Self.replica(MemoryEtcd(), timers)
        #expect(await replica.wait(for: 100_000) { _ in true })
        #expect(timers.count == 0)
        let wait = Task { await replica.wait(for: 100_000) { _ in false } }
        await eventually("the wait has begun") { timers.count == 1 }
        timers.fire()
        #expect(await !wait.value)
    }

    @Test("A wait ends when its task is canceled")
    func canceledWait() async {
        let timers = HeldTimers()
        let replica = Self.replica(MemoryEtcd(), timers)
        let wait = Task { await replica.wait(for: 100_000) { _ in false } }
        await eventually("the wait has begun") { timers.count == 1 }
        wait.cancel()
        #expect(await !wait.value)
    }

    // MARK: - Foreign answers

    @Test("A commit that etcd has executed, and that a proxy answers with an error in JSON, is stored once")
    func proxyTimeout() async throws {
        let etcd = MemoryEtcd()
        let isFirst = Atomic(true)
        let store = EtcdStore(etcd, prefix: "p")
        etcd.intercept { request, etcd in
            guard request.writes("p/head"), isFirst.exchange(false, ordering: .relaxed) else { return nil }
            try etcd.execute(request)
            return EtcdResponse(status: 504, body: Array(#"{"message":"The upstream server is timing out"}"#.utf8))
        }
        let runs = try await blocking {
            var runs = 0
            try store.commit { transaction in
                runs += 1
                transaction["a"] = EtcdStoreTests.incremented(transaction["a"])
            }
            return runs
        }
        #expect(runs == 1)
        #expect(store.value(forKey: "a") == 1)
        #expect(etcd.value(of: "p/k/a") == "1")
        store.close()
        etcd.intercept(nil)
    }
}
