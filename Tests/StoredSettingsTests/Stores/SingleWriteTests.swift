// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Setting one key of a file store")
struct SingleWriteTests {
    private static let values: [StoredValue?] =
        [nil, .null, true, false, 0, -1, 7, 123_456_789_012_345_678, .integer(Int128(Int64.max)), .integer(.max)]
        + [
            .integer(Int128(Int64.min)), .integer(.min), 0.5, -0.0, .double(.infinity), "", "x", "é\u{301}", "👩‍👩‍👧", "\"",
            "\\",
        ]
        + [
            "a\nb", "\u{7F}", "\u{0}", "/", .string(String(repeating: "long ", count: 200)), [1, "two", nil],
            ["k": ["v": 1]],
        ]
        + [.date(Date(timeIntervalSinceReferenceDate: 0.1)), .data(Data([0, 255]))]

    private static let keys = ["k", "a.b", "é", "\"", "new\nline", "\u{1}", String(repeating: "k", count: 600)]

    @Test("a record of one key is read back")
    func records() throws {
        for key in Self.keys {
            for value in Self.values {
                let change = StoreChange(key: key, old: nil, new: value?.storedAsJSON)
                let bytes = try JournalRecord.bytes(of: [change], epoch: 3, salt: 5)
                let record = bytes.withUnsafeBytes { ValidRecord($0, at: 0, epoch: 3, salt: 5)?.record }
                #expect(record?.values == [key: change.new], "\(key) \(String(describing: value))")
                #expect(record?.end == bytes.count)
            }
        }
    }

    private func store(_ path: String, _ system: SystemCalls = SystemCalls()) -> FileStore {
        let store = FileStore(path: FilePath(path), system: system, checkpointsInBackground: false)
        // Otherwise, a store without checkpoints in the background never takes the short path.
        _ = store.schedule.hasCommitted.set()
        return store
    }

    @Test("where space cannot be allocated, records are written, and a full disk is an error that changes nothing")
    func withoutAllocation() async throws {
        try await withSettingsPath { path in
            let faults = Faults()
            faults.fail(.allocate, with: EOPNOTSUPP) { _ in true }
            let store = store(path, faults.system)
            for value in 1...50 { try store.write(.integer(Int128(value)), forKey: "a") }
            #expect(self.store(path).contents() == ["a": 50])
            faults.fail(.write, with: ENOSPC) { $0.hasSuffix(".journal") }
            let error = settingsError { try store.write(51, forKey: "a") }
            #expect(error?.code == .writeFailed)
            #expect(store.contents() == ["a": 50] && self.store(path).contents() == ["a": 50])
            faults.stop()
            try store.write(52, forKey: "a")
            #expect(self.store(path).contents() == ["a": 52])
        }
    }

    @Test("no record is copied behind the end of a truncated file", arguments: [4_400, 5_000, 8_192])
    func truncatedSpace(size: Int) async throws {
        try await withSettingsPath { path in
            let store = store(path)
            for value in 1...20 { try store.write(.integer(Int128(value)), forKey: "a") }
            try JournalFile(of: path).truncate(to: size)
            // A commit examines the path.
            try store.commit { $0["b"] = 1 }
            for value in 1...20 {
                try store.write(.integer(Int128(value)), forKey: "c")
                #expect(self.store(path).contents() == ["a": 20, "b": 1, "c": .integer(Int128(value))])
            }
        }
    }

    @Test("a journal that cannot be mapped as a whole is written to")
    func withoutMapping() async throws {
        try await withSettingsPath { path in
            let faults = Faults()
            let store = store(path, faults.system)
            try store.commit { $0["a"] = 1 }
            faults.fail(.map, with: ENOMEM)
            try store.write(2, forKey: "a")
            #expect(store.value(forKey: "a") == 2 && self.store(path).contents() == ["a": 2])
        }
    }

    /// Opens a store with one commit, after which a set of one key takes the short path.
    private func openStore(_ path: String, _ text: String, _ system: SystemCalls = SystemCalls()) throws -> FileStore {
        try path.overwriteFile(with: text)
        let store = store(path, system)
        try store.commit { $0["first"] = 1 }
        return store
    }

    /// Sets a value shortly after the path was examined, so that this is not due.
    private func set(_ value: StoredValue?, _ key: String, in store: FileStore) throws {
        store.state.withLock { $0.journal.notePlace() }
        if try !store.write(value, forKey: key, mayWait: false) { try store.write(value, forKey: key) }
    }

    @Test("the header is synchronized before a record crosses an offset that the old header refers to")
    func limit() async throws {
        try await withSettingsPath { path in
            let counter = CallCounter(path + ".journal")
            let store = try openStore(path, "{}", counter.system)
            let (journal, position) = store.peek { ($0.journal.journal, $0.journal.position) }
            let page = try #require(journal).page
            // A record takes 40 bytes.
            page[.limit] = UInt64(position.end) + 48
            try set(1, "a", in: store)
            #expect(counter.count(.sync) == 0 && page[.limit] != 0)
            try set(2, "a", in: store)
            #expect(counter.count(.sync) == 1 && page[.limit] == 0)
            #expect(store.value(forKey: "a") == 2)
        }
    }

    @Test("a value that equals the one in memory is stored while the file cannot be read")
    func unknownContents() async throws {
        try await withTemporaryDirectory { directory in
            let (path, faults) = (directory + "/settings.json", Faults())
            let store = try openStore(path, #"{"a": 1}"#, faults.system)
            try path.replaceFile(with: #"{"a": 2}"#)
            faults.fail(.open, with: EACCES) { $0 == path }
            store.lookAndWait()
            #expect(store.contents() == ["a": 1, "first": 1] && store.problem?.code == .readFailed)
            try set(1, "a", in: store)
            faults.stop()
            #expect(self.store(path).contents() == ["a": 1, "first": 1])
        }
    }

    @Test("a value that equals the one in memory is stored over an edit that was not read yet")
    func edited() async throws {
        try await withSettingsPath { path in
            let store = try openStore(path, #"{"a": 1}"#)
            try path.replaceFile(with: #"{"a": 2}"#)
            // A watch has reported the edit.
            store.storeVersion.mustLook()
            try set(1, "a", in: store)
            #expect(self.store(path).contents() == ["a": 1, "first": 1])
        }
    }

    @Test("when a set returns, subscribers have received what other processes set before it")
    func delivery() async throws {
        try await withSettingsPath { path in
            let origins = Mutex<[SettingChangeOrigin]>([])
            let observer = WokenObserver { origin in origins.withLock { $0.append(origin) } }
            let store = try openStore(path, "{}")
            store.setObserver(observer)
            try self.store(path).write(1, forKey: "b")
            try set(1, "a", in: store)
            #expect(origins.withLock { $0 } == [.external, .local])
        }
    }

    @Test("a record that is copied behind the end of a file that was just truncated is appended again")
    func lostSpace() async throws {
        try await withSettingsPath { path in
            let store = try openStore(path, "{}")
            try store.commit { $0["big"] = .string(String(repeating: "x", count: 10_000)) }
            try set(1, "a", in: store)
            // The header remains, so only the copy shows that the rest is gone.
            try JournalFile(of: path).truncate(to: JournalFile.headerSize)
            try set(2, "a", in: store)
            let expected = store.contents()
            #expect(expected["a"] == 2 && expected.count == 3)
            #expect(self.store(path).contents() == expected)
        }
    }

    @Test("a process is notified of the next record after its notification of one has failed")
    func failedNotification() async throws {
        try await withTemporaryDirectory { directory in
            let writes = Mutex<Int?>(nil)
            let system = SystemCalls { call, path in
                guard call == .write, path.hasSuffix(".journal") else { return nil }
                return writes.withLock { writes in
                    writes? += 1
                    // The first write is that of the record.
                    return writes == 2 ? ENOSPC : nil
                }
            }
            let store = try openStore(directory + "/settings.json", "{}", system)
            let page = try #require(store.peek { $0.journal.journal }).page
            page[.watched] = 77
            writes.withLock { $0 = 0 }
            try set(1, "a", in: store)
            #expect(writes.withLock { $0 } == 2)
            #expect(page[.watched] == 77)
            try set(2, "a", in: store)
            #expect(page[.watched] == 0)
        }
    }
}
