// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("FileStore", .deadlockLimit)
struct FileStoreTests {
    private let reporter = RecordingReporter()

    private func suite(_ path: String) -> SettingsSuite {
        SettingsSuite(fileAt: path, reporter: reporter)
    }

    @Test("setting an equal value writes nothing, also after the value was read back from the file")
    func equalValues() async throws {
        try await withSettingsPath { path in
            let (suite, date) = (suite(path), Date(timeIntervalSinceReferenceDate: 0.1))
            let setting = Setting("date", default: Date(), suite: suite)
            setting.value = date
            try await suite.checkpoint()
            let (inode, journal) = (try path.inode, try JournalFile(of: path).recorded)
            setting.value = date
            try await setting.update { _ in }
            #expect(try JournalFile(of: path).recorded == journal)
            try await suite.checkpoint()
            #expect(try path.inode == inode)
            setting.value = date + 1
            #expect(try JournalFile(of: path).recorded != journal)
            try await suite.checkpoint()
            #expect(try path.inode != inode)
        }
    }

    @Test("finishing a suite makes concurrent sets fail with an error")
    func finishingWhileSetting() async throws {
        try await withTemporaryDirectory { directory in
            for round in 0..<10 {
                let suite = suite(directory + "/\(round)/settings.json")
                let codes = Mutex<[SettingsError.Code?]>([])
                // Busy loops on the cooperative pool would leave no thread for other tasks.
                for name in ["one", "two"] {
                    Thread.detachNewThread {
                        var code: SettingsError.Code?
                        var value: Int128 = 0
                        while code == nil {
                            do {
                                try suite.setStoredValue(.integer(value), forKey: name)
                                value += 1
                            } catch {
                                code = (error as? SettingsError)?.code ?? .unstorable
                            }
                        }
                        codes.withLock { $0.append(code) }
                    }
                }
                await eventually("both threads have started") { suite.keys.count == 2 }
                await suite.finish()
                await eventually("both threads have ended") { codes.withLock { $0.count } == 2 }
                #expect(codes.withLock { $0 } == [.suiteFinished, .suiteFinished])
            }
        }
    }

    @Test("the first change of a suite that has read nothing contains only the changed keys")
    func changesBeforeReading() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"a": 1, "b": 2}"#)
            let suite = suite(path)
            let changes = suite.changes()
            try await suite.setStoredValue(3, forKey: "b")
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next()?.keys == ["b"])
        }
    }

    @Test("creating a suite opens no file")
    func creatingOpensNothing() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"a": 1}"#)
            let counter = CallCounter()
            let store = makeStore(path, counter.system)
            let suite = SettingsSuite(store: store)
            #expect(counter.count(.open) == 0)
            #expect(suite.keys == ["a"])
            #expect(counter.count(.open) > 0)
            store.close()
        }
    }
}
