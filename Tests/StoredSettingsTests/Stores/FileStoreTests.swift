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

    @Test("a checkpointed file is indented, with sorted keys and a final newline")
    func text() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            let expected = "{\n  \"a\": [\n    \"x\"\n  ],\n  \"b\": 2\n}\n"
            Setting("b", default: 0, suite: suite).value = 2
            Setting("a", default: [String](), suite: suite).value = ["x"]
            try await suite.checkpoint()
            let text = try path.fileContents
            #expect(text == expected)
        }
    }

    @Test("a new suite reads the values that an earlier one stored")
    func reopening() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            Setting("port", default: 1, suite: suite(path)).value = 2
            let reopened = Setting("port", default: 1, suite: suite(path))
            #expect(reopened.value == 2)
            #expect(reopened.suite.persistence == .durable(path: path))
        }
    }

    @Test("reading creates no file and no directory")
    func readingCreatesNothing() async throws {
        try await withTemporaryDirectory { directory in
            let suite = suite(directory + "/deep/er/settings.json")
            #expect(Setting("port", default: 1, suite: suite).value == 1)
            _ = (suite.keys, suite.snapshot(), suite.persistence, suite.contains("x"))
            try await suite.synchronize()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        }
    }

    @Test("setting an equal value writes nothing, also after the value was read back from the file")
    func equalValues() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let (suite, date) = (suite(path), Date(timeIntervalSinceReferenceDate: 0.1))
            let setting = Setting("date", default: Date(), suite: suite)
            setting.value = date
            try await suite.checkpoint()
            let (inode, journal) = (try path.inode, try JournalFile(of: path).recorded)
            let version = suite.engine.store.version()
            setting.value = date
            try await setting.update { _ in }
            #expect(try JournalFile(of: path).recorded == journal)
            #expect(suite.engine.store.version() == version)
            try await suite.checkpoint()
            #expect(try path.inode == inode)
            setting.value = date + 1
            #expect(try JournalFile(of: path).recorded != journal)
            #expect(suite.engine.store.version() != version)
            try await suite.checkpoint()
            #expect(try path.inode != inode)
        }
    }

    @Test("paths that lead to one file through links and dots share one engine, whether or not the file exists")
    func identity() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(atPath: directory + "/link", withDestinationPath: "real")
            let one = suite(directory + "/real/s.json")
            let two = suite(directory + "/link/s.json")
            let three = suite(directory + "/link/../real/./s.json")
            #expect(one.engine === two.engine)
            #expect(one.engine === three.engine)
            try await one.setStoredValue(1, forKey: "a")
            #expect(two.engine === suite(directory + "/link/s.json").engine)
            #expect(one.engine !== suite(directory + "/real/other.json").engine)
        }
    }

    @Test("a link is preserved, and its target in another directory is written")
    func links() async throws {
        try await withTemporaryDirectory { directory in
            let (link, target) = (directory + "/a/settings.json", directory + "/b/real.json")
            for name in ["/a", "/b"] {
                try FileManager.default.createDirectory(atPath: directory + name, withIntermediateDirectories: false)
            }
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "../b/real.json")
            let suite = suite(link)
            try await suite.setStoredValue(1, forKey: "a")
            try await suite.checkpoint()
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "../b/real.json")
            #expect(try target.fileContents == "{\n  \"a\": 1\n}\n")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/a") == ["settings.json"])
        }
    }

    @Test("unknown keys and values of other types are preserved")
    func preserving() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(
                with: #"{"future": {"deep": [1, null, 18446744073709551615, -0.0]}, "port": "text"}"#
            )
            let suite = suite(path)
            try await suite.setStoredValue(true, forKey: "new")
            try await suite.checkpoint()
            let expected: StoredValue = ["deep": [1, nil, 18_446_744_073_709_551_615, .double(-0.0)]]
            let contents = try JSONReader.readObject(Array(path.fileContents.utf8))
            #expect(contents == ["future": expected, "port": "text", "new": true])
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

    #if os(Linux)
    @Test("opening, writing, watching and releasing suites leaves no descriptor open")
    func descriptors() async throws {
        func openFiles(under directory: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .count { name in
                    // A descriptor that is closed meanwhile has no target.
                    readlinkTarget("/proc/self/fd/" + name)?.hasPrefix(directory) ?? false
                }
        }
        try await withTemporaryDirectory { directory in
            for round in 0..<200 {
                let suite = suite(directory + "/\(round % 7)/settings.json")
                let port = Setting("port", default: 1, suite: suite)
                var values = port.values.makeAsyncIterator()
                _ = await values.next()
                try await port.update { $0 += 1 }
                if round % 3 == 0 { await suite.finish() }
            }
            try await eventually("all descriptors are closed") { try openFiles(under: directory) == 0 }
        }
    }
    #endif

    @Test("the first change of a suite that has read nothing contains only the changed keys")
    func changesBeforeReading() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
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
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            let opened = Mutex<[String]>([])
            let system = SystemCalls(witness: { call, name in
                if call == .open { opened.withLock { $0.append(name) } }
            })
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            let suite = SettingsSuite(store: store)
            #expect(opened.withLock { $0 } == [])
            #expect(suite.keys == ["a"])
            #expect(opened.withLock { $0.contains(path) })
            store.close()
        }
    }
}

/// The target of a link, or `nil` if there is none.
private func readlinkTarget(_ path: String) -> String? {
    do {
        return try FileManager.default.destinationOfSymbolicLink(atPath: path)
    } catch {
        return nil
    }
}
