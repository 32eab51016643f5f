// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: assignments and the replica on the disk", .requiresEtcd, .deadlockLimit)
struct EtcdAssignmentTests {
    /// A store with a file, behind a proxy.
    private static func store(
        _ proxy: FaultyProxy,
        _ prefix: String,
        in directory: String
    ) throws -> EtcdStore {
        try EtcdStore(urls: [proxy.url], prefix: prefix) { $0.replicaFile = "\(directory)/replica.json" }
    }

    private static func withProxy(_ body: (FaultyProxy, String, String) async throws -> Void) async throws {
        let proxy = try FaultyProxy(to: try await SharedEtcd.cluster.port())
        try await withTemporaryDirectory { try await body(proxy, "\(UUID().uuidString)/", $0) }
    }

    private static func disconnect(_ proxy: FaultyProxy, _ store: EtcdStore) async {
        proxy.refuseConnections()
        proxy.dropConnections()
        await eventually("the store is disconnected") { store.problem != nil }
    }

    @Test("An assignment is visible at once without a server, and is stored when there is one")
    func assignmentOffline() async throws {
        try await Self.withProxy { proxy, prefix, directory in
            let store = try Self.store(proxy, prefix, in: directory)
            let setting = Setting("port", default: 80, suite: SettingsSuite(store: store))
            try await blocking { try setting.set(1) }
            await Self.disconnect(proxy, store)
            setting.value = 2
            setting.value = 3
            #expect(setting.value == 3)
            proxy.refuseConnections(false)
            try await blocking { try setting.suite.synchronize() }
            let other = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix)
            try await blocking { try other.refresh(mayWait: true) }
            #expect(other.contents() == ["port": 3])
            store.close()
        }
    }

    @Test("A transaction sees the assignments before it, and stores them first")
    func order() async throws {
        try await Self.withProxy { proxy, prefix, directory in
            let store = try Self.store(proxy, prefix, in: directory)
            let setting = Setting("port", default: 80, suite: SettingsSuite(store: store))
            for number in 1...5 {
                setting.value = number
                let value = try await blocking { try setting.update { $0 += 10 } }
                #expect(value == number + 10)
                #expect(setting.value == number + 10)
            }
            store.close()
        }
    }

    @Test("An assignment is dropped and reported if another process has changed the value first")
    func overtaken() async throws {
        try await Self.withProxy { proxy, prefix, directory in
            let store = try Self.store(proxy, prefix, in: directory)
            let reporter = RecordingReporter()
            let suite = SettingsSuite(store: store, reporter: reporter)
            let setting = Setting("port", default: 80, suite: suite)
            let free = Setting("free", default: 0, suite: suite)
            try await blocking { try setting.set(1) }
            await Self.disconnect(proxy, store)
            setting.value = 2
            free.value = 2
            let other = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix)
            try await blocking { try other.write(3, forKey: "port") }
            proxy.refuseConnections(false)
            let lost = await #expect(throws: SettingsError.self) { try await blocking { try suite.synchronize() } }
            #expect(lost?.code == .pendingWriteDropped && lost?.key == "port")
            try await blocking { try suite.synchronize() }
            #expect(setting.value == 3)
            #expect(free.value == 2)
            await eventually("the loss is reported") {
                reporter.errors.filter { $0.code == .pendingWriteDropped }.map(\.key) == ["port"]
            }
            store.close()
        }
    }

    @Test("A process starts with its last replica when no server can be reached, and says so")
    func lastReplica() async throws {
        try await Self.withProxy { proxy, prefix, directory in
            let first = try Self.store(proxy, prefix, in: directory)
            try await blocking {
                try first.commit {
                    $0["a"] = 1
                    $0["b"] = ["x", 1.5]
                }
                try first.commit { $0["c"] = nil }
            }
            first.close()
            proxy.refuseConnections()
            let second = try Self.store(proxy, prefix, in: directory)
            #expect(second.contents() == ["a": 1, "b": ["x", 1.5]])
            await eventually("the problem is known") { second.problem?.code == .serverUnavailable }
            // Another process changes the suite; the difference is noticed when a server can be reached.
            let other = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix)
            try await blocking { try other.write(2, forKey: "a") }
            proxy.refuseConnections(false)
            await eventually("the change has arrived") { second.value(forKey: "a") == 2 }
            second.close()
            // A file of another suite is not used.
            proxy.refuseConnections()
            let third = try Self.store(proxy, "other/", in: directory)
            #expect(third.contents() == [:])
            third.close()
        }
    }

    @Test("A store that is closed leaves its assignments to the next one")
    func closing() async throws {
        try await Self.withProxy { proxy, prefix, directory in
            proxy.refuseConnections()
            let first = try Self.store(proxy, prefix, in: directory)
            #expect(try first.writeLater(["a": 1, "b": nil]))
            first.close()
            #expect(try first.writeLater(["a": 2]) == false)
            proxy.refuseConnections(false)
            let second = try Self.store(proxy, prefix, in: directory)
            try await blocking { try second.synchronize() }
            #expect(second.contents() == ["a": 1])
            second.close()
        }
    }

    @Test("A process reads the values of a server first, and not those that its last replica has")
    func firstRead() async throws {
        try await Self.withProxy { proxy, prefix, directory in
            let first = try Self.store(proxy, prefix, in: directory)
            try await blocking { try first.write(8080, forKey: "port") }
            first.close()
            for port: StoredValue in [443, 444, 445] {
                let other = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix)
                try await blocking { try other.write(port, forKey: "port") }
                other.close()
                let store = try Self.store(proxy, prefix, in: directory)
                #expect(await blocking { store.value(forKey: "port") } == port)
                store.close()
            }
        }
    }

    @Test(
        "An assignment before the first answer of a server replaces what is stored then, whatever the last replica has"
    )
    func firstAssignment() async throws {
        try await Self.withProxy { proxy, prefix, directory in
            let first = try Self.store(proxy, prefix, in: directory)
            try await blocking { try first.write(1, forKey: "port") }
            first.close()
            let other = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix)
            try await blocking { try other.write(2, forKey: "port") }
            proxy.refuseConnections()
            let second = try Self.store(proxy, prefix, in: directory)
            #expect(await blocking { second.value(forKey: "port") } == 1)
            #expect(try second.writeLater(["port": 3]))
            proxy.refuseConnections(false)
            try await blocking { try second.synchronize() }
            #expect(second.value(forKey: "port") == 3)
            try await blocking { try other.refresh(mayWait: true) }
            #expect(other.value(forKey: "port") == 3)
            second.close()
            other.close()
        }
    }

    @Test("A suite that waits for its contents has those of a distant server, and says when it has none")
    func waiting() async throws {
        try await Self.withProxy { proxy, prefix, directory in
            var configuration = EtcdStore.Configuration()
            configuration.replicaFile = "\(directory)/replica.json"
            let other = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix)
            func port() async throws -> [Int] {
                let (suite, isCurrent) = try await SettingsSuite.etcd(
                    "acme",
                    endpoints: [proxy.url],
                    prefix: prefix,
                    configuration: configuration,
                    within: longestWait
                )
                let port = Setting("port", default: 80, suite: suite).value
                await suite.finish()
                return [port, isCurrent ? 1 : 0]
            }
            try await blocking { _ = try other.write(1, forKey: "port", mayWait: true) }
            #expect(try await port() == [1, 1])
            proxy.change(.toServer) { $0.delay = 0.06 }
            proxy.change(.toClient) { $0.delay = 0.06 }
            for number in 2...3 {
                try await blocking { _ = try other.write(.integer(Int128(number)), forKey: "port", mayWait: true) }
                #expect(try await port() == [number, 1])
            }
            proxy.refuseConnections()
            try await blocking { _ = try other.write(4, forKey: "port", mayWait: true) }
            #expect(try await port() == [3, 0])
            other.close()
        }
    }

    @Test("A value that etcd never accepts is refused when it is assigned")
    func tooLarge() async throws {
        try await Self.withProxy { proxy, prefix, directory in
            let store = try Self.store(proxy, prefix, in: directory)
            let error = #expect(throws: SettingsError.self) {
                try store.writeLater(["a": .string(String(repeating: "x", count: 2 << 20))])
            }
            #expect(error?.code == .unstorable)
            #expect(store.value(forKey: "a") == nil)
            // It does not become a pending write, which would fail every later set.
            let reporter = RecordingReporter()
            let suite = SettingsSuite(store: store, reporter: reporter)
            Setting("a", default: "", suite: suite).value = String(repeating: "x", count: 2 << 20)
            #expect(reporter.errors.map(\.code) == [.unstorable])
            #expect(suite.status.unsavedCount == 0)
            try await Setting("b", default: 0, suite: suite).set(1)
            store.close()
        }
    }
}

@Suite("Pending assignments")
struct PendingAssignmentTests {
    @Test("An assignment follows one of another process only if its process knew that")
    func strangers() {
        var pending = PendingAssignments()
        let batch = { (id: String, origin: String, adopters: Set<String>) in
            PendingAssignments.Batch(
                id: id,
                origin: origin,
                adopters: adopters,
                edits: ["a": 1],
                bases: ["a": 5],
                clusterID: 1
            )
        }
        pending.append(batch("1", "p", ["q"]))
        pending.append(batch("2", "q", []))
        pending.append(batch("3", "r", []))
        pending.append(batch("4", "p", []))
        if let first = pending.begin() { pending.end(first) { _, _ in 9 } }
        #expect(pending.batches.map(\.bases) == [["a": 9], ["a": 5], ["a": 9]])
    }
}
