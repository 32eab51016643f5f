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

    @Test("A wait ends when its task is canceled")
    func canceledWait() async {
        let timers = HeldTimers()
        let replica = Self.replica(MemoryEtcd(), timers)
        let wait = Task { await replica.wait(for: 100_000) { _ in false } }
        await eventually("the wait has begun") { timers.count == 1 }
        wait.cancel()
        #expect(await !wait.value)
    }

    // MARK: - Answers that cannot be trusted

    private static let noSpace =
        #"{"error":"etcdserver: mvcc: database space exceeded","code":8,"#
        + #""message":"etcdserver: mvcc: database space exceeded"}"#

    @Test(
        "A commit whose answer is an error or is lost is stored once, whether etcd has executed it or not",
        arguments: [
            (504, #"{"message":"The upstream server is timing out"}"#, true), (429, noSpace, true), (0, "", true),
            (0, "", false),
        ]
    )
    func unknownAnswer(_ status: Int, _ body: String, isExecuted: Bool) async throws {
        let etcd = MemoryEtcd()
        let isFirst = Atomic(true)
        let store = EtcdStore(etcd, prefix: "p")
        let observer = ReplicaTrial.Observer(of: store)
        etcd.intercept { request, etcd in
            guard request.writes("p/head"), isFirst.exchange(false, ordering: .relaxed) else { return nil }
            if isExecuted { try etcd.execute(request) }
            if status == 0 { throw MemoryEtcd.lostConnection }
            return EtcdResponse(status: status, body: Array(body.utf8))
        }
        let runs = try await blocking {
            var runs = 0
            try store.commit { transaction in
                runs += 1
                transaction["a"] = EtcdStoreTests.incremented(transaction["a"])
            }
            return runs
        }
        #expect(runs == 1 || !isExecuted)
        #expect(store.value(forKey: "a") == 1)
        #expect(etcd.value(of: "p/k/a") == "1")
        #expect(observer.commits.withLock { $0 } == [.local(["a": 1])])
        store.close()
        etcd.intercept(nil)
    }

    @Test("If no server can be asked, the error says that the outcome is unknown")
    func unknownOutcome() async throws {
        let etcd = MemoryEtcd()
        var configuration = EtcdStore.Configuration.patient
        configuration.settlingTime = .zero
        let store = EtcdStore(etcd, prefix: "p", configuration: configuration)
        try await blocking { try store.commit { $0["a"] = 1 } }
        // A watch that failed would have to be replaced before the next commit.
        await eventually("the watch is created") { etcd.watches > 0 }
        etcd.intercept { request, etcd in
            guard request.writes("p/head") else { throw MemoryEtcd.lostConnection }
            try etcd.execute(request)
            throw MemoryEtcd.lostConnection
        }
        // Otherwise, the event of the commit would show its outcome.
        etcd.holdEvents(true)
        let error = await blocking { expectError(.outcomeUnknown) { try store.commit { $0["a"] = 2 } } }
        #expect(error?.consequence == "the change may or may not be stored")
        etcd.intercept(nil)
        etcd.holdEvents(false)
        try await blocking { try store.refresh(mayWait: true) }
        #expect(store.value(forKey: "a") == 2)
        store.close()
    }

    @Test("A commit that etcd refuses because of its quota fails, and nothing is changed")
    func refusedBecauseOfQuota() async throws {
        let etcd = MemoryEtcd()
        let store = EtcdStore(etcd, prefix: "p")
        etcd.intercept { request, _ in
            request.writes("p/head") ? EtcdResponse(status: 429, body: Array(Self.noSpace.utf8)) : nil
        }
        try await blocking {
            let error = expectError(.writeFailed) { try store.write(1, forKey: "a") }
            #expect(error?.consequence == "nothing is changed")
            try store.refresh(mayWait: true)
        }
        #expect(store.value(forKey: "a") == nil)
        store.close()
        etcd.intercept(nil)
    }

    @Test("The answer to an earlier fence is not taken for that of the current one")
    func repeatedFence() async throws {
        let etcd = MemoryEtcd()
        let recorded = Mutex<EtcdResponse?>(nil)
        let isRepeated = Atomic(false)
        etcd.intercept { request, etcd in
            if request.writes("p/head") {
                // The commit is stored, and its answer is lost.
                try etcd.execute(request)
                throw MemoryEtcd.lostConnection
            }
            guard request.writes("p/fence") else { return nil }
            if let response = recorded.withLock({ $0 }), !isRepeated.exchange(true, ordering: .relaxed) {
                return response
            }
            let response = try etcd.execute(request)
            recorded.withLock { $0 = response }
            return response
        }
        let store = EtcdStore(etcd, prefix: "p")
        try await blocking {
            for number in 1...3 {
                try store.commit { $0["count"] = EtcdStoreTests.incremented($0["count"]) }
                try store.refresh(mayWait: true)
                #expect(store.value(forKey: "count") == .integer(Int128(number)))
            }
        }
        let wasRepeated = isRepeated.load(ordering: .relaxed)
        #expect(wasRepeated)
        store.close()
        etcd.intercept(nil)
    }

    @Test("The answer to an earlier commit is not taken for that of the current one")
    func repeatedCommit() async throws {
        let etcd = MemoryEtcd()
        let recorded = Mutex<EtcdResponse?>(nil)
        etcd.intercept { request, etcd in
            guard request.writes("p/head"), !request.writes("p/fence") else { return nil }
            // The second commit never arrives. The revision of the answer is made greater than that of the base.
            if let response = recorded.withLock({ $0 }) {
                etcd.intercept(nil)
                return response
            }
            let response = try etcd.execute(request)
            let text = String(decoding: response.body, as: UTF8.self)
            let later = text.replacing(/"revision":"\d+"/, with: "\"revision\":\"99\"")
            recorded.withLock { $0 = EtcdResponse(status: 200, body: Array(later.utf8)) }
            return response
        }
        let store = EtcdStore(etcd, prefix: "p")
        try await blocking {
            try store.commit { $0["count"] = 1 }
            try store.commit { $0["count"] = EtcdStoreTests.incremented($0["count"]) }
        }
        #expect(etcd.value(of: "p/k/count") == "2")
        store.close()
    }

    @Test("A watch that always fails is reported once, and changes arrive all the same")
    func failingWatch() async throws {
        let etcd = MemoryEtcd()
        let watches = Atomic(0)
        etcd.intercept { request, _ in
            guard request.path == "/v3/watch" else { return nil }
            watches.add(1, ordering: .relaxed)
            return EtcdResponse(status: 200)
        }
        var configuration = EtcdStore.Configuration.patient
        configuration.outageTolerance = .zero
        let store = EtcdStore(etcd, prefix: "p", configuration: configuration)
        let observer = ReplicaTrial.Observer(of: store)
        try await blocking { try store.write(1, forKey: "a") }
        etcd.put("p/k/a", "2")
        await eventually("the value arrives") { store.value(forKey: "a") == 2 }
        await eventually("the failure is reported") { observer.errors.withLock { $0.count } == 1 }
        await eventually("more watches have failed") { watches.load(ordering: .relaxed) >= 6 }
        #expect(observer.errors.withLock { $0.count } == 1)
        #expect(observer.recoveries.withLock { $0.count } == 0)
        store.close()
        etcd.intercept(nil)
    }
}
