// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
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

    @Test("a record of one key is the same as that of a commit, and is read back")
    func records() throws {
        for key in Self.keys {
            for value in Self.values {
                let stored = value?.storedAsJSON
                let change = StoreChange(key: key, old: nil, new: stored)
                var expected = try JournalRecord.bytes(of: [change], epoch: 3, salt: 5)
                try JournalRecord.withRecord(setting: key, to: stored) { bytes in
                    JournalRecord.complete(bytes, epoch: 3, salt: 5)
                    let record = try #require(
                        JournalRecord.read(UnsafeRawBufferPointer(bytes), at: 0, epoch: 3, salt: 5),
                        "\(key) \(String(describing: value))"
                    )
                    #expect(record.values == [key: stored])
                    #expect(record.end == bytes.count)
                    // Only the length of the key, and with it the checksum, may differ.
                    var bytes = Array(bytes)
                    for index in Array(8..<16) + Array(20..<24) { (bytes[index], expected[index]) = (0, 0) }
                    #expect(bytes == expected, "\(key) \(String(describing: value))")
                }
            }
        }
    }

    @Test("all values are stored, read by other stores, and survive a checkpoint")
    func values() async throws {
        try await withTemporaryDirectory { directory in
            let path = FilePath(directory + "/settings.json")
            let (store, reader) = (FileStore(path: path, checkpointsInBackground: false), FileStore(path: path))
            try store.write(1, forKey: "first")
            var expected: [String: StoredValue] = ["first": 1]
            for (index, value) in Self.values.enumerated() {
                for key in Self.keys {
                    let key = "\(key)\(index)"
                    try store.write(value, forKey: key)
                    expected[key] = value?.storedAsJSON
                }
                #expect(reader.contents() == expected)
            }
            #expect(store.contents() == expected)
            try store.checkpoint()
            #expect(FileStore(path: path, checkpointsInBackground: false).contents() == expected)
        }
    }

    @Test("of consecutive records of one key only the last is applied, unless there are subscribers")
    func runs() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let (writer, reader) = (SettingsSuite(fileAt: path), SettingsSuite(store: store(path)))
            try writer.setStoredValue(0, forKey: "a")
            #expect(reader.snapshot() == ["a": 0])
            for value in 1...500 {
                try writer.setStoredValue(.integer(Int128(value)), forKey: value % 100 == 0 ? "b" : "a")
            }
            #expect(reader.snapshot() == ["a": 499, "b": 500])
            try writer.setStoredValue(nil, forKey: "b")
            #expect(reader.snapshot() == ["a": 499])
            let last = Mutex(0)
            let observation = Setting("b", default: 0, suite: reader)
                .observe { change in last.withLock { $0 = change.new } }
            try writer.setStoredValue(1, forKey: "b")
            try writer.setStoredValue(2, forKey: "b")
            await eventually("the changes are delivered") { last.withLock { $0 } == 2 }
            observation.invalidate()
            writer.finish()
        }
    }

    private func store(_ path: String, _ system: SystemCalls = SystemCalls()) -> FileStore {
        FileStore(path: FilePath(path), system: system, checkpointsInBackground: false)
    }

    @Test("where space cannot be allocated, records are written, and a full disk is an error that changes nothing")
    func withoutAllocation() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
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

    @Test("a journal that is truncated between two sets loses no set that returns afterwards")
    func truncated() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let store = store(path)
            try store.write(1, forKey: "a")
            try store.write(2, forKey: "b")
            for size in [5_000, 4_096, 100, 0] {
                try JournalFile(of: path).truncate(to: size)
                try store.write(.integer(Int128(size)), forKey: "c")
                #expect(store.value(forKey: "c") == .integer(Int128(size)))
                try store.checkpoint()
                #expect(self.store(path).contents() == ["a": 1, "b": 2, "c": .integer(Int128(size))], "\(size)")
            }
        }
    }

    @Test("no record is copied behind the end of a truncated file", arguments: [4_400, 5_000, 8_192])
    func truncatedSpace(size: Int) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
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
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let faults = Faults()
            let store = store(path, faults.system)
            try store.commit { $0["a"] = 1 }
            faults.fail(.map, with: ENOMEM)
            try store.write(2, forKey: "a")
            #expect(store.value(forKey: "a") == 2 && self.store(path).contents() == ["a": 2])
        }
    }

    @Test("a set by another process wakes a process that watches, also after earlier notifications", .deadlockLimit)
    func notifications() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let (writer, watcher) = (store(path), SettingsSuite(store: store(path)))
            try writer.write(0, forKey: "n")
            let setting = Setting("n", default: -1, suite: watcher)
            let last = Mutex(-1)
            let observation = setting.observe { change in last.withLock { $0 = change.new } }
            for value in 1...200 {
                try writer.write(.integer(Int128(value)), forKey: "n")
                if value % 10 == 0 {
                    // No read of the watcher helps: only a notification does.
                    await eventually("the change is delivered") { last.withLock { $0 } == value }
                }
            }
            observation.invalidate()
        }
    }
}
