// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A long journal")
struct LongJournalTests {
    private static let text = StoredValue.string(String(repeating: "x", count: 3_000))

    /// Sets a value whenever a file is renamed into place, like a process that sets values continuously.
    private final class ContinuousWriter: Sendable {
        private let store = Mutex<FileStore?>(nil)
        private let count = Mutex(0)

        func begin(with store: FileStore?) { self.store.withLock { $0 = store } }

        var system: SystemCalls {
            SystemCalls(witness: { [self] call, path in
                guard call == .rename, path.hasSuffix("settings.json"), let store = store.withLock(\.self) else {
                    return
                }
                // On another thread, because this one holds the locks.
                Thread.detachNewThread { [self] in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    do {
                        try store.commit { $0["late\(number)"] = .integer(Int128(number)) }
                    } catch {
                        Issue.record(error)
                    }
                }
            })
        }
    }

    @Test("a record that is longer than what is read at once is read whole", arguments: [70_000, 1 << 20, 3 << 20])
    func longRecord(length: Int) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let store = FileStore(path: path, checkpointsInBackground: false)
            let reader = FileStore(path: path, checkpointsInBackground: false)
            try store.commit { $0["before"] = 1 }
            #expect(reader.contents() == ["before": 1])
            let long = StoredValue.string(String(repeating: "x", count: length))
            try store.commit { $0["long"] = long }
            // The long record is the last one at first.
            var contents: [String: StoredValue] = ["before": 1, "long": long]
            for value in [nil, 2] as [StoredValue?] {
                if let value { try store.commit { $0["after"] = value } }
                contents["after"] = value
                // One that has followed the journal, and one that begins to read it.
                #expect(reader.contents() == contents)
                #expect(FileStore(path: path, checkpointsInBackground: false).contents() == contents)
            }
        }
    }

    @Test(
        "records that arrive during a checkpoint are moved to the front, and all processes continue",
        .deadlockLimit
    )
    func moved() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let continuousWriter = ContinuousWriter()
            let bound = 20_000
            let store = FileStore(
                path: path,
                system: continuousWriter.system,
                checkpointsInBackground: false,
                journalBound: bound
            )
            let (other, reader) = (FileStore(path: path, checkpointsInBackground: false), FileStore(path: path))
            for number in 0..<10 { try store.commit { $0["big\(number)"] = Self.text } }
            #expect(reader.contents().count == 10)
            continuousWriter.begin(with: other)
            try store.checkpoint()
            await eventually("the late value is set") { other.value(forKey: "late1") == 1 }
            continuousWriter.begin(with: nil)
            #expect(
                try #require(try Journal.open(at: FilePath(path + ".journal"), SystemCalls())).published.end < bound / 2
            )
            // Whether the late record preceded the reuse of the journal's space or not, no store loses it.
            let expected = store.contents()
            #expect(expected.count == 11)
            #expect(reader.contents() == expected)
            #expect(other.contents() == expected)
            #expect(FileStore(path: path, checkpointsInBackground: false).contents() == expected)
            for number in 0..<10 { try other.commit { $0["big\(number)"] = .integer(Int128(number)) } }
            #expect(store.contents() == other.contents())
            #expect(reader.contents() == other.contents())
            try store.checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == other.contents())
        }
    }

    @Test("the space of moved records is not overwritten before the header that frees it is on disk")
    func limit() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let calls = Mutex<[SystemCalls.Name]>([])
            let system = SystemCalls(witness: { call, _ in calls.withLock { $0.append(call) } })
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            try store.commit { $0["a"] = 1 }
            let journal = try #require(try Journal.open(at: FilePath(path + ".journal"), system))
            let end = journal.published.end
            journal.page[JournalHeader.limitWord] = UInt64(end) + 40
            calls.withLock { $0 = [] }
            try store.commit { $0["a"] = 2 }
            try store.commit { $0["a"] = 3 }
            let made = calls.withLock { $0 }
            // The first record still fits; the second waits for a sync before it is written.
            #expect(made.filter { [.write, .sync].contains($0) } == [.write, .sync, .write])
            #expect(journal.page[JournalHeader.limitWord] == 0)
        }
    }
}
