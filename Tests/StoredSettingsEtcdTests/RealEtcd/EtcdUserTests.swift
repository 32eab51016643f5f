// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettingsEtcd
import Synchronization
import TestSupport
import Testing

/// What the client rests on, observed with etcd 3.4.23.
@Suite("etcd: users, restarts and backups", .requiresEtcd, .deadlockLimit)
struct EtcdUserTests {
    /// Creates a user who may use the prefix `p/`, and requires users from then on.
    static func enableUsers(_ cluster: EtcdCluster) async throws {
        try await blocking {
            try cluster.configureUsers([
                ["user", "add", "root:pw"], ["user", "grant-role", "root", "root"], ["role", "add", "r"],
                ["role", "grant-permission", "r", "--prefix=true", "readwrite", "p/"], ["user", "add", "u:secret"],
                ["user", "grant-role", "u", "r"], ["auth", "enable"],
            ])
        }
    }

    static func client(_ cluster: EtcdCluster, _ password: String = "secret", timeout: Duration = noTimeout) throws
        -> EtcdClient
    {
        try etcdClient(cluster.urls, timeout: timeout) { EtcdCredentials(user: "u", password: password) }
    }

    @Test("A user may use the keys of the role, and nothing else")
    func permissions() async throws {
        try await withEtcd(options: ["--bcrypt-cost", "4"]) { cluster in
            // Observed: an etcd without users refuses to authenticate with code 9. The client then sends no token.
            let client = try Self.client(cluster)
            try await client.put("q/a", "1")
            try await Self.enableUsers(cluster)
            // Observed: a request without a token is refused with "user name is empty", code 3. The client then requests one.
            let revision = try await client.put("p/a", "1")
            let read = EtcdRangeRequest(EtcdKeyRange(prefix: "p/"))
            #expect(try await client.range(read).keyValues.map(\.modRevision) == [revision])

            let range = await EtcdClientTests.error {
                _ = try await client.range(EtcdRangeRequest(EtcdKeyRange("q/a")))
            }
            #expect(range?.code == .permissionDenied)
            let write = await EtcdClientTests.error { try await client.put("q/a", "2") }
            #expect(write?.code == .permissionDenied && write?.mayHaveHappened == false)
            // Observed: the watch is created and canceled by one message, and the response does not end.
            let watch = await EtcdClientTests.error {
                try await client.watch(EtcdKeyRange(prefix: "q/"), from: 0) { _ in Issue.record("a message has arrived")
                }
            }
            #expect(watch?.code == .permissionDenied)

            let wrong = await EtcdClientTests.error { _ = try await Self.client(cluster, "wrong").range(read) }
            #expect(wrong?.code == .authenticationFailed && wrong?.description.contains("wrong") == false)
            let none = await EtcdClientTests.error { _ = try await etcdClient(cluster.urls).range(read) }
            #expect(none?.code == .authenticationFailed)
            let silent = await EtcdClientTests.error {
                try await etcdClient(cluster.urls).watch(EtcdKeyRange(prefix: "p/"), from: 0) { _ in }
            }
            #expect(silent?.code == .authenticationFailed)
        }
    }

    @Test("A token does not survive a restart of etcd, and requests and watches get a new one")
    func restart() async throws {
        try await withEtcd(options: ["--bcrypt-cost", "4"]) { cluster in
            try await Self.enableUsers(cluster)
            let client = try Self.client(cluster)
            let revision = try await client.put("p/a", "1")
            try await blocking {
                cluster.kill(0)
                try cluster.start(0)
                try cluster.waitUntilReady()
            }
            let watch = WatchRecorder(client, EtcdKeyRange(prefix: "p/"), from: revision)
            await eventually("the watch has begun") { watch.events.count == 1 || watch.error != nil }
            #expect(watch.error == nil)
            await watch.cancel()
            try await blocking {
                cluster.kill(0)
                try cluster.start(0)
                try cluster.waitUntilReady()
            }
            // A write: the refusal is certain, so it is sent again.
            #expect(try await client.put("p/a", "2") == revision + 1)
        }
    }

    @Test("Tokens that expire are replaced")
    func expiry() async throws {
        try await withEtcd(options: ["--auth-token-ttl", "1"]) { cluster in
            try await Self.enableUsers(cluster)
            let client = try Self.client(cluster)
            await client.put("p/a", "0", until: "the client has a token")
            // Every use of a token renews it. So each of these is used once, later and later; the client's is older.
            var tokens: [String] = []
            var used = 0
            await eventually("a token has expired") {
                guard let new = await Self.token(cluster) else { return false }
                tokens.append(new)
                guard tokens.count == 2 * used + 2 else { return false }
                let token = tokens[used]
                used += 1
                return await blocking {
                    let range = cluster.post("/v3/kv/range", #"{"key":"cC9h"}"#, token: token)
                    return range?.contains("invalid auth token") == true
                }
            }
            await client.put("p/a", "1", until: "the client has a new token")
        }
    }

    /// Requests a token without the client; `nil` if etcd does not give one at the moment.
    static func token(_ cluster: EtcdCluster) async -> String? {
        let response = await blocking {
            cluster.post("/v3/auth/authenticate", #"{"name":"u","password":"secret"}"#)
        }
        return (response?.firstMatch(of: /"token":"([^"]*)"/)?.1).map(String.init)
    }

    @Test("A restored backup has an older revision, and a token of its lost future is replaced")
    func backup() async throws {
        try await withEtcd(options: ["--bcrypt-cost", "4"]) { cluster in
            let plain = try etcdClient(cluster.urls)
            let old = try await plain.range(EtcdRangeRequest(EtcdKeyRange("p/a"))).header
            try await Self.enableUsers(cluster)
            let client = try Self.client(cluster, timeout: .seconds(3))
            await client.put("p/a", "backup", until: "the value of the backup is stored")
            try await blocking { try cluster.saveBackup(user: "root:pw") }
            var last: Int64 = 0
            for number in 0..<50 { last = await client.put("p/a", "\(number)", until: "a later value is stored") }
            try await blocking { try cluster.restoreBackup() }
            // Observed: etcd does not answer a request whose token has a greater index than its log, until the request
            // times out. The client then forgets the token.
            let read = EtcdRangeRequest(EtcdKeyRange("p/a"))
            var range: EtcdRangeResult?
            for _ in 0..<100 where range == nil {
                do { range = try await client.range(read) } catch let error as EtcdError {
                    #expect([.timedOut, .unavailable].contains(error.code))
                }
            }
            #expect(range?.keyValues.map(\.value) == [Array("backup".utf8)])
            #expect((range?.header.revision ?? last) < last)
            // Observed: the cluster has the same identifier if it is restored with the same members and token.
            #expect(range?.header.clusterID == old.clusterID)
            let patient = try Self.client(cluster)
            let future = await EtcdClientTests.error {
                _ = try await patient.range(EtcdRangeRequest(EtcdKeyRange("p/a"), revision: last))
            }
            #expect(future?.code == .futureRevision)
        }
    }
}
