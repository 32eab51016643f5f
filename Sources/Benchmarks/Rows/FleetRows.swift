// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsEtcd

extension Rows {
    /// A suite in etcd, beside a suite in a file and a transaction of the client alone.
    static func fleet(_ address: String) -> [Row] {
        let fleet = Fleet(address: address)
        return [fleet.reading, fleet.setting, fleet.waking]
    }
}

private struct Fleet: Sendable {
    let address: String
    /// The keys in etcd, which no other program uses.
    private let prefix = "benchmarks/\(UUID().uuidString)/"

    var reading: Row {
        Row(group: "fleet", name: "read Int of a suite in etcd") { workspace in
            let (suite, store) = try suite()
            let body = try Self.read(suite)
            return Trial(
                subject: .loop("Int", body),
                comparisons: [
                    .init(.loop("the same in a file", try Self.read(workspace.suite(keys: 1_000))), .atMost(1.2)),
                    .init(.loop("Atomic<Int> load", Floors.atomicLoad()), .atMost(2)),
                ]
            ) {
                try await end(suite, store)
            }
        }
    }

    var setting: Row {
        Row(group: "fleet", name: "set in etcd", leastSamples: 2_100, alternatesRuns: true) { _ in
            let (suite, store) = try suite()
            let client = try EtcdClient(SocketTransport([address]))
            let setting = Setting("number", default: 0, suite: suite)
            try await setting.set(1)
            var number = 1
            // etcd also sends an own set to the watch of the suite.
            var head: [UInt8]?
            let request = try await RequestRecorder.request(of: repeatedTransaction)
            let roundTrip = try BlockingExchange(address, request)
            // The condition is false for a key that does not exist.
            let first = EtcdTransaction(if: [], then: repeatedTransaction.success)
            _ = try await client.execute(first, isIdempotent: true)
            let watch = Task { try await client.watch(EtcdKeyRange(prefix: bytes("watched/")), from: 0) { _ in } }
            return Trial(
                subject: .each("set") {
                    number += 1
                    try setting.set(number)
                },
                comparisons: [
                    .init(.each("the round trip of its transaction", roundTrip.run), .atMostAbove(100e3)),
                    .init(
                        .timingItself("its transaction alone, with a watch") {
                            number += 1
                            let start = Clock.now()
                            head = try await transactLikeSet(client, number, after: head)
                            return Double(Clock.now() - start)
                        },
                        .atMostAbove(100e3)
                    ),
                    .init(
                        .timingItself("the smallest transaction, without a watch") {
                            number += 1
                            let start = Clock.now()
                            try await transact(client, number)
                            return Double(Clock.now() - start)
                        }
                    ),
                ]
            ) {
                watch.cancel()
                try await end(suite, store)
            }
        }
    }

    var waking: Row {
        Row(group: "fleet", name: "another client's set in etcd wakes a stream", leastSamples: 210) { _ in
            let ((suite, store), (other, otherStore)) = (try suite(), try suite())
            let client = try EtcdClient(SocketTransport([address]))
            let setting = Setting("number", default: 0, suite: other)
            // The synchronous form, as in the other rows: over etcd, the asynchronous one changes the thread.
            let set: (Int) throws -> Void = { try setting.set($0) }
            try set(1)
            try await suite.refresh()
            var iterator = Setting("number", default: 0, suite: suite).values.makeAsyncIterator()
            var number = await iterator.next() ?? 0
            return Trial(
                subject: .timingItself("set by another client") {
                    number += 1
                    let start = Clock.now()
                    try set(number)
                    guard await iterator.next() == number else { throw Failure("the stream was not woken") }
                    return Double(Clock.now() - start)
                },
                comparisons: [
                    .init(
                        .timingItself("the smallest transaction, without a watch") {
                            let start = Clock.now()
                            try await transact(client, number)
                            return Double(Clock.now() - start)
                        },
                        .atMostAbove(5e6)
                    )
                ]
            ) {
                otherStore.close()
                try await end(suite, store)
            }
        }
    }

    private func suite() throws -> (SettingsSuite, EtcdStore) {
        let store = EtcdStore(try SocketTransport([address]), prefix: prefix + "suite/")
        return (SettingsSuite(store: store, name: "fleet"), store)
    }

    private static func read(_ suite: SettingsSuite) throws -> (Int) -> Int {
        let settings = try SampleSettings(suite)
        guard settings.int == 42 else { throw Failure("the value that was read is not the stored one") }
        return { count in BlackHole.sum(count) { settings.int } }
    }

    private func bytes(_ name: String) -> [UInt8] { Array((prefix + name).utf8) }

    /// Executes the transaction of a set.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - number: A number that differs from the last one.
    ///   - oldHead: The head that the last transaction has written; `nil` if there was none.
    /// - Returns: The new head.
    /// - Throws: `EtcdError` or ``Failure``.
    private func transactLikeSet(
        _ client: EtcdClient,
        _ number: Int,
        after oldHead: [UInt8]?
    ) async throws -> [UInt8] {
        let transaction = transactionLikeSet("client", number) { key in
            EtcdCompare(key, .equal, oldHead.map(EtcdCompare.Target.value) ?? .version(0))
        }
        guard try await client.execute(transaction).succeeded else { throw Failure("the transaction has failed") }
        return head(number)
    }

    /// The transaction of a set, whose condition is always true, so that it can be sent again and again.
    ///
    /// The condition is as long as that of a set.
    private var repeatedTransaction: EtcdTransaction {
        transactionLikeSet("socket", 0) { EtcdCompare($0, .notEqual, .value(head(1))) }
    }

    /// The transaction of a set: it compares the prefix and the head, writes a value and the head, and reads the head.
    private func transactionLikeSet(
        _ suite: String,
        _ number: Int,
        if condition: ([UInt8]) -> EtcdCompare
    ) -> EtcdTransaction {
        let prefix = "watched/\(suite)/"
        let headKey = bytes(prefix + "head")
        return EtcdTransaction(
            if: [EtcdCompare(EtcdKeyRange(prefix: bytes(prefix)), .less, .modRevision(.max)), condition(headKey)],
            then: [
                .put(bytes(prefix + "value"), Array("\(number)".utf8)),
                .put(headKey, head(number)),
                .range(EtcdRangeRequest(EtcdKeyRange(key: headKey))),
            ]
        )
    }

    /// A head that is as long as the identifiers of 16 commits.
    private func head(_ number: Int) -> [UInt8] {
        Array("\(number)".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 220)
    }

    /// Executes a transaction that writes a value and another key if a condition is met.
    private func transact(_ client: EtcdClient, _ number: Int) async throws {
        let keys = [bytes("client/head"), bytes("client/value")]
        let transaction = EtcdTransaction(
            if: [EtcdCompare(keys[0], .greater, .modRevision(-1))],
            then: keys.map { .put($0, Array("\(number)".utf8)) }
        )
        _ = try await client.execute(transaction, isIdempotent: true)
    }

    /// Removes everything from etcd.
    private func end(_ suite: SettingsSuite, _ store: EtcdStore) async throws {
        await suite.finish()
        store.close()
        let client = try EtcdClient(SocketTransport([address]))
        let all = EtcdOperation.delete(EtcdKeyRange(prefix: Array(prefix.utf8)))
        _ = try await client.execute(EtcdTransaction(if: [], then: [all]), isIdempotent: true)
    }
}
