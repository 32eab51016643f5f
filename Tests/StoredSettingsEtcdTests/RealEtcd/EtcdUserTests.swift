// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettingsEtcd
import Synchronization
import TestSupport
import Testing

/// What the client rests on, observed with etcd 3.4.23.
@Suite("etcd: users", .requiresEtcd, .deadlockLimit)
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
}
