// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("FileStore checkpoints")
struct CheckpointTests {
    private let reporter = RecordingReporter()

    @Test("a checkpoint synchronizes the journal and the draft before it renames the draft")
    func order() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let calls = Mutex<[String]>([])
            let system = SystemCalls(witness: { call, name in
                if [.write, .sync, .rename].contains(call) {
                    calls.withLock { $0.append("\(call) \(name.dropFirst(directory.count))") }
                }
            })
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try await suite.setStoredValue(1, forKey: "a")
            try await suite.checkpoint()
            let made = calls.withLock { $0 }
            let isPlaced = try #require(made.firstIndex(of: "rename /settings.json"))
            let isSafe = try #require(made.firstIndex { $0.hasPrefix("sync /.settings.json.") })
            let draft = made[isSafe].dropFirst("sync ".count)
            #expect(made[..<isSafe].contains("write \(draft)"))
            #expect(isSafe < isPlaced)
            #expect(made[..<isPlaced].contains("sync /settings.json.journal"))
            #expect(made[isPlaced...].contains("sync "), "\(made)")
        }
    }

    @Test("a process that only reads checkpoints the records of another process")
    func recordsOfAnother() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let writer = FileStore(path: path, checkpointsInBackground: false)
            try writer.commit { $0["n"] = 1 }
            try writer.checkpoint()
            let reader = FileStore(path: path)
            #expect(reader.value(forKey: "n") == 1)
            try writer.commit { $0["n"] = 2 }
            #expect(reader.value(forKey: "n") == 2)
            try await eventually("the file is written") {
                try JSONReader.readObject(Array(path.fileContents.utf8)) == ["n": 2]
            }
            reader.close()
        }
    }

    @Test("synchronize() synchronizes new directories and their parents")
    func newDirectories() async throws {
        try await withTemporaryDirectory { directory in
            let synchronized = Mutex<[String]>([])
            let system = SystemCalls(witness: { call, name in
                if call == .sync { synchronized.withLock { $0.append(String(name.dropFirst(directory.count))) } }
            })
            let store = FileStore(path: directory + "/a/b/settings.json", system: system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            try await suite.setStoredValue(1, forKey: "x")
            try await suite.synchronize()
            #expect(synchronized.withLock { $0 }.count { $0 == "" || $0 == "/a" } >= 2)
            #expect(Set(synchronized.withLock { $0 }).isSuperset(of: ["", "/a", "/a/b", "/a/b/settings.json.journal"]))
        }
    }

    @Test("a checkpoint merges an edit that another thread notices while the draft is written")
    func editDuringDraft() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            let isPending = Mutex(true)
            let system = SystemCalls { call, name in
                guard call == .sync, name.hasPrefix("\(directory)/.settings.json.") else { return nil }
                let isFirst = isPending.withLock { pending in
                    defer { pending = false }
                    return pending
                }
                guard isFirst else { return nil }
                do {
                    try path.replaceFile(with: #"{"a": 1, "edited": true}"#)
                } catch {
                    Issue.record(error)
                }
                return nil
            }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try await suite.setStoredValue(2, forKey: "b")
            try await suite.checkpoint()
            #expect(suite.snapshot() == ["a": 1, "b": 2, "edited": true])
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == suite.snapshot())
        }
    }

    @Test("a file that is a mount point is rewritten in place after its last good copy is saved")
    func mountPoint() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: "{\n  \"a\": 1\n}\n")
            let inode = try path.inode
            let system = SystemCalls { call, name in call == .rename && name == path ? EBUSY : nil }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try await suite.setStoredValue(2, forKey: "b")
            try await suite.checkpoint()
            #expect(try path.fileContents == "{\n  \"a\": 1,\n  \"b\": 2\n}\n")
            #expect(try (path + ".last-good").fileContents == path.fileContents)
            #expect(try path.inode == inode)
            #expect(suite.snapshot() == ["a": 1, "b": 2])
            try await suite.setStoredValue(3, forKey: "b")
            try await suite.checkpoint()
            #expect(try path.inode == inode)
            #expect(SettingsSuite(fileAt: path).snapshot() == ["a": 1, "b": 3])
        }
    }

    @Test("a file that is a mount point preserves its contents when the disk is full")
    func mountPointOnFullDisk() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let before = #"{"a": 1, "b": "as it was written by hand"}"#
            try path.overwriteFile(with: before)
            let isFull = Mutex(false)
            let system = SystemCalls { call, name in
                guard name == path else { return nil }
                if call == .rename { return EBUSY }
                // The first write to the file itself fails; later writes succeed.
                return call == .write
                    && isFull.withLock { full in
                        defer { full = false }
                        return full
                    } ? ENOSPC : nil
            }
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            let suite = SettingsSuite(store: store, reporter: reporter)
            isFull.withLock { $0 = true }
            try await suite.setStoredValue(2, forKey: "c")
            expectError(.writeFailed) { try suite.checkpoint() }
            #expect(try path.fileContents == before)
            #expect(suite.keys == ["a", "b", "c"])
            try await suite.checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == suite.snapshot())
            #expect(suite.keys == ["a", "b", "c"])
        }
    }

    @Test("a failure after the rename loses nothing, and the next checkpoint succeeds")
    func failureAfterRename() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let isPlaced = Mutex(false)
            let isOver = Mutex(false)
            let system = SystemCalls { call, name in
                guard !isOver.withLock({ $0 }) else { return nil }
                return isPlaced.withLock { placed in
                    if placed, call != .lock, call != .unlock { return EIO }
                    if call == .rename, name == path { placed = true }
                    return nil
                }
            }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try await suite.setStoredValue(1, forKey: "a")
            // The file has been renamed already, so the store may either throw or succeed.
            let error = settingsError { try suite.checkpoint() }
            #expect(error?.consequence.isEmpty != true)
            #expect(try path.fileContents == "{\n  \"a\": 1\n}\n")
            #expect(suite.snapshot() == ["a": 1])
            #expect(SettingsSuite(store: FileStore(path: path)).snapshot() == ["a": 1])
            isOver.withLock { $0 = true }
            try await suite.setStoredValue(2, forKey: "b")
            try await suite.checkpoint()
            #expect(try path.fileContents == "{\n  \"a\": 1,\n  \"b\": 2\n}\n")
        }
    }

    @Test("preparing the space of the next record changes no byte, and fails silently if the file has lost it")
    func preparedSpace() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let store = FileStore(path: path, checkpointsInBackground: false)
            store.schedule.hasCommitted.store(true, ordering: .relaxed)
            var space: RecordSpace?
            // A set maps the journal if another one has examined its path a moment ago.
            for value in 1...Int128(1_000) where space == nil {
                try store.write(.integer(value), forKey: "a")
                if case .mapped(let mapping) = store.peek({ $0.journal.space }) { space = mapping }
            }
            let mapping = try #require(space)
            let journal = URL(fileURLWithPath: path + ".journal")
            let bytes = try Data(contentsOf: journal)
            for offset in [0, 4_095, 4_096, bytes.count - 1, bytes.count, 1 << 23, 1 << 40] {
                mapping.prepare(at: offset)
            }
            #expect(try Data(contentsOf: journal) == bytes)
            // The header still says how much space was allocated.
            try JournalFile(of: path).truncate(to: JournalFile.headerSize)
            mapping.prepare(at: JournalFile.headerSize)
            #expect(try Data(contentsOf: journal).count == JournalFile.headerSize)
            try store.write(0, forKey: "a")
            #expect(store.value(forKey: "a") == 0)
            #expect(FileStore(path: path, checkpointsInBackground: false).value(forKey: "a") == 0)
        }
    }

    @Test("a process that does nothing checkpoints the records of another process that has died")
    func recordsOfDeadProcess() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let writer = FileStore(path: path, checkpointsInBackground: false)
            try writer.commit { $0["n"] = 1 }
            try writer.checkpoint()
            let idle = FileStore(path: path)
            #expect(idle.value(forKey: "n") == 1)
            await eventually("the file is watched") { idle.peek { $0.watch != nil } }
            try writer.commit { $0["n"] = 2 }
            try await eventually("the file is written") {
                try JSONReader.readObject(Array(path.fileContents.utf8)) == ["n": 2]
            }
            idle.close()
        }
    }
}
