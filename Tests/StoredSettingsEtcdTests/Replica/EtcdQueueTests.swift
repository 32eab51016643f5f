// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import ProcessSupport
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: assignments of several processes", .requiresEtcd, .deadlockLimit)
struct EtcdQueueTests {
    /// An address that refuses connections.
    private static let noServer = "http://127.0.0.1:1"

    private static func prefix() -> String { "\(UUID().uuidString)/" }

    /// Lets a process assign numbers, one after the other, and kills it.
    private static func assign(
        _ numbers: String,
        to keys: String,
        _ prefix: String,
        in directory: String
    ) async throws {
        try await blocking {
            let probe = try ChildProcess(
                program: "etcd-probe",
                [noServer, prefix, "\(directory)/replica.json", "assign", keys, numbers],
                in: directory
            )
            try probe.waitForOutput("assigned \(numbers)")
            probe.end()
        }
    }

    private static func store(_ prefix: String, in directory: String) async throws -> EtcdStore {
        try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix) { configuration in
            configuration.replicaFile = "\(directory)/replica.json"
        }
    }

    /// Sends the assignments that wait, and returns the contents after them.
    private static func settledContents(of store: EtcdStore) async throws -> [String: StoredValue] {
        try await blocking {
            try store.synchronize()
            try store.refresh(mayWait: true)
        }
        return store.contents()
    }

    @Test("The last assignment wins, also if it was made by a process that has taken over earlier ones")
    func generations() async throws {
        try await withTemporaryDirectory { directory in
            let prefix = Self.prefix()
            try await Self.assign("0,1", to: "a", prefix, in: directory)
            try await Self.assign("9", to: "a,b", prefix, in: directory)
            let store = try await Self.store(prefix, in: directory)
            #expect(try await Self.settledContents(of: store) == ["a": 9, "b": 9])
            store.close()
        }
    }

    @Test("Assignments of another prefix stay in the file until a store with that prefix sends them")
    func otherPrefix() async throws {
        try await withTemporaryDirectory { directory in
            let (first, second) = (Self.prefix(), Self.prefix())
            try await Self.assign("7", to: "a", first, in: directory)
            for (prefix, expected): (String, [String: StoredValue]) in [(second, [:]), (first, ["a": 7])] {
                let store = try await Self.store(prefix, in: directory)
                #expect(try await Self.settledContents(of: store) == expected)
                store.close()
            }
        }
    }

    @Test("An assignment that was made for another cluster is dropped and reported")
    func otherCluster() async throws {
        try await withTemporaryDirectory { directory in
            let (etcd, other) = (MemoryEtcd(), MemoryEtcd())
            var contents = other.contents
            contents.cluster = 2
            other.restore(contents)
            let first = EtcdStore(etcd, prefix: "p", replicaFile: "\(directory)/replica.json")
            try await blocking { try first.refresh(mayWait: true) }
            etcd.intercept { _, _ in
                throw EtcdTransportError(.unreachable, mayHaveArrived: false, reason: "there is no server")
            }
            #expect(try first.writeLater(["a": 1]))
            first.close()
            let second = EtcdStore(other, prefix: "p", replicaFile: "\(directory)/replica.json")
            let observer = ReplicaTrial.Observer(of: second)
            #expect(try await Self.settledContents(of: second) == [:])
            await eventually("the loss is reported") {
                observer.errors.withLock { $0.map(\.code) }.contains(.pendingWriteDropped)
            }
            second.close()
        }
    }

    @Test("An assignment of a store that ended before the answer does not replace what was written since")
    func endBeforeAnswer() async throws {
        try await withTemporaryDirectory { directory in
            let etcd = MemoryEtcd()
            let (assigned, stored, isOver) = (Gate(), Gate(), Gate())
            defer { isOver.open() }
            etcd.intercept { request, etcd in
                // The contents arrive after the assignment, so its base is unknown first.
                if request.path == "/v3/kv/range" { await assigned.wait() }
                guard request.writes("p/head") else { return nil }
                try etcd.execute(request)
                stored.open()
                // The answer never arrives.
                await isOver.wait()
                throw MemoryEtcd.lostConnection
            }
            let first = EtcdStore(etcd, prefix: "p", replicaFile: "\(directory)/replica.json")
            #expect(try first.writeLater(["a": 1]))
            assigned.open()
            await stored.wait()
            first.close()
            etcd.intercept(nil)
            try await blocking { try EtcdStore(etcd, prefix: "p").write(2, forKey: "a") }
            let second = EtcdStore(etcd, prefix: "p", replicaFile: "\(directory)/replica.json")
            let observer = ReplicaTrial.Observer(of: second)
            #expect(try await Self.settledContents(of: second) == ["a": 2])
            await eventually("the loss is reported") {
                observer.errors.withLock { $0.map(\.code) }.contains(.pendingWriteDropped)
            }
            second.close()
        }
    }

    @Test("An assignment during the start of a store follows those of earlier processes")
    func assignmentDuringStart() async throws {
        try await withTemporaryDirectory { directory in
            let prefix = Self.prefix()
            try await Self.assign("1", to: "a", prefix, in: directory)
            let isReading = DispatchSemaphore(value: 0)
            let isAssigned = DispatchSemaphore(value: 0)
            let store = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix) { configuration in
                configuration.replicaFile = "\(directory)/replica.json"
                configuration.openReplicaFile = { path in
                    SlowFile(LocalStores.file(at: path)) {
                        isReading.signal()
                        // A store that is not ready lets assignments wait.
                        _ = isAssigned.wait(timeout: .now() + 0.2)
                    }
                }
            }
            async let start: Void = blocking { store.watch() }
            try await blocking {
                isReading.wait()
                _ = try store.writeLater(["a": 2, "b": 2])
                isAssigned.signal()
            }
            await start
            #expect(store.contents() == ["a": 2, "b": 2])
            #expect(try await Self.settledContents(of: store) == ["a": 2, "b": 2])
            store.close()
        }
    }

    @Test("A set waits only for assignments before it")
    func endlessAssignments() async throws {
        let store = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: Self.prefix())
        let isEnded = Mutex(false)
        async let assignments: Void = blocking {
            var number = 0
            while !isEnded.withLock({ $0 }) {
                number += 1
                _ = try store.writeLater(["a": .integer(Int128(number)), "n\(number % 2)": 1])
                // Each set waits for the assignments before it, which a slow machine must not have thousands of.
                while store.replica.peek({ $0.pending.batches.count }) > 8, !isEnded.withLock({ $0 }) { usleep(1_000) }
            }
        }
        try await blocking {
            defer { isEnded.withLock { $0 = true } }
            for number in 1...3 { try store.write(.integer(Int128(number)), forKey: "b") }
            try store.synchronize()
        }
        try await assignments
        #expect(store.value(forKey: "b") == 3)
        store.close()
    }

    @Test("When the transport is closed, assignments wait without a busy loop, and that is reported")
    func closedTransport() async throws {
        let etcd = MemoryEtcd()
        let store = EtcdStore(etcd, prefix: "p")
        let observer = ReplicaTrial.Observer(of: store)
        try await blocking { try store.write(1, forKey: "a") }
        let transactions = Atomic(0)
        etcd.intercept { request, _ in
            if request.path == "/v3/kv/txn" { transactions.add(1, ordering: .relaxed) }
            throw EtcdTransportError(.closed, mayHaveArrived: false, reason: "the transport is closed")
        }
        let start = ContinuousClock.now
        #expect(try store.writeLater(["a": 2]))
        await eventually("the failure is reported") {
            observer.errors.withLock { errors in
                errors.contains { $0.consequence.hasPrefix("the assigned values are used in this process") }
            }
        }
        #expect(store.value(forKey: "a") == 2)
        // The pauses double from 0.05 s to 2.5 s at least, so the number depends on how long the test has waited.
        let count = transactions.load(ordering: .relaxed)
        #expect(Double(count) < 10 + (ContinuousClock.now - start).seconds / 2)
        store.close()
    }
}

/// A store whose first read calls a closure.
private final class SlowFile: SettingsStore {
    private let file: any SettingsStore
    private let isFirst = Atomic(true)
    private let firstRead: @Sendable () -> Void

    init(_ file: any SettingsStore, _ firstRead: @escaping @Sendable () -> Void) {
        (self.file, self.firstRead) = (file, firstRead)
    }

    var persistence: SettingsPersistence { file.persistence }
    func setObserver(_ observer: any StoreObserver) { file.setObserver(observer) }
    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        file.withValue(forKey: key, body)
    }
    func contents() -> [String: StoredValue] {
        if isFirst.exchange(false, ordering: .relaxed) { firstRead() }
        return file.contents()
    }
    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try file.commit(isBlind: isBlind, body)
    }
    func synchronize() throws { try file.synchronize() }
    func close() { file.close() }
}
