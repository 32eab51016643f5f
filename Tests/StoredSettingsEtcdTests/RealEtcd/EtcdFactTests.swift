// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

/// What the client rests on, observed with etcd 3.4.23.
@Suite("etcd: keys and transactions", .requiresEtcd, .deadlockLimit)
struct EtcdFactTests {
    @Test("Every byte of a key and a value is preserved")
    func bytes() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        let all = (0...255).map { UInt8($0) }
        let key = Array(prefix.utf8) + all
        let result = try await client.execute(EtcdTransaction(if: [], then: [.put(key, all)]))
        let range = try await client.range(EtcdRangeRequest(EtcdKeyRange(key: key)))
        let revision = result.header.revision
        let expected = EtcdKeyValue(key: key, value: all, createRevision: revision, modRevision: revision, version: 1)
        #expect(range.keyValues == [expected])
    }

    @Test("Zero values are omitted by the gateway, and read as zero")
    func zeros() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        try await client.put(prefix, "")
        let range = try await client.range(EtcdRangeRequest(EtcdKeyRange(prefix)))
        #expect(range.keyValues.map(\.value) == [[]] && range.count == 1 && !range.hasMore)
        let nothing = try await client.range(EtcdRangeRequest(EtcdKeyRange(prefix + "absent")))
        #expect(nothing.keyValues.isEmpty && nothing.count == 0)
        // Observed: neither `kvs` nor `count`, and a `value` only if it is not empty.
        let cluster = try await SharedEtcd.cluster
        let text = await blocking { cluster.post("/v3/kv/range", #"{"key":"eA=="}"#) }
        #expect(text?.contains("kvs") == false && text?.contains("count") == false)
        // Observed: identifiers and revisions are strings. The identifier of a cluster can exceed Int64.
        #expect(text?.contains(#""cluster_id":""#) == true && text?.contains(#""revision":""#) == true)
    }

    @Test("A transaction compares revisions, versions and values, and executes one branch")
    func transaction() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        let key = Array(prefix.utf8)
        let (put, range) = (EtcdOperation.put(key, [1]), EtcdOperation.range(EtcdRangeRequest(EtcdKeyRange(key: key))))
        let create = EtcdTransaction(if: [EtcdCompare(key, .equal, .modRevision(0))], then: [put], else: [range])
        let created = try await client.execute(create)
        #expect(created.succeeded && created.operations == [.put])
        let again = try await client.execute(create)
        guard case .range(let result) = again.operations.first else {
            Issue.record("the other branch was not executed")
            return
        }
        #expect(!again.succeeded && result.keyValues.map(\.modRevision) == [created.header.revision])

        let conditions = [
            EtcdCompare(key, .equal, .modRevision(created.header.revision)), EtcdCompare(key, .less, .version(2)),
            EtcdCompare(key, .notEqual, .value([2])), EtcdCompare(key, .greater, .version(0)),
        ]
        let deletion = EtcdTransaction(if: conditions, then: [range, .delete(EtcdKeyRange(prefix: key))])
        let deleted = try await client.execute(deletion)
        #expect(deleted.succeeded && deleted.operations.last == .delete(count: 1))
        // Observed: a condition on the value of a key that does not exist is false, even if it compares with no bytes.
        let absent = EtcdTransaction(if: [EtcdCompare(key, .equal, .value([]))], then: [], else: [])
        #expect(try await !client.execute(absent).succeeded)
    }

    @Test(
        "A transaction that fails its conditions does not change the revision, and one that only reads does not either"
    )
    func revision() async throws {
        try await withEtcd { cluster in
            let client = try etcdClient(cluster.urls)
            let revision = try await client.put("a", "1")
            let failing = EtcdCompare(Array("a".utf8), .equal, .modRevision(1_000))
            let write = EtcdOperation.put(Array("a".utf8), [])
            let result = try await client.execute(EtcdTransaction(if: [failing], then: [write]))
            #expect(!result.succeeded && result.header.revision == revision)
            let read = EtcdOperation.range(EtcdRangeRequest(EtcdKeyRange("a")))
            #expect(try await client.execute(EtcdTransaction(if: [], then: [read])).header.revision == revision)
            #expect(try await client.put("a", "2") == revision + 1)
        }
    }

    @Test("A key may be changed once in a transaction")
    func duplicateKey() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        let put = EtcdOperation.put(Array(prefix.utf8), [1])
        let error = await EtcdClientTests.error {
            _ = try await client.execute(EtcdTransaction(if: [], then: [put, put]))
        }
        // Observed: status 400, code 3, "duplicate key given in txn request".
        #expect(error?.code == .rejected(3) && error?.mayHaveHappened == false)
    }

    @Test("Conditions and operations are limited to 128 each")
    func operationLimit() async throws {
        let (_, prefix) = try await EtcdClient.shared()
        let client = try etcdClient(try await SharedEtcd.cluster.urls, change: { $0.limits.operations = 1_000 })
        let keys = (0..<129).map { Array("\(prefix)\($0)".utf8) }
        let conditions = keys.map { EtcdCompare($0, .equal, .modRevision(0)) }
        let puts = keys.map { EtcdOperation.put($0, []) }
        let ranges = keys.map { EtcdOperation.range(EtcdRangeRequest(EtcdKeyRange(key: $0))) }
        // Observed: 128 of each kind are accepted together.
        let most = EtcdTransaction(
            if: Array(conditions.prefix(128)),
            then: Array(puts.prefix(128)),
            else: Array(ranges.prefix(128))
        )
        #expect(try await client.execute(most).succeeded)
        for transaction in [
            EtcdTransaction(if: conditions, then: []), EtcdTransaction(if: [], then: puts),
            EtcdTransaction(if: [], then: [], else: ranges),
        ] {
            let error = await EtcdClientTests.error { _ = try await client.execute(transaction) }
            #expect(error?.code == .tooManyOperations && error?.mayHaveHappened == false)
        }
    }

    @Test("The largest transaction that the client sends is accepted, and etcd refuses one that is a little larger")
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

        // Observed: status 400 and "request is too large" from 1.5 MiB, status 429 and "larger than max" from 2 MiB.
        let careless = try etcdClient(try await SharedEtcd.cluster.urls, change: { $0.limits.requestSize = .max })
        for size in [limit, 2 * limit] {
            let put = EtcdOperation.put(key, [UInt8](repeating: 1, count: size))
            let error = await EtcdClientTests.error {
                _ = try await careless.execute(EtcdTransaction(if: [], then: [put]))
            }
            #expect(error?.code == .requestTooLarge && error?.mayHaveHappened == false)
        }
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

    @Test("A revision that was compacted, and one of the future, are different errors")
    func revisions() async throws {
        try await withEtcd { cluster in
            let client = try etcdClient(cluster.urls)
            for number in 0..<5 { try await client.put("a", "\(number)") }
            let last = try await client.put("a", "x")
            _ = try await blocking { try cluster.control(["compaction", "\(last)"]) }
            let compacted = await EtcdClientTests.error {
                _ = try await client.range(EtcdRangeRequest(EtcdKeyRange("a"), revision: last - 1))
            }
            // Observed: the response to a range does not contain the revision of the compaction.
            #expect(compacted?.code == .compacted(nil))
            let future = await EtcdClientTests.error {
                _ = try await client.range(EtcdRangeRequest(EtcdKeyRange("a"), revision: last + 1))
            }
            #expect(future?.code == .futureRevision)
            let watch = await EtcdClientTests.error {
                try await client.watch(EtcdKeyRange("a"), from: last - 1) { message in
                    // Observed: the watch is created first, and canceled with the next message.
                    if case .events = message { Issue.record("an event of a compacted revision") }
                }
            }
            #expect(watch?.code == .compacted(last))
        }
    }

    @Test("A member answers over its Unix socket, and tells its version")
    func unixSocket() async throws {
        let cluster = try await SharedEtcd.cluster
        let client = try etcdClient([cluster.unixURL()])
        let status = try await client.status()
        #expect(status.version.hasPrefix("3.") && status.leader == status.header.memberID && status.databaseSize > 0)
    }
}
