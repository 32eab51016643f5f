// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// Makes system calls fail while it is told so.
private final class Faults: Sendable {
    private let numbers = Mutex<[SystemCalls.Name: CInt]>([:])

    var system: SystemCalls {
        SystemCalls { [self] call, _ in numbers.withLock { $0[call] } }
    }

    func fail(_ call: SystemCalls.Name, with number: CInt) {
        numbers.withLock { $0[call] = number }
    }

    func stop() {
        numbers.withLock { $0 = [:] }
    }
}

@Suite("FileStore under faults")
struct FileStoreFaultTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()

    private func suite(_ path: String) -> SettingsSuite {
        SettingsSuite(store: FileStore(path: path, system: faults.system), reporter: reporter)
    }

    @Test(
        "a write that fails leaves the file as it was, is reported, stays readable and is tried again",
        arguments: [
            (SystemCalls.Name.write, ENOSPC), (.open, EMFILE), (.rename, EIO), (.sync, EIO), (.lock, ENOLCK),
            (.open, EACCES), (.rename, EROFS),
        ]
    )
    func failing(call: SystemCalls.Name, number: CInt) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            let port = Setting("port", default: 1, suite: suite)
            port.value = 2
            faults.fail(call, with: number)
            port.value = 3
            #expect(port.value == 3)
            let error = try #require(reporter.errors.last)
            #expect([.writeFailed, .readOnly, .readFailed].contains(error.code))
            #expect(!error.fact.isEmpty && !error.consequence.isEmpty && !error.remedy.isEmpty)
            #expect(error.consequence.contains("kept in memory"))
            #expect(throws: SettingsError(.notSaved, fact: "")) { try suite.synchronize() }
            #expect(throws: SettingsError.self) { try port.set(4) }
            #expect(try path.fileContents == "{\n  \"port\": 2\n}\n")
            faults.stop()
            try await eventually("the value is saved in the end") { try path.fileContents == "{\n  \"port\": 3\n}\n" }
            try suite.synchronize()
            let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
            #expect(names == ["settings.json", "settings.json.last-good", "settings.json.lock"])
        }
    }

    @Test("a file that could not be read for a while is read when it can be, and reported once")
    func unreadableForAWhile() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            let suite = suite(path)
            faults.fail(.open, with: EMFILE)
            for _ in 0..<10 { #expect(suite.storedValue(forKey: "a") == nil) }
            #expect(reporter.errors.map(\.code) == [.readFailed])
            faults.stop()
            #expect(suite.storedValue(forKey: "a") == 1)
            try suite.setStoredValue(2, forKey: "a")
        }
    }

    @Test("a change is on the disk before it takes the file's place, and its name is before the set returns")
    func order() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let calls = Mutex<[String]>([])
            let system = SystemCalls { call, name in
                if [.write, .sync, .rename].contains(call) {
                    calls.withLock { $0.append("\(call) \(name.dropFirst(directory.count))") }
                }
                return nil
            }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try suite.setStoredValue(1, forKey: "a")
            let made = calls.withLock { $0 }
            #expect(
                Array(made.prefix(3)) == [
                    "write /settings.json.new", "sync /settings.json.new", "rename /settings.json",
                ]
            )
            #expect(made.contains("sync "))
        }
    }

    @Test("directories that a set makes are on the disk before it returns, each by its name in the one above")
    func newDirectories() async throws {
        try await withTemporaryDirectory { directory in
            let synchronized = Mutex<[String]>([])
            let system = SystemCalls { call, name in
                if call == .sync { synchronized.withLock { $0.append(String(name.dropFirst(directory.count))) } }
                return nil
            }
            let store = FileStore(path: directory + "/a/b/settings.json", system: system)
            try SettingsSuite(store: store, reporter: reporter).setStoredValue(1, forKey: "x")
            #expect(Array(synchronized.withLock { $0 }.prefix(2)) == ["", "/a"])
        }
    }

    @Test("an edit that another thread notices while a draft is written is merged, not written over")
    func editDuringDraft() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            let pending = Mutex<SettingsSuite?>(nil)
            let system = SystemCalls { call, name in
                guard call == .sync, name.hasSuffix(".new") else { return nil }
                let suite = pending.withLock { suite in
                    defer { suite = nil }
                    return suite
                }
                guard let suite else { return nil }
                do {
                    try path.replaceFile(with: #"{"a": 1, "edited": true}"#)
                } catch {
                    Issue.record(error)
                }
                #expect(suite.keys == ["a", "edited"])
                return nil
            }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            pending.withLock { $0 = suite }
            try suite.setStoredValue(2, forKey: "b")
            #expect(suite.snapshot() == ["a": 1, "b": 2, "edited": true])
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == suite.snapshot())
        }
    }

    @Test("interrupted calls are made again")
    func interrupted() async throws {
        try await withTemporaryDirectory { directory in
            let left = Mutex(20)
            let system = SystemCalls { _, _ in
                left.withLock { left in
                    guard left > 0 else { return nil }
                    left -= 1
                    return EINTR
                }
            }
            let store = FileStore(path: directory + "/settings.json", system: system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            try suite.setStoredValue(1, forKey: "a")
            #expect(suite.storedValue(forKey: "a") == 1)
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("a file that is mounted alone is rewritten in place, its last good copy kept first")
    func mountedAlone() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            let inode = try path.inode
            let system = SystemCalls { call, name in call == .rename && name == path ? EBUSY : nil }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try suite.setStoredValue(2, forKey: "b")
            #expect(try path.fileContents == "{\n  \"a\": 1,\n  \"b\": 2\n}\n")
            #expect(try (path + ".last-good").fileContents == path.fileContents)
            #expect(try path.inode == inode)
            #expect(suite.snapshot() == ["a": 1, "b": 2])
            try suite.setStoredValue(3, forKey: "b")
            #expect(SettingsSuite(fileAt: path).snapshot() == ["a": 1, "b": 3])
        }
    }

    @Test("a file that is mounted alone keeps its contents when there is no room for the new ones")
    func mountedAloneAndFull() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let before = #"{"a": 1, "b": "as it was written by hand"}"#
            try path.overwriteFile(with: before)
            let isFull = Mutex(false)
            let system = SystemCalls { call, name in
                guard name == path else { return nil }
                if call == .rename { return EBUSY }
                // The first write to the file itself finds no room, what follows does.
                return call == .write
                    && isFull.withLock { full in
                        defer { full = false }
                        return full
                    } ? ENOSPC : nil
            }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            isFull.withLock { $0 = true }
            #expect(throws: SettingsError(.writeFailed, fact: "")) { try suite.setStoredValue(2, forKey: "c") }
            #expect(try path.fileContents == before)
            try suite.setStoredValue(2, forKey: "c")
            #expect(suite.keys == ["a", "b", "c"])
        }
    }

    @Test("a change whose file is in its place is made, whatever fails after that, and what failed is reported")
    func failingAfterwards() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let isPlaced = Mutex(false)
            let system = SystemCalls { call, name in
                isPlaced.withLock { placed in
                    if placed, call != .lock { return EIO }
                    if call == .rename, name == path { placed = true }
                    return nil
                }
            }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try suite.setStoredValue(1, forKey: "a")
            #expect(try path.fileContents == "{\n  \"a\": 1\n}\n")
            #expect(reporter.errors.allSatisfy { $0.consequence.hasPrefix("the change is made") })
            #expect(reporter.errors.count == 2)
        }
    }

    @Test("a directory that cannot be written makes the suite read-only, and its values can be read")
    func readOnly() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            faults.fail(.access, with: EROFS)
            faults.fail(.lock, with: EROFS)
            let suite = suite(path)
            #expect(suite.storedValue(forKey: "a") == 1)
            #expect(suite.persistence == .readOnly(path: path, reason: "Read-only file system"))
            #expect(throws: SettingsError(.readOnly, fact: "")) { try suite.setStoredValue(2, forKey: "a") }
        }
    }

    @Test("where the system has no watches, changes are noticed by looking")
    func polling() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            faults.fail(.watch, with: EMFILE)
            let values = Setting("a", default: 0, suite: suite(path)).values
            let seen = Task {
                for await value in values where value == 7 { return value }
                return -1
            }
            try path.replaceFile(with: #"{"a": 7}"#)
            #expect(await within { await seen.value } == 7)
        }
    }

    @Test("a good file that takes the place of a broken one while that is being read is read next")
    func replacedWhileRead() async throws {
        try await withTemporaryDirectory { directory in
            let (path, other) = (directory + "/settings.json", directory + "/other.json")
            try path.overwriteFile(with: "{broken")
            try other.overwriteFile(with: #"{"a": 1}"#)
            // Neither looks as if somebody were in the middle of writing it.
            let attributes = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: 1e9)]
            for path in [path, other] { try FileManager.default.setAttributes(attributes, ofItemAtPath: path) }
            let system = SystemCalls { call, name in
                // The first read is under way, and what is read is that of the file which is open.
                if call == .read, name == path { rename(other, path) }
                return nil
            }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            #expect(suite.storedValue(forKey: "a") == nil)
            #expect(suite.storedValue(forKey: "a") == 1)
        }
    }

    @Test(
        "where files cannot be given away at all, the group's permissions are left out and the set goes on",
        .enabled(if: geteuid() == 0, "only root can make a file another's"),
        arguments: [EPERM, EINVAL, ENOSYS, EOPNOTSUPP]
    )
    func nothingCanBeGivenAway(number: CInt) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: "{}")
            let attributes: [FileAttributeKey: Any] = [
                .posixPermissions: 0o640, .ownerAccountID: 12_345, .groupOwnerAccountID: 12_345,
            ]
            try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
            faults.fail(.changeOwner, with: number)
            try suite(path).setStoredValue(2, forKey: "a")
            #expect(try path.filePermissions == 0o600)
        }
    }
}
