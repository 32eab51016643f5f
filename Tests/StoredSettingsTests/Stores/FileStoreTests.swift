// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("FileStore")
struct FileStoreTests {
    private let reporter = RecordingReporter()

    private func suite(_ path: String) -> SettingsSuite {
        SettingsSuite(fileAt: path, reporter: reporter)
    }

    @Test("what was set is in the file once it is checkpointed, pretty, with sorted keys and a final newline")
    func text() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            let expected = "{\n  \"a\": [\n    \"x\"\n  ],\n  \"b\": 2\n}\n"
            Setting("b", default: 0, suite: suite).value = 2
            Setting("a", default: [String](), suite: suite).value = ["x"]
            try suite.checkpoint()
            let text = try path.fileContents
            #expect(text == expected)
        }
    }

    @Test("a suite made anew reads what an earlier one has stored")
    func reopening() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            Setting("port", default: 1, suite: suite(path)).value = 2
            let reopened = Setting("port", default: 1, suite: suite(path))
            #expect(reopened.value == 2)
            #expect(reopened.suite.persistence == .durable(path: path))
        }
    }

    @Test("reading creates nothing, no directory either")
    func readingCreatesNothing() async throws {
        try await withTemporaryDirectory { directory in
            let suite = suite(directory + "/deep/er/settings.json")
            #expect(Setting("port", default: 1, suite: suite).value == 1)
            _ = (suite.keys, suite.snapshot(), suite.persistence, suite.contains("x"))
            try suite.synchronize()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        }
    }

    @Test("equal values write nothing, in whichever form they are read back")
    func equalValues() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let (suite, date) = (suite(path), Date(timeIntervalSinceReferenceDate: 0.1))
            let setting = Setting("date", default: Date(), suite: suite)
            setting.value = date
            try suite.checkpoint()
            let (inode, journal) = (try path.inode, try JournalFile(of: path).bytes)
            let version = suite.engine.store.version()
            setting.value = date
            try setting.update { _ in }
            #expect(try JournalFile(of: path).bytes == journal)
            #expect(suite.engine.store.version() == version)
            try suite.checkpoint()
            #expect(try path.inode == inode)
            setting.value = date + 1
            #expect(try JournalFile(of: path).bytes != journal)
            #expect(suite.engine.store.version() != version)
            try suite.checkpoint()
            #expect(try path.inode != inode)
        }
    }

    @Test("paths that lead to one file share one engine, by links and dots, be the file there or not")
    func identity() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(atPath: directory + "/link", withDestinationPath: "real")
            let one = suite(directory + "/real/s.json")
            let two = suite(directory + "/link/s.json")
            let three = suite(directory + "/link/../real/./s.json")
            #expect(one.engine === two.engine)
            #expect(one.engine === three.engine)
            try one.setStoredValue(1, forKey: "a")
            #expect(two.engine === suite(directory + "/link/s.json").engine)
            #expect(one.engine !== suite(directory + "/real/other.json").engine)
        }
    }

    @Test("a link is written through, not replaced, and its target may lie elsewhere")
    func links() async throws {
        try await withTemporaryDirectory { directory in
            let (link, target) = (directory + "/a/settings.json", directory + "/b/real.json")
            for name in ["/a", "/b"] {
                try FileManager.default.createDirectory(atPath: directory + name, withIntermediateDirectories: false)
            }
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "../b/real.json")
            let suite = suite(link)
            try suite.setStoredValue(1, forKey: "a")
            try suite.checkpoint()
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
            try suite.setStoredValue(true, forKey: "new")
            try suite.checkpoint()
            let expected: StoredValue = ["deep": [1, nil, 18_446_744_073_709_551_615, .double(-0.0)]]
            let contents = try JSONReader.readObject(Array(path.fileContents.utf8))
            #expect(contents == ["future": expected, "port": "text", "new": true])
        }
    }

    @Test("finishing a suite while others set ends their sets with an error", .timeLimit(.minutes(2)))
    func finishingWhileSetting() async throws {
        try await withTemporaryDirectory { directory in
            for round in 0..<10 {
                let suite = suite(directory + "/\(round)/settings.json")
                let codes = Mutex<[SettingsError.Code?]>([])
                // On threads of their own: loops that never wait would leave no thread for other tasks.
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
                await eventually("both have begun") { suite.keys.count == 2 }
                suite.finish()
                await eventually("both have ended") { codes.withLock { $0.count } == 2 }
                #expect(codes.withLock { $0 } == [.suiteFinished, .suiteFinished])
            }
        }
    }

    #if os(Linux)
    @Test("opening, writing, watching and letting go of suites leaves no descriptor open")
    func descriptors() async throws {
        func openFiles(under directory: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .count { name in
                    // One that is closed while it is looked at leads nowhere.
                    readlinkTarget("/proc/self/fd/" + name)?.hasPrefix(directory) ?? false
                }
        }
        try await withTemporaryDirectory { directory in
            for round in 0..<200 {
                let suite = suite(directory + "/\(round % 7)/settings.json")
                let port = Setting("port", default: 1, suite: suite)
                var values = port.values.makeAsyncIterator()
                _ = await values.next()
                try port.update { $0 += 1 }
                if round % 3 == 0 { suite.finish() }
            }
            try await eventually("all are closed") { try openFiles(under: directory) == 0 }
        }
    }
    #endif

    @Test("the changes of a suite that has read nothing yet are those that are made, not all that is stored")
    func changesBeforeReading() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1, "b": 2}"#)
            let suite = suite(path)
            let changes = suite.changes
            try suite.setStoredValue(3, forKey: "b")
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next()?.keys == ["b"])
        }
    }
}

/// Where a link leads.
private func readlinkTarget(_ path: String) -> String? {
    do {
        return try FileManager.default.destinationOfSymbolicLink(atPath: path)
    } catch {
        return nil
    }
}
