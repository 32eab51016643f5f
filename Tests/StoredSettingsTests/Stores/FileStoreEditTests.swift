// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("FileStore and edits of its file", .deadlockLimit)
struct FileStoreEditTests {
    private let reporter = RecordingReporter()

    private func suite(_ path: String) -> SettingsSuite {
        SettingsSuite(fileAt: path, reporter: reporter)
    }

    @Test("an edit that is noticed while another thread still reads the previous file is read, too")
    func editDuringRead() async throws {
        try await withSettingsPath(inMemory: true) { path in
            let reading = Interruption(after: .read) { $0 == path }
            try path.replaceFile(with: #"{"n": 1}"#)
            let store = makeStore(path, reading.system)
            #expect(store.contents() == ["n": 1])
            await store.untilSettled()
            try path.replaceFile(with: #"{"n": 2}"#)
            // The file is open, and is replaced before its contents become visible.
            reading.run {
                try path.replaceFile(with: #"{"n": 3}"#)
                try onAnotherThread { store.look() }
            }
            store.look()
            #expect(store.contents() == ["n": 3])
            store.close()
        }
    }

    @Test("each file that is broken is reported once, also when another one is broken in the same way")
    func brokenAgain() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let store = makeStore(path)
            let suite = SettingsSuite(store: store, reporter: reporter)
            for line in 1...3 {
                // Old enough not to be one that an editor is writing.
                let next = directory + "/next.json"
                try next.overwriteFile(with: "{" + String(repeating: "\n", count: line) + "oops}")
                let date = Date(timeIntervalSince1970: 1e9)
                try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: next)
                #expect(rename(next, path) == 0)
                for _ in 1...3 {
                    store.look()
                    #expect(suite.snapshot() == [:])
                }
                #expect(reporter.errors.map(\.location?.line) == (1...line).map { $0 + 1 })
            }
        }
    }

    @Test("a file that an editor moves aside before rewriting it does not count as removed")
    func movedAside() async throws {
        try await withSettingsPath { path in
            let suite = suite(path)
            let port = Setting("port", default: 1, suite: suite)
            try await port.set(2)
            try await suite.checkpoint()
            let changes = port.changes()
            try FileManager.default.moveItem(atPath: path, toPath: path + "~")
            #expect(port.value == 2)
            try path.overwriteFile(with: #"{"port": 3}"#)
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next() == SettingChange(old: 2, new: 3, origin: .external))
        }
    }

    @Test("a file that has just become malformed is reported at once by reads, loads and explanations")
    func recentlyMalformed() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{\"port\": 2")
            let port = Setting("port", default: 1, suite: suite(path))
            #expect(port.value == 1)
            #expect(reporter.errors.map(\.code) == [.malformedFile])
            expectError(.malformedFile) { try port.load() }
            #expect(port.explain().problem?.code == .malformedFile)
            port.value = 3
            #expect(port.value == 3)
            #expect(port.explain().place == .durable(path: path))
            #expect(port.explain().problem?.code == .malformedFile)
            try path.overwriteFile(with: "{\"port\": 2}")
            try await eventually("the change is checkpointed") { try path.fileContents == "{\"port\": 3}" }
            #expect(try port.load() == 3)
            #expect(port.explain().problem == nil)
        }
    }

    @Test("a file is read again after its last change: for longer if its times have no fractions, and if they were set")
    func times() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{}")
            var status = try #require(try SystemCalls().status(at: FilePath(path)))
            let now = SystemCalls.wallClock()
            for (nanoseconds, isCertain) in [(0, false), (1, true)] {
                (status.modified.seconds, status.modified.nanoseconds) = (.init(now - 1), .init(nanoseconds))
                status.changed = status.modified
                #expect(SettingsFile.isCertain(status, at: now) == isCertain)
                (status.modified.seconds, status.changed.seconds) = (.init(now - 4), .init(now - 4))
                #expect(SettingsFile.isCertain(status, at: now))
            }
            (status.changed.seconds, status.changed.nanoseconds) = (.init(now), .init((now - now.rounded(.down)) * 1e9))
            for offset in [-100, 0, 100] {
                status.modified.seconds = status.changed.seconds + offset
                #expect(!SettingsFile.isCertain(status, at: now))
                #expect(SettingsFile.isCertain(status, at: now + 50))
            }
        }
    }

    @Test("the error for an unusable value has its line and column, unless the value is only in the journal")
    func placeOfValue() async throws {
        try await withTemporaryDirectory { directory in
            let (path, reporter) = (directory + "/settings.json", RecordingReporter())
            try path.overwriteFile(
                with: """
                    { // top
                      "nested": {"port": 1},
                      /* a */ "port" : "no",
                      "other": {"port": 2}
                    }

                    """
            )
            let store = makeStore(path)
            let suite = SettingsSuite(store: store, reporter: reporter)
            let port = Setting("port", default: 8_080, suite: suite)
            #expect(port.value == 8_080)
            #expect(reporter.errors.map(\.location) == [.init(file: path, line: 3, column: 20)])
            #expect(reporter.errors.first?.message.contains("\(path):3:20") == true)
            #expect(settingsError { try port.load() }?.location?.line == 3)
            try await suite.setStoredValue("still no", forKey: "port")
            #expect(port.value == 8_080)
            #expect(reporter.errors.last?.location == .init(file: path))
            try await suite.checkpoint()
            #expect(settingsError { try port.load() }?.location == .init(file: path, line: 3, column: 20))
        }
    }

    @Test("a FIFO that takes the place of the file makes no process wait")
    func fifo() async throws {
        try await withSettingsPath { path in
            try makeStore(path).commit(isBlind: true) { $0["w"] = 0 }
            #expect(mkfifo(path, 0o600) == 0)
            let suite = suite(path)
            #expect(suite.keys == ["w"])
            try await suite.setStoredValue(1, forKey: "x")
            #expect(throws: SettingsError.self) { try suite.checkpoint() }
            #expect(suite.keys == ["w", "x"])
        }
    }
}
