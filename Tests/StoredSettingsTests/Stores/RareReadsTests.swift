// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// Reads that meet an edit or a checkpoint at the one moment that matters.
@Suite("Reads in rare moments")
struct RareReadsTests {
    @Test("checkpoints at each attempt to read are not taken for damage, also where the checkpoint lock is removed")
    func withoutCheckpointLock() async throws {
        try await withSettingsPath { path in
            let writer = makeStore(path)
            try writer.commit { $0["n"] = 0 }
            try writer.checkpoint()
            let reporter = RecordingReporter()
            let number = Mutex(0)
            let system = SystemCalls(fault: { call, other in
                guard call == .read, other == path, number.withLock({ $0 < 8 }) else { return nil }
                #expect(throws: Never.self) {
                    let next = number.withLock {
                        $0 += 1
                        return $0
                    }
                    try writer.commit { $0["n"] = .integer(Int128(next)) }
                    // So that the reader, which has locked it by now, excludes no checkpoint.
                    try FileManager.default.removeItem(atPath: path + ".lock")
                    try writer.checkpoint()
                }
                return nil
            })
            let reader = SettingsSuite(store: makeStore(path, system), reporter: reporter)
            #expect(reader[storedValueFor: "n"] == 8)
            #expect(reporter.errors.map(\.message) == [])
            #expect(writer.peek { !$0.journal.isDamaged })
        }
    }

    @Test("of consecutive records of one key, only the last one is replayed without subscribers, and all are with one")
    func replacedRecords() async throws {
        try await withSettingsPath { path in
            let (writer, store) = (makeStore(path), makeStore(path))
            let suite = SettingsSuite(store: store, reporter: RecordingReporter())
            #expect(suite[storedValueFor: "n"] == nil)
            for isObserved in [false, true] {
                let changes = isObserved ? suite.changes() : nil
                try writer.commit { $0["other"] = .bool(isObserved) }
                store.lookAndWait()
                let version = store.peek { $0.version }
                for number in 1...100 { try writer.commit { $0["n"] = .integer(Int128(number)) } }
                store.lookAndWait()
                #expect(suite[storedValueFor: "n"] == 100)
                let replayed = store.peek { $0.version } - version
                #expect(isObserved ? replayed == 100 : replayed < 10, "\(replayed)")
                withExtendedLifetime(changes) {}
            }
        }
    }

    @Test(
        "a read of a damaged record ends while another process appends records without a pause",
        arguments: [true, false]
    )
    func damagedMeanwhile(isOpened: Bool) async throws {
        try await withSettingsPath { path in
            let writer = makeStore(path)
            try writer.commit { $0["a"] = 1 }
            let appended = Mutex(-1)
            let system = SystemCalls(fault: { call, other in
                guard call == .read, other == path + ".journal" else { return nil }
                let number = appended.withLock { number in
                    if number >= 0 { number += 1 }
                    return number
                }
                // The number of records is limited, so that the test fails instead of running forever.
                guard number > 0, number < 2_000 else { return nil }
                #expect(throws: Never.self) { try writer.write(.integer(Int128(number)), forKey: "n") }
                return nil
            })
            let reader = makeStore(path, system)
            // The records before the damaged one.
            if isOpened { #expect(reader.contents() == ["a": 1]) }
            let journal = JournalFile(of: path)
            let end = try journal.end
            for value in 2...10 { try writer.write(.integer(Int128(value)), forKey: "b") }
            try journal.overwriteWord(at: end + 24, with: 0)
            appended.withLock { $0 = 0 }
            let contents = reader.contents()
            #expect(isOpened ? contents == ["a": 1] : contents["a"] == 1)
            #expect(reader.peek { $0.journal.isDamaged })
            #expect(appended.withLock { $0 } < 100)
        }
    }

    @Test("records that an unpublished epoch has overwritten are read from the file, and do not count as damaged")
    func unpublishedEpoch() async throws {
        try await withSettingsPath { path in
            let writer = makeStore(path)
            try writer.commit { $0["a"] = 1 }
            let reporter = RecordingReporter()
            let reader = SettingsSuite(store: makeStore(path), reporter: reporter)
            #expect(reader.snapshot() == ["a": 1])
            let file = JournalFile(of: path)
            let long = String(repeating: "b", count: 2_000)
            try writer.write(.string(long), forKey: "b")
            let checkpointed = try file.end
            try path.overwriteFile(with: "{\"a\": 1, \"b\": \"\(long)\"}")
            let tail: StoredValue = .string(String(repeating: "c", count: 400))
            try writer.write(tail, forKey: "c")
            // A checkpoint has moved the last record to the front, and has not published that yet.
            let journal = try #require(try Journal.open(at: FilePath(path + ".journal"), SystemCalls()))
            var epoch = try #require(journal.current).epoch
            epoch.checkpointed = UInt32(checkpointed)
            journal.store(epoch)
            (epoch.epoch, epoch.salt) = (epoch.epoch &+ 1, 77)
            let change = StoreChange(key: "c", old: nil, new: tail)
            let record = try JournalRecord.bytes(of: [change], epoch: epoch.epoch, salt: epoch.salt)
            try SystemCalls().write(record, to: journal.file, at: Int(epoch.start))
            (epoch.previousEnd, epoch.previousCheckpointed) = (UInt32(try file.end), epoch.checkpointed)
            (epoch.checkpointed, epoch.firstEnd) = (epoch.start, epoch.start + UInt32(record.count))
            epoch.serial = try #require(JournalHeader.epoch(in: journal.page)).serial
            journal.store(epoch)
            #expect(reader.snapshot() == ["a": 1, "b": .string(long), "c": tail])
            #expect(reporter.errors.map(\.message) == [])
        }
    }

    @Test("a file that is edited in place, with its times kept, after a checkpoint is read, not taken for known")
    func editedAfterCheckpoint() async throws {
        try await withSettingsPath { path in
            let writer = makeStore(path, CheckpointReadsTests.delayedRenames)
            try writer.commit { $0["a"] = 1 }
            try writer.checkpoint()
            let reader = makeStore(path)
            await reader.untilSettled()
            try writer.commit { $0["b"] = 1 }
            #expect(reader.contents() == ["a": 1, "b": 1])
            try writer.checkpoint()
            var status = stat()
            #expect(stat(path, &status) == 0)
            let written = FileStatus(status)
            let descriptor = open(path, O_WRONLY)
            #expect(pwrite(descriptor, "{\n  \"a\": 2", 10, 0) == 10)
            await eventually("the time of the last change is another one") {
                var times = [status.times.access, status.times.modification]
                #expect(futimens(descriptor, &times) == 0)
                var now = stat()
                #expect(fstat(descriptor, &now) == 0)
                return FileStatus(now).changed != written.changed
            }
            close(descriptor)
            reader.lookAndWait()
            #expect(reader.contents() == ["a": 2, "b": 1])
        }
    }
}
