// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

/// What the client rests on, observed with etcd 3.4.23.
@Suite("etcd: sizes and addresses", .requiresEtcd, .deadlockLimit)
struct EtcdFactTests {
    @Test("etcd accepts the largest transaction that the client sends, and the client refuses a larger one")
    func sizeLimit() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        let key = Array(prefix.utf8)
        let limit = EtcdLimits().requestSize
        // The upper bound of the size adds 64 bytes for the request, 24 for an operation, and 32 for a condition.
        let conditions = (0..<10).map { EtcdCompare(key + [UInt8($0)], .equal, .modRevision(0)) }
        let room = limit - 64 - 10 * (key.count + 1 + 32) - 24 - key.count
        let largest = EtcdOperation.put(key, [UInt8](repeating: 1, count: room))
        #expect(try await client.execute(EtcdTransaction(if: conditions, then: [largest])).succeeded)
        let tooLarge = EtcdTransaction(if: conditions, then: [.put(key, [UInt8](repeating: 1, count: room + 1))])
        #expect(await EtcdClientTests.error { _ = try await client.execute(tooLarge) }?.code == .requestTooLarge)
    }

    @Test("The contents of a prefix are read in pages of one revision, however large they are")
    func pages() async throws {
        let (writer, prefix) = try await EtcdClient.shared()
        let value = String(repeating: "x", count: 60_000)
        for start in stride(from: 100, to: 220, by: 20) {
            let puts = (start..<start + 20).map { EtcdOperation.put(Array("\(prefix)\($0)".utf8), Array(value.utf8)) }
            _ = try await writer.execute(EtcdTransaction(if: [], then: puts))
        }
        // Observed: a response of 7 MB, which exceeds the default limit of gRPC, passes the gateway.
        let whole = try await writer.range(EtcdRangeRequest(EtcdKeyRange(prefix: prefix)))
        #expect(whole.keyValues.count == 120)
        let client = try etcdClient(
            try await SharedEtcd.cluster.urls,
            change: { configuration in
                configuration.pageSize = 50
                configuration.limits.responseSize = 1_000_000
            }
        )
        let contents = try await client.contents(of: EtcdKeyRange(prefix: prefix))
        #expect(contents.keyValues == whole.keyValues)
        // The keys of the neighbors are not in the range.
        #expect(contents.keyValues.allSatisfy { $0.key.starts(with: prefix.utf8) })
        let serializable = try await client.contents(of: EtcdKeyRange(prefix: prefix), isSerializable: true)
        #expect(serializable.keyValues == whole.keyValues)
    }

    @Test("A member answers over its Unix socket, and tells its version")
    func unixSocket() async throws {
        let cluster = try await SharedEtcd.cluster
        let client = try etcdClient([cluster.unixURL()])
        let status = try await client.status()
        #expect(status.version.hasPrefix("3.") && status.leader == status.header.memberID && status.databaseSize > 0)
    }

    @Test("A large history arrives completely, in fragments that the client joins")
    func largeHistory() async throws {
        struct Complete: Error {}
        let (client, prefix) = try await EtcdClient.shared()
        let value = String(repeating: "x", count: 500_000)
        let first = await client.put("\(prefix)0", value, until: "the first key is set")
        for number in 1..<30 { await client.put("\(prefix)\(number)", value, until: "the next key is set") }
        let keys = Mutex<Set<[UInt8]>>([])
        await #expect(throws: Complete.self) {
            try await client.watch(EtcdKeyRange(prefix: prefix), from: first) { message in
                guard case .events(let events, _) = message else { return }
                let count = keys.withLock { keys in
                    keys.formUnion(events.map(\.keyValue.key))
                    return keys.count
                }
                if count == 30 { throw Complete() }
            }
        }
    }
}
