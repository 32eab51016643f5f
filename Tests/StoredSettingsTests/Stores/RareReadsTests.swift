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
    @Test("a value that is cached while another thread reads the edited file is read again afterwards")
    func cachedMeanwhile() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"a": 1, "b": 1, "text": "old"}"#)
            let mayEnd = DispatchSemaphore(value: 0)
            let reading = Interruption(before: .read) { $0 == path }
            let store = makeStore(path, reading.system)
            let suite = SettingsSuite(store: store, reporter: RecordingReporter())
            let (a, b) = (Setting("a", default: 0, suite: suite), Setting("b", default: 0, suite: suite))
            let text = Setting("text", default: "", suite: suite)
            try await suite.setStoredValue(1, forKey: "other")
            #expect(a.value == 1 && b.value == 1 && text.value == "old")
            try path.replaceFile(with: #"{"a": 2, "b": 2, "text": "new"}"#)
            reading.run { mayEnd.waitUntilSignaled() }
            let read = Mutex<Int?>(nil)
            Thread.detachNewThread {
                store.lookAndWait()
                let value = b.value
                read.withLock { $0 = value }
            }
            await eventually("the edited file is being read") { reading.hasRun }
            // The contents in memory are still the old ones, and may be cached.
            #expect(a.value == 1 && text.value == "old")
            mayEnd.signal()
            await eventually("the edited file is read") { read.withLock { $0 != nil } }
            #expect(read.withLock { $0 } == 2)
            #expect(a.value == 2)
            #expect(text.value == "new")
        }
    }

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
                do {
                    let next = number.withLock {
                        $0 += 1
                        return $0
                    }
                    try writer.commit { $0["n"] = .integer(Int128(next)) }
                    // So that the reader, which has locked it by now, excludes no checkpoint.
                    try FileManager.default.removeItem(atPath: path + ".lock")
                    try writer.checkpoint()
                } catch {
                    Issue.record(error)
                }
                return nil
            })
            let reader = SettingsSuite(store: makeStore(path, system), reporter: reporter)
            #expect(reader.storedValue(forKey: "n") == 8)
            #expect(reporter.errors.map(\.message) == [])
            #expect(writer.peek { !$0.journal.isDamaged })
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
                do {
                    try writer.write(.integer(Int128(number)), forKey: "n")
                } catch {
                    Issue.record(error)
                }
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
            // The times of a file differ from those of its rename once the file system's clock has ticked.
            let ticking = SystemCalls(fault: { call, _ in
                if call == .rename { SystemCalls.sleep(seconds: 0.03) }
                return nil
            })
            let writer = makeStore(path, ticking)
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

    @Test("a file that a checkpoint has written over is not certain to show a later change by its status")
    func overwritten() async throws {
        // On a disk, the checkpoint might take longer than the check allows.
        try await withSettingsPath(inMemory: true) { path in
            try path.overwriteFile(with: "{\n  \"a\": 1\n}\n")
            let inode = try path.inode
            // As for a file that is mounted alone.
            let system = SystemCalls(fault: { call, other in call == .rename && other == path ? EBUSY : nil })
            let store = makeStore(path, system)
            let start = ContinuousClock.now
            try store.commit { $0["a"] = 2 }
            try store.checkpoint()
            let isCertain = store.peek { $0.settings.reading?.isCertain }
            // Another thread looks again a moment after the file was read.
            let isLate = ContinuousClock.now - start >= .seconds(SettingsFileState.settlingTime)
            #expect(isCertain == false || isLate)
            #expect(try path.inode == inode)
            #expect(try path.fileContents == "{\n  \"a\": 2\n}\n")
        }
    }
}
