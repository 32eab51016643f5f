// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: lost answers, compaction, backups and tokens", .requiresEtcd, .deadlockLimit)
struct EtcdStoreOutcomeTests {
    /// A store behind a proxy.
    static func proxied(
        _ change: (inout EtcdStore.Configuration) -> Void = { _ in }
    ) async throws -> (EtcdStore, FaultyProxy, prefix: String) {
        let cluster = try await SharedEtcd.cluster
        let proxy = try FaultyProxy(to: cluster.port())
        let prefix = "\(UUID().uuidString)/"
        return (try EtcdStore(urls: [proxy.url], prefix: prefix, change: change), proxy, prefix)
    }

    @Test("A commit whose answer is lost is stored once, and its body does not run again")
    func lostAnswer() async throws {
        let (store, proxy, _) = try await Self.proxied()
        defer { proxy.stop() }
        let observer = ReplicaTrial.Observer()
        store.setObserver(observer)
        try await blocking {
            for number in 0..<10 {
                var runs = 0
                try store.commit { transaction in
                    runs += 1
                    // The connection ends with the first byte from the server, which may be of the answer or of the watch.
                    if runs == 1 { proxy.change(.toClient) { $0.bytesUntilEnd = 0 } }
                    transaction["count"] = EtcdStoreTests.incremented(transaction["count"])
                }
                // Finding out the outcome changes the prefix, so later bodies may run on the contents before that.
                if number == 0 { #expect(runs == 1) }
                #expect(store.value(forKey: "count") == .integer(Int128(number + 1)))
            }
        }
        let expected = (1...10).map { ReplicaTrial.Commit.local(["count": .integer($0)]) }
        #expect(observer.commits.withLock { $0 } == expected)
    }

    @Test("A commit that never arrives is sent again")
    func lostRequest() async throws {
        let (store, proxy, prefix) = try await Self.proxied()
        defer { proxy.stop() }
        try await blocking { try store.commit { $0["count"] = 0 } }
        // Otherwise, the request for the watch could be the one that is cut off.
        try await etcdClient(try await SharedEtcd.cluster.urls).put("\(prefix)k/w", "1")
        await eventually("the watch has begun") { store.value(forKey: "w") == 1 }
        try await blocking {
            for number in 0..<10 {
                var runs = 0
                try store.commit { transaction in
                    runs += 1
                    if runs == 1 { proxy.change(.toServer) { $0.bytesUntilEnd = 60 } }
                    transaction["count"] = EtcdStoreTests.incremented(transaction["count"])
                }
                #expect(runs > 1)
                #expect(store.value(forKey: "count") == .integer(Int128(number + 1)))
            }
        }
    }

    @Test("If no server can be asked, the error says that the outcome is unknown")
    func unknownOutcome() async throws {
        let (store, proxy, prefix) = try await Self.proxied { configuration in
            configuration.requestTimeout = noTimeout
            configuration.settlingTime = .zero
        }
        defer { proxy.stop() }
        let client = try etcdClient(try await SharedEtcd.cluster.urls)
        let range = EtcdRangeRequest(EtcdKeyRange(key: ReplicaLayout(prefix: prefix).name(ofKey: "a")))
        try await blocking { try store.commit { $0["a"] = 1 } }
        async let result = blocking {
            #expect(throws: SettingsError.self) {
                try store.commit { transaction in
                    proxy.change(.toClient) { $0.isDiscarding = true }
                    transaction["a"] = 2
                }
            }
        }
        // Only the answer is lost.
        try await eventually("the commit is not stored") {
            try await client.range(range).keyValues.first?.value == Array("2".utf8)
        }
        proxy.refuseConnections()
        proxy.dropConnections()
        let error = await result
        #expect(error?.code == .outcomeUnknown)
        #expect(error?.consequence == "the change may or may not be stored")
        proxy.heal()
        try await blocking { try store.refresh() }
        #expect(store.value(forKey: "a") == 2)
    }

    @Test("A late duplicate of a commit whose outcome was settled changes nothing")
    func fence() async throws {
        let (store, proxy, prefix) = try await Self.proxied()
        defer { proxy.stop() }
        let client = try etcdClient(try await SharedEtcd.cluster.urls)
        let layout = ReplicaLayout(prefix: prefix)
        try await blocking { try store.commit { $0["a"] = 1 } }
        let contents = try await client.contents(of: layout.range)
        let condition = EtcdCompare(layout.range, .less, .modRevision(contents.header.revision + 1))
        let late = EtcdTransaction(if: [condition], then: [.put(layout.name(ofKey: "a"), Array("2".utf8))])
        try await client.put("\(prefix)fence", "x")
        #expect(try await client.execute(late).succeeded == false)
        // The condition holds for a prefix without keys.
        let empty = EtcdCompare(ReplicaLayout(prefix: UUID().uuidString).range, .less, .modRevision(1))
        #expect(try await client.execute(EtcdTransaction(if: [empty], then: [])).succeeded)
    }

    @Test("After a compaction while a store was disconnected, the difference is one external commit")
    func compaction() async throws {
        try await withEtcd { cluster in
            let proxy = try FaultyProxy(to: cluster.port())
            defer { proxy.stop() }
            let store = try EtcdStore(urls: [proxy.url], prefix: "s")
            let observer = ReplicaTrial.Observer()
            store.setObserver(observer)
            try await blocking {
                try store.commit {
                    $0["a"] = 1
                    $0["b"] = 1
                }
            }
            proxy.refuseConnections()
            proxy.dropConnections()
            await eventually("the store is disconnected") { store.problem != nil }
            let other = try EtcdStore(urls: cluster.urls, prefix: "s")
            try await blocking {
                for number in 2...5 { try other.commit { $0["a"] = .integer(Int128(number)) } }
                try other.commit { $0["b"] = nil }
            }
            let client = try etcdClient(cluster.urls)
            let revision = try await client.range(EtcdRangeRequest(EtcdKeyRange("s"))).header.revision
            _ = try await blocking { try cluster.control(["compact", "\(revision)"]) }
            proxy.refuseConnections(false)
            await eventually("the store is connected") { store.problem == nil && store.value(forKey: "a") == 5 }
            #expect(
                observer.commits.withLock { $0 } == [.local(["a": 1, "b": 1]), .external(["a": 5, "b": nil])]
            )
            try await blocking { try store.commit { $0["c"] = 1 } }
        }
    }

    @Test("After a backup is restored, its contents are used, and commits continue")
    func backup() async throws {
        try await withEtcd { cluster in
            let store = try EtcdStore(urls: cluster.urls, prefix: "s")
            let observer = ReplicaTrial.Observer()
            store.setObserver(observer)
            try await blocking {
                try store.commit { $0["a"] = 1 }
                try cluster.saveBackup()
                for number in 2...9 { try store.commit { $0["a"] = .integer(Int128(number)) } }
                try store.commit { $0["b"] = 1 }
                try cluster.restoreBackup()
                // The first commit after the restoration must not be based on lost values.
                var last: StoredValue?
                try store.commit { transaction in
                    last = transaction["a"]
                    transaction["c"] = transaction["b"] ?? "none"
                }
                #expect(last == 1)
                #expect(store.contents() == ["a": 1, "c": "none"])
            }
            let other = try EtcdStore(urls: cluster.urls, prefix: "s")
            try await blocking { try other.commit { $0["a"] = 2 } }
            await eventually("the watch continues") { store.value(forKey: "a") == 2 }
        }
    }

    @Test("Users and passwords come from files, a lost token is replaced, and a refusal is reported with a fix")
    func credentials() async throws {
        try await withEtcd { cluster in
            try await blocking {
                try cluster.configureUsers([
                    ["user", "add", "root:secret"], ["user", "grant-role", "root", "root"], ["role", "add", "acme"],
                    ["role", "grant-permission", "acme", "--prefix=true", "readwrite", "acme/"],
                    ["user", "add", "acme:geheim"], ["user", "grant-role", "acme", "acme"], ["auth", "enable"],
                ])
            }
            try await withTemporaryDirectory { directory in
                try "acme\n".write(toFile: "\(directory)/user", atomically: true, encoding: .utf8)
                try "wrong\n".write(toFile: "\(directory)/password", atomically: true, encoding: .utf8)
                let files = EtcdStore.Credentials(
                    userFile: "\(directory)/user",
                    passwordFile: "\(directory)/password"
                )
                let store = try EtcdStore(urls: cluster.urls, prefix: "acme") { $0.credentials = files }
                let observer = ReplicaTrial.Observer()
                store.setObserver(observer)
                await eventually("the refusal is reported") { observer.errors.withLock { $0.count } == 1 }
                let refusal = observer.errors.withLock { $0.first }
                #expect(refusal?.code == .serverRefused)
                #expect(refusal?.remedy == "correct the files with the user and the password")
                #expect(refusal?.message.contains("wrong") == false)
                try "geheim\n".write(toFile: "\(directory)/password", atomically: true, encoding: .utf8)
                try await blocking {
                    try store.commit { $0["a"] = 1 }
                    // Tokens die with the server.
                    cluster.kill(0)
                    try cluster.start(0)
                    try cluster.waitUntilReady()
                    try store.commit { $0["a"] = 2 }
                }
                await eventually("the problem is settled") { observer.recoveries.withLock { !$0.isEmpty } }
                #expect(store.value(forKey: "a") == 2)
                // The user may not read or write other keys.
                let other = try EtcdStore(urls: cluster.urls, prefix: "other") { configuration in
                    configuration.credentials = files
                    configuration.timeout = .seconds(5)
                }
                other.watch()
                await eventually("the refusal is known") { other.problem?.code == .serverRefused }
                let error = await blocking {
                    #expect(throws: SettingsError.self) { try other.commit { $0["a"] = 1 } }
                }
                #expect(error?.code == .serverRefused)
            }
        }
    }
}
