// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// Uses two stores for one file, like two processes; the commits of the first store can be made to fail.
@Suite("Pending writes and newer commits", .deadlockLimit)
struct PendingWriteOrderTests {
    private let reporter = TransactionReporter()
    private let faults = Faults()

    private struct Pair: Sendable {
        var path: String
        var store: FileStore
        var otherStore: FileStore
        var setting: Setting<Int>
        var otherSetting: Setting<Int>

        var suite: SettingsSuite { setting.suite }

        func expectBoth(_ value: Int, sourceLocation: SourceLocation = #_sourceLocation) {
            // These stores have no watch, so look for an edit explicitly.
            otherStore.lookAndWait()
            #expect(setting.value == value, sourceLocation: sourceLocation)
            #expect(otherSetting.value == value, sourceLocation: sourceLocation)
        }
    }

    private func withPair(_ body: (Pair) async throws -> Void) async throws {
        try await withSettingsPath { path in
            let store = FileStore(path: path, system: faults.system, checkpointsInBackground: false)
            let otherStore = FileStore(path: path, checkpointsInBackground: false)
            let other = SettingsSuite(store: otherStore)
            let pair = Pair(
                path: path,
                store: store,
                otherStore: otherStore,
                setting: Setting("port", default: 0, suite: SettingsSuite(store: store, reporter: reporter)),
                otherSetting: Setting("port", default: 0, suite: other)
            )
            try await pair.otherSetting.set(7)
            #expect(pair.setting.value == 7)
            try await body(pair)
            faults.stop()
            await pair.suite.finish()
            await other.finish()
        }
    }

    /// Assigns a value to the setting of the first store, which cannot be saved yet.
    private func assign(_ value: Int, in pair: Pair) {
        faults.fail(.write, with: ENOSPC)
        pair.setting.value = value
        #expect(pair.setting.value == value)
    }

    private func save(in pair: Pair) throws {
        faults.stop()
        try pair.suite.synchronize()
    }

    private var codes: [SettingsError.Code] { reporter.errors.map(\.code) }
    private let dropped = SettingsError.Code("pendingWriteDropped")

    /// Waits for the report of the dropped write: another thread may have been the first to notice the newer value.
    private func expectDropped(sourceLocation: SourceLocation = #_sourceLocation) async {
        await eventually("the dropped write is reported", sourceLocation: sourceLocation) { codes.count > 1 }
        #expect(codes == [.writeFailed, dropped], sourceLocation: sourceLocation)
    }

    /// What drops a pending write, with the value that is left.
    enum Newer: CaseIterable {
        case commit, removal, edit

        var result: Int {
            switch self {
            case .commit: 2
            case .removal: 0
            case .edit: 9
            }
        }
    }

    @Test(
        "a newer commit, removal or edit drops a pending write with a report, also if a retry is the first to notice it",
        arguments: Newer.allCases,
        [true, false]
    )
    func newer(_ newer: Newer, isRead: Bool) async throws {
        try await withPair { pair in
            var values = pair.setting.values.makeAsyncIterator()
            #expect(await values.next() == 7)
            try await pair.suite.checkpoint()
            assign(1, in: pair)
            #expect(await values.next() == 1)
            switch newer {
            case .commit: try await pair.otherSetting.set(2)
            case .removal: try await pair.otherSetting.suite.removeAll()
            case .edit:
                try pair.path.replaceFile(with: #"{"port": 9}"#)
                pair.store.lookAndWait()
            }
            if isRead { #expect(pair.setting.value == newer.result) }
            try save(in: pair)
            pair.expectBoth(newer.result)
            #expect(pair.setting.isSet == (newer != .removal))
            #expect(await values.next() == newer.result)
            await expectDropped()
            let error = try #require(reporter.errors.last)
            #expect(error.key == "port")
            #expect(error.location?.file == pair.path)
            #expect(!error.consequence.isEmpty && !error.remedy.isEmpty)
        }
    }

    /// What drops no pending write.
    enum Older: CaseIterable {
        case commit, edit, otherKey
    }

    @Test(
        "a commit or an edit before the assignment that is noticed after it, and a commit of another key, drop nothing",
        arguments: Older.allCases
    )
    func older(_ older: Older) async throws {
        try await withPair { pair in
            try await pair.suite.checkpoint()
            switch older {
            case .commit: try await pair.otherSetting.set(2)
            case .edit: try pair.path.replaceFile(with: #"{"port": 9, "host": "a"}"#)
            case .otherKey: break
            }
            assign(1, in: pair)
            if older == .edit { pair.store.lookAndWait() }
            if older == .otherKey { try await pair.otherSetting.suite.setStoredValue("a", forKey: "host") }
            #expect(pair.suite.contains("host") == (older != .commit))
            #expect(pair.setting.value == 1)
            try save(in: pair)
            pair.expectBoth(1)
            #expect(codes == [.writeFailed])
        }
    }

    @Test("a commit of the same value by another process leaves nothing to save and is no change")
    func equalCommit() async throws {
        try await withPair { pair in
            assign(1, in: pair)
            let changes = pair.suite.changes()
            try await pair.otherSetting.set(1)
            #expect(pair.setting.value == 1)
            // Nothing can be saved yet, and nothing has to be saved.
            try await pair.suite.synchronize()
            try await pair.otherSetting.suite.setStoredValue("a", forKey: "host")
            #expect(pair.suite.contains("host"))
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next()?.keys == ["host"])
            #expect(codes == [.writeFailed])
        }
    }

    @Test("a later set in this process replaces a pending write silently", arguments: [2, 7])
    func laterSet(value: Int) async throws {
        try await withPair { pair in
            assign(1, in: pair)
            faults.stop()
            try await pair.setting.set(value)
            pair.expectBoth(value)
            #expect(!pair.suite.engine.isPending("port"))
            #expect(codes == [.writeFailed])
        }
    }

    @Test(
        "a transaction stores its own value, and no pending write, over an edit that is noticed during it",
        arguments: [nil, 5]
    )
    func editDuringTransaction(ownValue: Int?) async throws {
        try await withPair { pair in
            try await pair.suite.checkpoint()
            assign(1, in: pair)
            try await pair.suite.transaction { settings in
                // Stop the faults here, because a retry could save the value earlier.
                faults.stop()
                #expect(settings[pair.setting] == 1)
                try pair.path.replaceFile(with: #"{"port": 9}"#)
                pair.store.look()
                #expect(pair.setting.value == 9)
                settings[storedValueFor: "host"] = "a"
                if let ownValue { settings[pair.setting] = ownValue }
            }
            #expect(!reporter.hasReportedInTransaction, "nothing is reported under the transaction's locks")
            #expect(pair.suite.contains("host"))
            pair.expectBoth(ownValue ?? 9)
            try await pair.suite.synchronize()
            pair.expectBoth(ownValue ?? 9)
            await expectDropped()
        }
    }

    @Test("all values, read while a pending write is saved, contain it")
    func contentsDuringFlush() throws {
        let store = FailingStore()
        let port = Setting("port", default: 1, suite: SettingsSuite(store: store, reporter: RecordingReporter()))
        store.fail(with: SettingsError(.writeFailed, fact: "the disk is full"))
        port.value = 5
        store.fail(with: nil)
        store.afterContents.withLock { hook in
            hook = { #expect(throws: Never.self) { try port.suite.engine.flush() } }
        }
        #expect(port.suite.snapshot() == ["port": 5])
        #expect(!port.suite.engine.isPending("port"))
    }
}

/// Records errors, and whether the body of a transaction has reported one.
private final class TransactionReporter: SettingsReporter {
    private let recorder = RecordingReporter()
    private let hasReported = Atomic(false)

    var errors: [SettingsError] { recorder.errors }
    var hasReportedInTransaction: Bool { hasReported.load(ordering: .relaxed) }

    func report(_ error: SettingsError) {
        if TransactionScope.current != nil { hasReported.store(true, ordering: .relaxed) }
        recorder.report(error)
    }
}
