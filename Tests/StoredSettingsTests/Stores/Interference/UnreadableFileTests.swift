// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

/// Uses injected faults, because no permission prevents root from reading.
@Suite("A file that becomes unreadable")
struct UnreadableFileTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()

    private func suite(_ path: String) -> SettingsSuite {
        SettingsSuite(store: FileStore(path: path, system: faults.system), reporter: reporter)
    }

    /// Removes the permission to read: the file's status changes, and opening the file fails.
    private func makeUnreadable(_ path: String, _ number: CInt) throws {
        faults.fail(.open, with: number) { $0 == path }
        try FileManager.default.setAttributes([.posixPermissions: 0o000], ofItemAtPath: path)
    }

    private func makeReadable(_ path: String) throws {
        faults.stop()
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    @Test("synchronizing throws while the journal cannot be opened, since other processes may have set values in it")
    func synchronizing() async throws {
        try await withSettingsPath { path in
            let other = makeStore(path)
            try other.commit(isBlind: true) { $0["a"] = 1 }
            try other.checkpoint()
            try other.commit(isBlind: true) { $0["a"] = 2 }
            let store = makeStore(path, faults.system)
            faults.fail(.open, with: EMFILE) { $0 == path + ".journal" }
            #expect(store.value(forKey: "a") == 1)
            expectError(.readFailed) { try store.synchronize() }
            faults.stop()
            try store.synchronize()
            #expect(store.value(forKey: "a") == 2)
            try JournalFile(of: path).replace(with: [UInt8](repeating: 1, count: JournalFile.headerSize))
            let late = makeStore(path)
            expectError(.malformedJournal) { try late.synchronize() }
        }
    }

    @Test(
        "an unreadable file is reported once, its values remain, and sets are merged when it is readable again",
        arguments: [EACCES, EPERM, EIO, EMFILE]
    )
    func unreadable(number: CInt) async throws {
        try await withSettingsPath { path in
            let store = FileStore(path: path, system: faults.system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            let (a, b) = (Setting("a", default: 0, suite: suite), Setting("b", default: 0, suite: suite))
            try await a.set(1)
            try await suite.checkpoint()
            let changes = b.changes()
            let text = try path.fileContents
            try makeUnreadable(path, number)
            await eventually("the failure is reported") { reporter.errors.map(\.code) == [.readFailed] }
            #expect(reporter.errors.first?.location?.file == path)
            #expect(a.value == 1)
            expectError(.readFailed) { try a.load() }
            try await b.set(2)
            #expect(b.value == 2)
            try await suite.synchronize()
            expectError(.readFailed) { try suite.checkpoint() }
            await eventually("a checkpoint in the background has failed, and another is scheduled") {
                store.schedule.isBackingOff && store.schedule.isScheduled.isSet
            }
            #expect(reporter.errors.map(\.code) == [.readFailed])

            // Another store, which has never read the file, uses the last good copy.
            let lateSuite = self.suite(path)
            #expect(lateSuite.snapshot() == ["a": 1, "b": 2])
            await lateSuite.finish()

            try makeReadable(path)
            #expect(try path.fileContents == text)
            try await eventually("the new value is checkpointed") {
                try path.fileContents == "{\n  \"a\": 1,\n  \"b\": 2\n}\n"
            }
            #expect(try a.load() == 1)
            _ = changes
        }
    }

    @Test("with an unreadable journal the file's values are read and sets fail, and no value is lost")
    func unreadableJournal() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"a": 1}"#)
            let writer = SettingsSuite(store: makeStore(path), reporter: reporter)
            try await writer.setStoredValue(2, forKey: "b")
            faults.fail(.open, with: EACCES) { $0 == path + ".journal" }
            let suite = suite(path)
            #expect(suite.snapshot() == ["a": 1])
            #expect(reporter.errors.map(\.code) == [.readFailed])
            #expect(reporter.errors.first?.location?.file == path + ".journal")
            #expect(throws: SettingsError.self) { try suite.setStoredValue(3, forKey: "c") }
            faults.stop()
            await eventually("the journal is read") { suite.snapshot() == ["a": 1, "b": 2] }
            try await suite.setStoredValue(3, forKey: "c")
            #expect(writer.snapshot() == ["a": 1, "b": 2, "c": 3])
            #expect(reporter.errors.count == 1)
        }
    }
}
