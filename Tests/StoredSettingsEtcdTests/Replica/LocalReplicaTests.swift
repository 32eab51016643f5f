// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import ProcessSupport
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("The replica on the disk", .deadlockLimit)
struct LocalReplicaTests {
    private static func replica(at revision: Int64, _ values: [String: StoredValue] = [:]) -> SavedReplica {
        SavedReplica(
            values: values,
            revisions: values.mapValues { _ in revision },
            revision: revision,
            clusterID: 1,
            head: nil,
            headRevision: 0
        )
    }

    @Test("Revisions that etcd never has are not used", arguments: [Int64.max, -1])
    func impossibleRevision(_ revision: Int64) async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/replica.json"
            let local = LocalReplica(at: path, prefix: "p/")
            try local.save(Self.replica(at: 5, ["a": 1]))
            local.close()
            let file = LocalStores.file(at: path)
            try file.commit { transaction in
                guard case .dictionary(var meta)? = transaction["meta"] else { return }
                meta["revision"] = .integer(Int128(revision))
                transaction["meta"] = .dictionary(meta)
            }
            #expect(LocalReplica(at: path, prefix: "p/").load() == nil)
            file.close()
        }
    }

    @Test("Without a directory for the replica, a suite is used, and reports that an assignment is not on the disk")
    func noDirectory() async throws {
        let reporter = RecordingReporter()
        var configuration = EtcdStore.Configuration()
        configuration.timeout = .milliseconds(300)
        configuration.requestTimeout = .milliseconds(300)
        let suite = try SettingsSuite.etcd(
            String(repeating: "x", count: 300),
            endpoints: ["http://127.0.0.1:1"],
            configuration: configuration,
            reporter: reporter
        )
        let limit = Setting("limit", default: 1, suite: suite)
        await blocking {
            limit.value = 2
            #expect(limit.value == 2)
        }
        await eventually("the missing directory is reported") {
            reporter.errors.contains { $0.code == .locationUnavailable }
        }
        await blocking { suite.finish() }
    }

    @Test("A replica replaces an older one, and a newer one only after a backup was restored")
    func order() async throws {
        try await withTemporaryDirectory { directory in
            let local = LocalReplica(at: "\(directory)/replica.json", prefix: "p/")
            try local.save(Self.replica(at: 50, ["a": 1]))
            try local.save(Self.replica(at: 40, ["a": 2]))
            #expect(local.load()?.values == ["a": 1])
            try local.save(Self.replica(at: 20, ["b": 3]), isRestored: true)
            #expect(local.load() == Self.replica(at: 20, ["b": 3]))
            local.close()
        }
    }

    @Test("A process that has ended is not running, also before its parent has noticed it")
    func zombie() async throws {
        // `cat` replaces the shell, never waits for the child, and ends with its input.
        let process = try ChildProcess(["/bin/sh", "-c", "sh -c 'echo $$' & exec cat"], input: .pipe)
        defer { process.end() }
        var line: String?
        await eventually("the child prints its number", of: process) {
            line = process.output.next()
            return line != nil
        }
        let child = try #require(UInt64(line ?? ""))
        await eventually("the child has ended") { !ProcessMark(process: child, start: 0).isRunning }
    }
}
