// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettingsEtcd
import Synchronization
import TestSupport
import Testing

@Suite("etcd: lost members and disturbed connections", .requiresEtcd, .deadlockLimit)
struct EtcdFailureTests {
    /// Repeats a write until it succeeds.
    ///
    /// - Returns: The revision, and whether an attempt that failed may have been executed.
    static func insist(_ client: EtcdClient, _ key: String, _ value: String) async throws -> (Int64, isRepeated: Bool) {
        var isRepeated = false
        for _ in 0..<1_000 {
            do throws(EtcdError) {
                let put = EtcdOperation.put(Array(key.utf8), Array(value.utf8))
                return (try await client.execute(EtcdTransaction(if: [], then: [put])).header.revision, isRepeated)
            } catch {
                isRepeated = isRepeated || error.mayHaveHappened
                guard [.unavailable, .timedOut, .malformedResponse].contains(error.code) else { throw error }
            }
        }
        throw EtcdError(.unavailable, "no attempt has succeeded")
    }

    @Test("Writes continue when the leader is killed, and no acknowledged one is lost")
    func leaderChange() async throws {
        try await withEtcd(members: 3) { cluster in
            let client = try etcdClient(cluster.urls, timeout: .seconds(10))
            var acknowledged: [String] = []
            for round in 0..<TestRun.count(quick: 1, exhaustive: 3) {
                for number in 0..<5 {
                    let key = "k/\(round)-\(number)"
                    _ = try await Self.insist(client, key, "x")
                    acknowledged.append(key)
                }
                let leader = await blocking { () -> Int? in
                    guard let leader = cluster.leader else { return nil }
                    cluster.kill(leader)
                    return leader
                }
                _ = try await Self.insist(client, "k/after", "\(round)")
                try await blocking {
                    if let leader { try cluster.start(leader) }
                    try cluster.waitUntilReady()
                }
            }
            let contents = try await client.contents(of: EtcdKeyRange(prefix: "k/"))
            let keys = Set(contents.keyValues.map { String(decoding: $0.key, as: UTF8.self) })
            #expect(keys == Set(acknowledged + ["k/after"]))
        }
    }

    @Test("Without a quorum, a watch that requires a leader ends, and a write fails")
    func lostQuorum() async throws {
        try await withEtcd(members: 3) { cluster in
            // One member only, which remains.
            let client = try etcdClient([cluster.urls[0]], timeout: .seconds(20))
            let watch = WatchRecorder(client, EtcdKeyRange(prefix: "a"), from: 0)
            let patient = WatchRecorder(client, EtcdKeyRange(prefix: "a"), from: 0, requiresLeader: false)
            await eventually("the watches are created") { watch.isCreated && patient.isCreated }
            await blocking {
                cluster.kill(1)
                cluster.kill(2)
            }
            await eventually("the watch has ended") { watch.error != nil }
            // Observed: a line with an error in the response with status 200, "etcdserver: no leader", code 14.
            #expect(watch.error?.code == .unavailable)
            #expect(watch.error?.reason.contains("no leader") == true)
            // Observed: without the header, the watch is silent.
            #expect(patient.error == nil)
            async let write = EtcdClientTests.error { try await client.put("a", "1") }
            async let read = EtcdClientTests.error { _ = try await client.range(EtcdRangeRequest(EtcdKeyRange("a"))) }
            #expect(await write?.mayHaveHappened == true)
            #expect(await read != nil)
            // A serializable read needs no quorum.
            let range = EtcdRangeRequest(EtcdKeyRange("a"), isSerializable: true)
            #expect(try await client.range(range).keyValues.isEmpty)
            await patient.cancel()
        }
    }

    @Test("A write whose response is lost may have been executed, and was")
    func lostResponse() async throws {
        let cluster = try await SharedEtcd.cluster
        let proxy = try FaultyProxy(to: cluster.port())
        defer { proxy.stop() }
        let (observer, prefix) = try await EtcdClient.shared()
        let client = try etcdClient([proxy.url])
        for size in [0, 1, 20, 200] {
            proxy.change(.toClient) { $0.bytesUntilEnd = size }
            let error = await EtcdClientTests.error {
                let put = EtcdOperation.put(Array("\(prefix)\(size)".utf8), [])
                _ = try await client.execute(EtcdTransaction(if: [], then: [put]))
            }
            #expect(error?.mayHaveHappened == true)
            #expect(error?.code == .unavailable)
        }
        await eventually("all writes were executed") {
            do {
                return try await observer.contents(of: EtcdKeyRange(prefix: prefix)).keyValues.count == 4
            } catch {
                return false
            }
        }
    }

    @Test("A write to a server that refuses connections was certainly not executed")
    func refusedConnection() async throws {
        let cluster = try await SharedEtcd.cluster
        let proxy = try FaultyProxy(to: cluster.port())
        let url = proxy.url
        proxy.stop()
        // The port no longer accepts connections once the last reference to the proxy is released.
        await eventually("the write was not sent") {
            do {
                _ = try await etcdClient([url]).put("refused", "x")
                return false
            } catch let error as EtcdError {
                return !error.mayHaveHappened && error.code == .unavailable
            } catch {
                return false
            }
        }
    }

    @Test("Bytes that arrive twice, late or in small pieces yield errors or the right answer")
    func disturbed() async throws {
        let cluster = try await SharedEtcd.cluster
        let proxy = try FaultyProxy(to: cluster.port())
        defer { proxy.stop() }
        let (observer, prefix) = try await EtcdClient.shared()
        let revision = try await observer.put(prefix, "right")
        var generator = SeededGenerator(seed: 7)
        let client = try etcdClient([proxy.url], timeout: .seconds(2))
        var (right, failed) = (0, 0)
        for _ in 0..<200 {
            for direction in FaultyProxy.Direction.allCases {
                proxy.change(direction) { faults in
                    faults = FaultyProxy.Faults()
                    switch Int.random(in: 0..<8, using: &generator) {
                    case 0: faults.duplicates = 1
                    case 1: faults.pieceSize = Int.random(in: 1...7, using: &generator)
                    case 2: faults.bytesUntilEnd = Int.random(in: 0...500, using: &generator)
                    case 3: faults.delay = 0.002
                    default: break
                    }
                }
            }
            if Int.random(in: 0..<10, using: &generator) == 0 {
                proxy.dropConnections(reset: Bool.random(using: &generator))
            }
            do throws(EtcdError) {
                let range = try await client.range(EtcdRangeRequest(EtcdKeyRange(prefix)))
                #expect(range.keyValues.map(\.value) == [Array("right".utf8)])
                #expect(range.keyValues.map(\.modRevision) == [revision])
                right += 1
            } catch {
                #expect([.unavailable, .timedOut, .malformedResponse].contains(error.code))
                failed += 1
            }
        }
        #expect(right > 0 && failed > 0)
        proxy.heal()
        proxy.dropConnections()
        #expect(try await observer.range(EtcdRangeRequest(EtcdKeyRange(prefix))).count == 1)
    }

    @Test("A watch continues after a pause of the connection, and ends when the connection is lost")
    func pausedWatch() async throws {
        let cluster = try await SharedEtcd.cluster
        let proxy = try FaultyProxy(to: cluster.port())
        defer { proxy.stop() }
        let (observer, prefix) = try await EtcdClient.shared()
        let client = try etcdClient([proxy.url])
        let watch = WatchRecorder(client, EtcdKeyRange(prefix: prefix), from: 0)
        await eventually("the watch is created") { watch.isCreated }
        proxy.change(.toClient) { $0.isPaused = true }
        for number in 0..<10 { try await observer.put("\(prefix)\(number)", "x") }
        #expect(watch.events.isEmpty)
        proxy.heal()
        await eventually("the changes have arrived") { watch.events.count == 10 }
        proxy.dropConnections(reset: true)
        await eventually("the watch has ended") { watch.error != nil }
        #expect(watch.error?.code == .unavailable)
    }
}
