// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettingsEtcd

extension EtcdStore.Configuration {
    /// Timeouts that are too long to expire in a test.
    static var patient: Self {
        var configuration = Self()
        configuration.timeout = noTimeout
        configuration.requestTimeout = noTimeout
        configuration.settlingTime = noTimeout
        configuration.firstReadTimeout = noTimeout
        configuration.senderTimeout = noTimeout
        return configuration
    }
}

extension EtcdStore {
    /// Creates a store whose timeouts are too long to expire in a test.
    convenience init(
        urls: [String],
        prefix: String,
        change: (inout Configuration) -> Void = { _ in }
    ) throws {
        var configuration = Configuration.patient
        change(&configuration)
        self.init(try SocketTransport(urls), prefix: prefix, configuration: configuration)
    }

    /// Creates a store over an etcd in memory whose timeouts are too long to expire in a test.
    convenience init(_ etcd: MemoryEtcd, prefix: String, replicaFile: String) {
        var configuration = Configuration.patient
        configuration.replicaFile = replicaFile
        self.init(etcd, prefix: prefix, configuration: configuration)
    }
}

@Suite("EtcdStore: the contract of stores", .requiresEtcd, .deadlockLimit)
struct EtcdStoreContractTests {
    typealias Clause = SettingsStoreContract.Clause

    /// A store far away cannot exclude the bodies of others, and receives their commits a moment later.
    static let impossible: Set<Clause> = [.sharedExclusion, .externalReads, .externalRecords]

    @Test(
        "A store over a real etcd fulfills every clause that distance allows",
        arguments: Clause.all.filter { !EtcdStoreContractTests.impossible.contains($0) }
    )
    func fulfills(_ clause: Clause) async throws {
        let urls = try await SharedEtcd.cluster.urls
        let prefixes = Prefixes()
        let contract = SettingsStoreContract(
            named: "EtcdStore",
            timeout: noTimeout / 4,
            makeStore: { try EtcdStore(urls: urls, prefix: prefixes.next()) },
            reopen: { _ in try EtcdStore(urls: urls, prefix: prefixes.last()) },
            except: Self.impossible
        )
        #expect(contract.clauses.contains(clause))
        let violations = await contract.violations(of: clause)
        #expect(violations == [])
    }

    @Test(
        "While the network delays events, a store does not have the commits of another store",
        arguments: [Clause.externalReads, .externalRecords]
    )
    func distant(_ clause: Clause) async throws {
        let cluster = try await SharedEtcd.cluster
        let proxy = try FaultyProxy(to: cluster.port())
        let urls = cluster.urls
        let prefixes = Prefixes()
        let contract = SettingsStoreContract(
            named: "EtcdStore",
            timeout: .milliseconds(50),
            makeStore: { try EtcdStore(urls: [proxy.url], prefix: prefixes.next()) },
            reopen: { _ in
                proxy.change(.toClient) { $0.isPaused = true }
                return try EtcdStore(urls: urls, prefix: prefixes.last())
            }
        )
        let violations = await contract.violations(of: clause)
        #expect(!violations.isEmpty)
    }
}

/// Prefixes that no other test uses.
final class Prefixes: Sendable {
    private let current = Locked("")

    func next() -> String {
        current.withLock { current in
            current = "\(UUID().uuidString)/"
            return current
        }
    }

    func last() -> String { current.withLock { $0 } }
}
