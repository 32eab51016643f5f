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
        Row(group: "fleet", name: "set in etcd", leastSamples: 210) { _ in
            let (suite, store) = try suite()
            let client = try EtcdClient(SocketTransport([address]))
            let setting = Setting("number", default: 0, suite: suite)
            try setting.set(1)
            var number = 1
            return Trial(
                subject: .each("set") {
                    number += 1
                    try setting.set(number)
                },
                comparisons: [
                    .init(
                        .timingItself("a transaction of the same size") {
                            number += 1
                            let start = Clock.now()
                            try await transact(client, number)
                            return Double(Clock.now() - start)
                        },
                        .atMostAbove(100e3)
                    )
                ]
            ) {
                try await end(suite, store)
            }
        }
    }

    var waking: Row {
        Row(group: "fleet", name: "another client's set in etcd wakes a stream", leastSamples: 210) { _ in
            let ((suite, store), (other, otherStore)) = (try suite(), try suite())
            let client = try EtcdClient(SocketTransport([address]))
            let setting = Setting("number", default: 0, suite: other)
            try setting.set(1)
            try suite.refresh()
            var iterator = Setting("number", default: 0, suite: suite).values.makeAsyncIterator()
            var number = await iterator.next() ?? 0
            return Trial(
                subject: .timingItself("set by another client") {
                    number += 1
                    let start = Clock.now()
                    try setting.set(number)
                    guard await iterator.next() == number else { throw Failure("the stream was not woken") }
                    return Double(Clock.now() - start)
                },
                comparisons: [
                    .init(
                        .timingItself("a transaction of the same size") {
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

    /// Executes a transaction as a set does: it compares and writes a head, and writes a value.
    private func transact(_ client: EtcdClient, _ number: Int) async throws {
        let keys = ["head", "value"].map { Array("\(prefix)client/\($0)".utf8) }
        let transaction = EtcdTransaction(
            if: [EtcdCompare(keys[0], .greater, .modRevision(-1))],
            then: keys.map { .put($0, Array("\(number)".utf8)) }
        )
        _ = try await client.execute(transaction, isIdempotent: true)
    }

    /// Removes everything from etcd.
    private func end(_ suite: SettingsSuite, _ store: EtcdStore) async throws {
        suite.finish()
        store.close()
        let client = try EtcdClient(SocketTransport([address]))
        let all = EtcdOperation.delete(EtcdKeyRange(prefix: Array(prefix.utf8)))
        _ = try await client.execute(EtcdTransaction(if: [], then: [all]), isIdempotent: true)
    }
}
