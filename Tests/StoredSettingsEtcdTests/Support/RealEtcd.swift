// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettingsEtcd
import TestSupport
import Testing

/// Runs a test only where etcd and etcdctl are installed.
///
/// Otherwise, one line says that such tests are skipped.
struct EtcdTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    private static let notice: Void = print("etcd or etcdctl is not installed: the tests that need them are skipped.")

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard EtcdCluster.isInstalled else { return Self.notice }
        try await function()
    }
}

extension Trait where Self == EtcdTrait {
    /// Runs a test only where etcd and etcdctl are installed.
    static var requiresEtcd: Self { EtcdTrait() }
}

/// An etcd with one member that tests share, each with a prefix of its own.
enum SharedEtcd {
    private static let start = Task { try await blocking { try EtcdCluster.start() } }

    static var cluster: EtcdCluster {
        get async throws { try await start.value }
    }
}

/// Creates a client whose requests time out only when a test hangs.
func etcdClient(
    _ urls: [String],
    timeout: Duration = noTimeout,
    credentials: (@Sendable () async throws -> EtcdCredentials)? = nil,
    change: (inout EtcdClient.Configuration) -> Void = { _ in }
) throws -> EtcdClient {
    var configuration = EtcdClient.Configuration()
    configuration.timeout = timeout
    change(&configuration)
    return EtcdClient(try SocketTransport(urls), configuration: configuration, credentials: credentials)
}

extension EtcdClient {
    /// Creates a client of the shared etcd, and a prefix that no other test uses.
    static func shared() async throws -> (EtcdClient, prefix: String) {
        (try etcdClient(try await SharedEtcd.cluster.urls), "\(UUID().uuidString)/")
    }

    /// Sets a key.
    @discardableResult
    func put(_ key: String, _ value: String) async throws -> Int64 {
        let put = EtcdOperation.put(Array(key.utf8), Array(value.utf8))
        return try await execute(EtcdTransaction(if: [], then: [put]), isIdempotent: true).header.revision
    }

    /// Sets a key, possibly several times, until that succeeds.
    ///
    /// On a busy machine, even a new token can expire before it is used, and a request can time out.
    ///
    /// - Returns: The revision.
    @discardableResult
    func put(_ key: String, _ value: String, until what: Comment) async -> Int64 {
        var revision: Int64 = 0
        await eventually(what) {
            do {
                revision = try await put(key, value)
                return true
            } catch {
                return false
            }
        }
        return revision
    }
}

extension EtcdKeyRange {
    init(_ key: String) {
        self.init(key: Array(key.utf8))
    }

    init(prefix: String) {
        self.init(prefix: Array(prefix.utf8))
    }
}
