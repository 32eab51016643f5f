// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: several stores", .requiresEtcd, .deadlockLimit)
struct EtcdStoreTests {
    /// Creates two stores with one prefix.
    static func pair() async throws -> (EtcdStore, EtcdStore, prefix: String) {
        let urls = try await SharedEtcd.cluster.urls
        let prefix = "\(UUID().uuidString)/"
        return (try EtcdStore(urls: urls, prefix: prefix), try EtcdStore(urls: urls, prefix: prefix), prefix)
    }

    @Test("A body runs again on the newest contents if another store has changed them meanwhile")
    func rerun() async throws {
        let (first, second, _) = try await Self.pair()
        try await blocking {
            try first.commit { $0["count"] = 1 }
            try second.refresh(mayWait: true)
            var runs: [StoredValue?] = []
            try second.commit { transaction in
                runs.append(transaction["count"])
                if runs.count == 1 { try first.commit { $0["count"] = 10 } }
                if runs.count == 2 { try first.write(5, forKey: "other") }
                transaction["mine"] = transaction["count"]
            }
            #expect(runs == [1, 10, 10])
            #expect(second.contents() == ["count": 10, "mine": 10, "other": 5])
            try first.refresh(mayWait: true)
            #expect(first.contents() == second.contents())
        }
    }

    @Test("A blind write replaces what another store has written meanwhile")
    func blindWrite() async throws {
        let (first, second, _) = try await Self.pair()
        try await blocking {
            try first.commit { $0["a"] = 1 }
            try second.refresh(mayWait: true)
            try second.commit(isBlind: true) { transaction in
                try first.write(2, forKey: "a")
                transaction["a"] = 3
                transaction["b"] = nil
            }
            #expect(second.contents() == ["a": 3])
            // The value is equal when the body runs, and is not when the write is stored.
            try second.commit(isBlind: true) { transaction in
                try first.write(4, forKey: "a")
                transaction["a"] = 3
            }
            #expect(second.contents() == ["a": 3])
        }
    }

    @Test("A commit that changes nothing is based on the newest contents")
    func emptyCommit() async throws {
        let (first, second, _) = try await Self.pair()
        try await blocking {
            try first.commit { $0["a"] = 1 }
            try second.refresh(mayWait: true)
            var seen: [StoredValue?] = []
            try second.commit { transaction in
                if seen.isEmpty { try first.write(2, forKey: "a") }
                seen.append(transaction["a"])
            }
            #expect(seen == [1, 2])
        }
    }

    static func incremented(_ value: StoredValue?) -> StoredValue {
        if case .integer(let count)? = value { .integer(count + 1) } else { 1 }
    }

    @Test("A change, also of another program, reaches a store without a read")
    func watching() async throws {
        let (first, second, prefix) = try await Self.pair()
        let observer = ReplicaTrial.Observer(of: first)
        try await blocking { try second.commit { $0["a"] = 1 } }
        await eventually("the change has arrived") { observer.commits.withLock { $0 } == [.external(["a": 1])] }
        let client = try etcdClient(try await SharedEtcd.cluster.urls)
        try await client.put("\(prefix)k/a", "hello")
        _ = try await client.execute(EtcdTransaction(if: [], then: [.delete(EtcdKeyRange("\(prefix)k/a"))]))
        await eventually("the changes have arrived") {
            observer.commits.withLock { $0 }
                == [.external(["a": 1]), .external(["a": "hello"]), .external(["a": nil])]
        }
        // The key of another suite, whose name begins with the same letters.
        try await client.put("\(prefix.dropLast())x/k/a", "1")
        try await blocking { try first.refresh(mayWait: true) }
        #expect(first.contents() == [:])
    }

    @Test("Too many changes, and too large values, are refused before they are sent")
    func limits() async throws {
        let (store, _, _) = try await Self.pair()
        try await blocking {
            try store.commit { for number in 0..<126 { $0["k\(number)"] = 1 } }
            #expect(store.contents().count == 126)
            expectError(.transactionTooLarge) {
                try store.commit { for number in 0..<127 { $0["k\(number)"] = 2 } }
            }
            expectError(.transactionTooLarge) {
                try store.write(.string(String(repeating: "x", count: 2 << 20)), forKey: "large")
            }
            #expect(store.value(forKey: "k0") == 1)
            #expect(store.value(forKey: "large") == nil)
        }
    }

    @Test("Without a server, reads return defaults, writes fail, and the reason is reported once")
    func firstStartOffline() async throws {
        let proxy = try FaultyProxy(to: 1)
        let store = try EtcdStore(urls: [proxy.url], prefix: "p") { configuration in
            configuration.timeout = .milliseconds(300)
            configuration.requestTimeout = .milliseconds(300)
        }
        let observer = ReplicaTrial.Observer(of: store)
        await blocking {
            #expect(store.value(forKey: "a") == nil)
            let error = #expect(throws: SettingsError.self) { try store.commit { $0["a"] = 1 } }
            #expect(error?.code == .serverUnavailable)
            #expect(error?.consequence == "nothing is changed")
        }
        #expect(store.problem?.code == .serverUnavailable)
        guard case .readOnly(let path, _) = store.persistence else {
            Issue.record("the store claims that it can store values")
            return
        }
        #expect(path == "etcd:p/")
        await eventually("the problem is reported") { observer.errors.withLock { $0.count } == 1 }
    }

    @Test("Writes wait for a server that starts, and a settled problem is reported")
    func reconnecting() async throws {
        let cluster = try await SharedEtcd.cluster
        let proxy = try FaultyProxy(to: cluster.port())
        let prefix = "\(UUID().uuidString)/"
        let store = try EtcdStore(urls: [proxy.url], prefix: prefix) { $0.outageTolerance = .zero }
        let observer = ReplicaTrial.Observer(of: store)
        try await blocking { try store.commit { $0["a"] = 1 } }
        proxy.refuseConnections()
        proxy.dropConnections()
        await eventually("the outage is reported") { observer.errors.withLock { $0.count } == 1 }
        #expect(store.value(forKey: "a") == 1)
        #expect(store.problem?.consequence == "the last known values are used, and assigned values are sent later")
        // Another store changes the suite meanwhile.
        let other = try EtcdStore(urls: cluster.urls, prefix: prefix)
        try await blocking { try other.commit { $0["b"] = 2 } }
        proxy.refuseConnections(false)
        await eventually("the change has arrived") { store.value(forKey: "b") == 2 }
        await eventually("the problem is settled") { observer.recoveries.withLock { $0.count } == 1 }
        #expect(store.problem == nil)
        try await blocking { try store.commit { $0["c"] = 3 } }
    }

    @Test("Sets that block all threads of Swift concurrency end")
    func blockedThreads() async throws {
        let (first, second, _) = try await Self.pair()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                let store = number.isMultiple(of: 2) ? first : second
                group.addTask { try store.write(1, forKey: "k\(number)") }
            }
            try await group.waitForAll()
        }
        try await blocking { try first.refresh(mayWait: true) }
        #expect(first.contents().count == 32)
    }

    @Test("A closed store returns its last contents, refuses commits, and is released")
    func closing() async throws {
        weak var released: EtcdStore?
        try await {
            let (store, other, _) = try await Self.pair()
            released = store
            try await blocking {
                try store.commit { $0["a"] = 1 }
                store.close()
                #expect(store.value(forKey: "a") == 1)
                let error = #expect(throws: SettingsError.self) { try store.commit { $0["a"] = 2 } }
                #expect(error?.code == .suiteFinished)
                try other.commit { $0["a"] = 3 }
            }
            #expect(store.value(forKey: "a") == 1)
        }()
        // A thread that has just ended may still have a reference.
        await eventually("the store is released") { released == nil }
    }

    @Test("A store that is released ends its watch")
    func releasing() async throws {
        let cluster = try await SharedEtcd.cluster
        let proxy = try FaultyProxy(to: cluster.port())
        try await {
            let store = try EtcdStore(urls: [proxy.url], prefix: "\(UUID().uuidString)/")
            try await blocking { try store.commit { $0["a"] = 1 } }
            #expect(proxy.connectionCount > 0)
        }()
        await eventually("the connections are closed") { proxy.connectionCount == 0 }
    }
}
