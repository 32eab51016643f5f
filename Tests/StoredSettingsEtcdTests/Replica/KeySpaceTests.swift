// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "No prefix begins with another one".

import StoredSettings
import StoredSettingsEtcd
import StoredSettingsTesting
import TestSupport
import Testing

@Suite("EtcdStore: prefixes of which one begins with another", .deadlockLimit)
struct KeySpaceTests {
    @Test(
        "the second store is refused with an error that names both, until the first one is closed",
        arguments: [("acme/", "acme/k/"), ("acme/k/", "acme/"), ("acme/", "acme/west/")]
    )
    func overlap(first: String, second: String) async throws {
        let etcd = MemoryEtcd()
        let stores = [first, first, "acme2/"].map { EtcdStore(etcd, prefix: $0) }
        for store in stores { #expect(store.problem == nil) }
        let refused = EtcdStore(etcd, prefix: second)
        let error = try #require(refused.problem)
        #expect(error.code == .overlappingPrefix)
        #expect(error.fact.contains("'\(first)'") && error.fact.contains("'\(second)'"))
        expectError(error.code) { try refused.write(1, forKey: "a") }
        expectError(error.code) { try refused.writeLater(["a": 1]) }
        expectError(error.code) { try refused.refresh(mayWait: true) }
        #expect(refused.contents() == [:])
        let reporter = RecordingReporter()
        #expect(SettingsSuite(store: refused, name: "refused", reporter: reporter).keys == [])
        await eventually("the error is reported") { reporter.errors.first?.code == .overlappingPrefix }
        #expect(EtcdStore(MemoryEtcd(), prefix: second).problem == nil, "other servers")
        for store in stores { store.close() }
        #expect(EtcdStore(etcd, prefix: second).problem == nil)
    }

    @Test("a suite whose name continues that of another one is refused if they have a server in common")
    func suites() async throws {
        try await withTemporaryDirectory { directory in
            func suite(_ name: String, _ endpoints: String...) throws -> SettingsSuite {
                var configuration = EtcdStore.Configuration()
                configuration.replicaFile = "\(directory)/replica.json"
                return try SettingsSuite.etcd(
                    name,
                    endpoints: endpoints,
                    configuration: configuration,
                    reporter: RecordingReporter()
                )
            }
            let outer = try suite("acme", "http://127.0.0.1:1")
            defer { outer.finish() }
            let error = #expect(throws: SettingsError.self) {
                try suite("acme/k", "http://127.0.0.2:1", "http://127.0.0.1:1")
            }
            #expect(error?.message.contains("'settings/acme/k/'") == true)
            #expect(error?.message.contains("'settings/acme/'") == true)
            try suite("acme/k", "http://127.0.0.2:1").finish()
        }
    }
}
