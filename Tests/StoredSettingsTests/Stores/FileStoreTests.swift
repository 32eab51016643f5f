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

    @Test("what was set is in the file, pretty, with sorted keys and a final newline")
    func text() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            let expected = "{\n  \"a\": [\n    \"x\"\n  ],\n  \"b\": 2\n}\n"
            Setting("b", default: 0, suite: suite).value = 2
            Setting("a", default: [String](), suite: suite).value = ["x"]
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
            let before = try path.inode
            let generation = suite.engine.store.generation()
            setting.value = date
            try setting.update { _ in }
            #expect(try path.inode == before)
            #expect(suite.engine.store.generation() == generation)
            setting.value = date + 1
            #expect(try path.inode != before)
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

    @Test("directories are made for their owner alone, files too, and an existing file keeps its mode")
    func modes() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/new/settings.json"
            let suite = suite(path)
            try suite.setStoredValue(1, forKey: "a")
            #expect(try (directory + "/new").filePermissions == 0o700)
            for name in try FileManager.default.contentsOfDirectory(atPath: directory + "/new") {
                #expect(try (directory + "/new/" + name).filePermissions == 0o600, "\(name)")
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
            try suite.setStoredValue(2, forKey: "a")
            #expect(try path.filePermissions == 0o640)
        }
    }

    @Test("root keeps a file its owner's, and makes the lock theirs", .enabled(if: geteuid() == 0, "only root can"))
    func owners() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: "{}")
            #expect(chown(path, 4_321, 4_322) == 0)
            try FileManager.default.setAttributes([.posixPermissions: 0o660], ofItemAtPath: path)
            try suite(path).setStoredValue(1, forKey: "a")
            for suffix in ["", ".lock", ".last-good"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
                #expect(attributes[.ownerAccountID] as? Int == 4_321)
                #expect(attributes[.groupOwnerAccountID] as? Int == 4_322)
                #expect(attributes[.posixPermissions] as? Int == 0o660)
            }
        }
    }

    @Test("a user who may not keep the group leaves its permissions out", arguments: [true, false])
    func groups(mayKeepGroup: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: "{}")
            #expect(chown(path, geteuid(), 4_322) == 0 || geteuid() != 0)
            try FileManager.default.setAttributes([.posixPermissions: 0o664], ofItemAtPath: path)
            let system = SystemCalls { call, _ in call == .changeOwner && !mayKeepGroup ? EPERM : nil }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try suite.setStoredValue(1, forKey: "a")
            let isSameGroup =
                try FileManager.default.attributesOfItem(atPath: path)[.groupOwnerAccountID] as? Int == 4_322
            #expect(try path.filePermissions == (mayKeepGroup || isSameGroup ? 0o664 : 0o604))
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

    @Test("a link is written through, not replaced, and its target may lie elsewhere")
    func links() async throws {
        try await withTemporaryDirectory { directory in
            let (link, target) = (directory + "/a/settings.json", directory + "/b/real.json")
            for name in ["/a", "/b"] {
                try FileManager.default.createDirectory(atPath: directory + name, withIntermediateDirectories: false)
            }
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "../b/real.json")
            try suite(link).setStoredValue(1, forKey: "a")
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
            try suite(path).setStoredValue(true, forKey: "new")
            let expected: StoredValue = ["deep": [1, nil, 18_446_744_073_709_551_615, .double(-0.0)]]
            let contents = try JSONReader.readObject(Array(path.fileContents.utf8))
            #expect(contents == ["future": expected, "port": "text", "new": true])
        }
    }

    @Test("a broken file is reported with line and column, left as it is, and read again once it is mended")
    func brokenFile() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            let port = Setting("port", default: 1, suite: suite)
            port.value = 2
            let broken = "{\n  \"port\": 3,\n  oops\n}"
            try path.overwriteFile(with: broken)
            await eventually("the broken file is reported") {
                _ = port.value
                return !reporter.errors.isEmpty
            }
            let error = try #require(reporter.errors.first)
            #expect(error.code == .malformedFile)
            #expect(error.location == SettingsError.Location(file: path, line: 3, column: 3))
            #expect(port.value == 2)

            #expect(throws: SettingsError(.malformedFile, fact: "")) { try port.set(4) }
            port.value = 5
            #expect(port.value == 5)
            #expect(throws: SettingsError(.notSaved, fact: "")) { try suite.synchronize() }
            #expect(try path.fileContents == broken)

            try path.overwriteFile(with: #"{"port": 3, "other": true}"#)
            try await eventually("what was assigned is merged into the mended file") {
                try path.fileContents == "{\n  \"other\": true,\n  \"port\": 5\n}\n"
            }
            #expect(suite.snapshot() == ["other": true, "port": 5])
            try suite.synchronize()
        }
    }

    @Test("a suite that meets a broken file serves the last good copy")
    func lastGoodCopy() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try suite(path).setStoredValue(2, forKey: "port")
            try suite(path).setStoredValue(3, forKey: "port")
            try path.overwriteFile(with: "")
            let late = suite(path)
            #expect(late.storedValue(forKey: "port") == 3)
            await eventually("the empty file is reported") { reporter.errors.map(\.code) == [.malformedFile] }
            #expect(try path.fileContents == "")
        }
    }

    @Test("a file that an editor moves aside before it writes it anew is not taken for removed")
    func movedAside() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            let port = Setting("port", default: 1, suite: suite)
            try port.set(2)
            let changes = port.changes
            try FileManager.default.moveItem(atPath: path, toPath: path + "~")
            #expect(port.value == 2)
            try path.overwriteFile(with: #"{"port": 3}"#)
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next() == SettingChange(old: 2, new: 3, origin: .external))
        }
    }

    @Test("a file that is removed leaves the defaults, after a moment, and a set begins a new one")
    func removed() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            let port = Setting("port", default: 1, suite: suite)
            try port.set(2)
            var values = port.values.makeAsyncIterator()
            #expect(await values.next() == 2)
            try FileManager.default.removeItem(atPath: path)
            #expect(await values.next() == 1)
            try suite.setStoredValue(5, forKey: "other")
            #expect(try path.fileContents == "{\n  \"other\": 5\n}\n")
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

    @Test("who meets a file that was broken just now is told at once, by reads, loads and explanations")
    func brokenJustNow() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: "{\"port\": 2")
            let port = Setting("port", default: 1, suite: suite(path))
            #expect(port.value == 1)
            #expect(reporter.errors.map(\.code) == [.malformedFile])
            #expect(throws: SettingsError(.malformedFile, fact: "")) { try port.load() }
            #expect(port.explain().problem?.code == .malformedFile)
            port.value = 3
            #expect(port.explain().place == .ephemeral(reason: "it could not be saved yet"))
            try path.overwriteFile(with: "{\"port\": 2}")
            try await eventually("the change is saved") { try path.fileContents == "{\n  \"port\": 3\n}\n" }
            #expect(try port.load() == 3)
            #expect(port.explain().problem == nil)
        }
    }

    @Test(
        "what is not an object of settings is broken too",
        arguments: ["[]", "null", "{}{}", "{\"a\": 1, \"a\": 2}", "{\"a\": 1e999}"]
    )
    func notSettings(text: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: text)
            let suite = suite(path)
            #expect(throws: SettingsError(.malformedFile, fact: "")) { try suite.setStoredValue(1, forKey: "x") }
            #expect(try path.fileContents == text)
        }
    }

    @Test("a directory in the file's place is reported and left alone")
    func unreadable() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let suite = suite(path)
            #expect(suite.keys.isEmpty)
            #expect(reporter.errors.map(\.code) == [.readFailed])
            #expect(throws: SettingsError(.readFailed, fact: "")) { try suite.setStoredValue(1, forKey: "x") }
        }
    }

    @Test("a FIFO in the file's place keeps nobody waiting", .timeLimit(.minutes(1)))
    func fifo() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            #expect(mkfifo(path, 0o600) == 0)
            let suite = suite(path)
            #expect(suite.keys.isEmpty)
            #expect(throws: SettingsError.self) { try suite.setStoredValue(1, forKey: "x") }
        }
    }

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

    @Test("threads that wait for a lock which nobody lets go of wait together, not one after another")
    func stuckLock() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            try suite.setStoredValue(1, forKey: "a")
            let lock = try SystemCalls().open(path + ".lock", O_RDONLY)
            #expect(try SystemCalls().tryLock(lock))
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<3 {
                    group.addTask {
                        await onThread {
                            let start = ContinuousClock.now
                            #expect(throws: SettingsError(.lockTimedOut, fact: "")) {
                                try suite.setStoredValue(2, forKey: "key\(index)")
                            }
                            #expect(ContinuousClock.now - start < FileLock.patience * 1.8)
                        }
                    }
                }
            }
            _ = consume lock
            try suite.setStoredValue(2, forKey: "a")
        }
    }

    @Test("a FIFO in the lock's place keeps nobody waiting", .timeLimit(.minutes(1)))
    func fifoAsLock() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            #expect(mkfifo(path + ".lock", 0o600) == 0)
            try suite(path).setStoredValue(1, forKey: "a")
        }
    }
}

/// Runs a body that blocks on a thread of its own.
private func onThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            body()
            continuation.resume()
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
