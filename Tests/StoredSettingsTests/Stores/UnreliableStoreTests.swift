// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@Suite("UnreliableStore")
struct UnreliableStoreTests {
    private let reporter = RecordingReporter()
    private let store = UnreliableStore(["port": 8080])
    private let suite: SettingsSuite
    private let port: Setting<Int>

    init() {
        suite = SettingsSuite(store: store, reporter: reporter)
        port = Setting("port", default: 80, suite: suite)
    }

    private static let storeContract = SettingsStoreContract(
        named: "UnreliableStore",
        timeout: noTimeout / 4,
        makeStore: { UnreliableStore() }
    )

    @Test("satisfies every clause that applies to it while nothing fails", arguments: storeContract.clauses)
    func contract(_ clause: SettingsStoreContract.Clause) async {
        #expect(await Self.storeContract.violations(of: clause) == [])
    }

    @Test("while changes fail, a set throws and an assignment is reported, and is stored when they succeed")
    func changes() throws {
        store.failChanges()
        expectError(.writeFailed) { try port.set(9090) }
        expectError(.writeFailed) { try port.update { $0 += 1 } }
        #expect(throws: SettingsError.self) { try suite.synchronize() }
        #expect(throws: SettingsError.self) { try suite.checkpoint() }
        #expect(port.value == 8080)
        port.value = 7070
        #expect(reporter.errors.map(\.code) == [.writeFailed])
        #expect(port.value == 7070)
        #expect(suite.status.unsavedCount == 1)
        #expect(store.contents() == ["port": 8080])
        store.failChanges(with: nil)
        try suite.synchronize()
        #expect(store.contents() == ["port": 7070])
        store.failChanges(with: SettingsError(.readOnly, fact: "the disk is read-only"))
        expectError(.readOnly) { try port.set(1) }
    }

    @Test("while reads fail, the last values are used, a set is stored, and an update throws")
    func reads() throws {
        #expect(port.value == 8080)
        store.failReads()
        #expect(reporter.errors.map(\.code) == [.malformedFile])
        #expect(suite.status.problem?.code == .malformedFile)
        #expect(port.value == 8080)
        expectError(.malformedFile) { try port.update { $0 += 1 } }
        #expect(throws: SettingsError.self) { try suite.refresh() }
        try port.set(9090)
        #expect(port.value == 9090)
        store.failReads(with: nil)
        #expect(reporter.recoveries.map(\.code) == [.malformedFile])
        #expect(suite.status.problem == nil)
        #expect(try port.update { $0 += 1 } == 9091)
    }
}
