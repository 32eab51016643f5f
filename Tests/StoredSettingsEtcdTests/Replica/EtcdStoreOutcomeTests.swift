// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: compaction and tokens", .requiresEtcd, .deadlockLimit)
struct EtcdStoreOutcomeTests {
    @Test("After a compaction while a store was disconnected, the difference is one external commit")
    func compaction() async throws {
        try await withEtcd { cluster in
            let proxy = try FaultyProxy(to: cluster.port())
            let store = try EtcdStore(urls: [proxy.url], prefix: "s")
            let observer = ReplicaTrial.Observer(of: store)
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

    @Test("Users and passwords come from files, a lost token is replaced, and a refusal is reported with a fix")
    func credentials() async throws {
        try await withEtcd { cluster in
            try await EtcdUserTests.enableUsers(cluster)
            try await withTemporaryDirectory { directory in
                try "u\n".write(toFile: "\(directory)/user", atomically: true, encoding: .utf8)
                try "wrong\n".write(toFile: "\(directory)/password", atomically: true, encoding: .utf8)
                let files = EtcdStore.Credentials(
                    userFile: "\(directory)/user",
                    passwordFile: "\(directory)/password"
                )
                let store = try EtcdStore(urls: cluster.urls, prefix: "p") { $0.credentials = files }
                let observer = ReplicaTrial.Observer(of: store)
                await eventually("the refusal is reported") { observer.errors.withLock { $0.count } == 1 }
                let refusal = observer.errors.withLock { $0.first }
                #expect(refusal?.code == .serverRefused)
                #expect(refusal?.remedy == "correct the files with the user and the password")
                #expect(refusal?.message.contains("wrong") == false)
                try "secret\n".write(toFile: "\(directory)/password", atomically: true, encoding: .utf8)
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
