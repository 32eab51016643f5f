// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// A checkpoint changes no value, so a process that follows the journal need not read the settings file again.
@Suite("Reads during checkpoints by other processes")
struct CheckpointReadsTests {
    /// Delays each rename until the file system's clock has ticked, so that the file's times differ.
    static let delayedRenames = SystemCalls(fault: { call, _ in
        if call == .rename { SystemCalls.sleep(seconds: 0.03) }
        return nil
    })

    @Test("an edit in place that preserves length and times is read and not overwritten", arguments: [false, true])
    func editWithTimesKept(isNoticedByCheckpoint: Bool) async throws {
        try await withSettingsPath { path in
            let stores = (0..<2).map { _ in makeStore(path) }
            try stores[0].commit { $0["a"] = 1 }
            try stores[0].checkpoint()
            for store in stores {
                store.lookAndWait()
                #expect(store.contents() == ["a": 1])
            }
            for store in stores { await store.untilSettled() }
            var status = stat()
            #expect(stat(path, &status) == 0)
            let descriptor = open(path, O_WRONLY)
            #expect(pwrite(descriptor, "{\n  \"a\": 2\n}\n", 13, 0) == 13)
            var times = [status.times.access, status.times.modification]
            #expect(futimens(descriptor, &times) == 0)
            close(descriptor)
            if isNoticedByCheckpoint {
                try stores[0].commit { $0["z"] = 9 }
                try stores[0].checkpoint()
            }
            for store in stores {
                store.lookAndWait()
                #expect(store.value(forKey: "a") == 2)
            }
            try stores[1].commit { $0["y"] = 8 }
            try stores[1].checkpoint()
            #expect(makeStore(path).value(forKey: "a") == 2)
        }
    }

    @Test("a process that follows the journal does not read the file after a checkpoint")
    func journalFollower() async throws {
        try await withSettingsPath { path in
            let counter = CallCounter(path)
            let writer = makeStore(path, Self.delayedRenames)
            try writer.commit { $0["n"] = 0 }
            try writer.checkpoint()
            let reader = makeStore(path, counter.system)
            #expect(reader.contents() == ["n": 0])
            let before = counter.count(.read)
            for round in 1...3 {
                // Several checkpoints may happen between two checks of the file.
                for turn in 1...round {
                    try writer.commit { $0["n"] = .integer(Int128(round * 10 + turn)) }
                    #expect(reader.value(forKey: "n") == .integer(Int128(round * 10 + turn)))
                    try writer.checkpoint()
                }
                reader.look()
                #expect(reader.value(forKey: "n") == .integer(Int128(round * 11)))
            }
            #expect(counter.count(.read) == before)
            // The manual edit is read, and then the first file with the edit, but no further one.
            try path.replaceFile(with: #"{"n": 33, "edited": true}"#)
            await eventually("the edit is noticed") {
                reader.look()
                return reader.value(forKey: "edited") == true
            }
            var afterEdit = 0
            for value in [50, 51] as [StoredValue] {
                // Until then, the file is read at each check.
                await reader.untilSettled()
                afterEdit = counter.count(.read)
                #expect(afterEdit > before)
                try writer.commit { $0["n"] = value }
                #expect(reader.value(forKey: "n") == value)
                try writer.checkpoint()
                reader.look()
                #expect(reader.contents() == ["n": value, "edited": true])
            }
            #expect(counter.count(.read) == afterEdit)
        }
    }

    @Test(
        "a process that has missed an edit reads the file after a checkpoint has merged the edit",
        arguments: [false, true]
    )
    func mergedEdit(isFollowing: Bool) async throws {
        try await withSettingsPath { path in
            let writer = makeStore(path, Self.delayedRenames)
            try writer.commit { $0["n"] = 1 }
            try writer.checkpoint()
            let reader = makeStore(path)
            #expect(reader.contents() == ["n": 1])
            // A process that trusts the times of the file, and follows the journal, reads the file only after an edit.
            if isFollowing { await reader.untilSettled() }
            try path.replaceFile(with: #"{"n": 1, "edited": true}"#)
            for number in [1, 2] as [StoredValue] {
                try writer.commit { $0["m"] = number }
                if isFollowing { #expect(reader.value(forKey: "m") == number) }
                try writer.checkpoint()
            }
            reader.lookAndWait()
            #expect(reader.contents() == ["n": 1, "m": 2, "edited": true])
        }
    }

    @Test("other threads read, cache and see new sets while one thread reads a long file, and then its contents")
    func readsDuringLongRead() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"n": 1, "b": 1, "text": "old"}"#)
            let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let reading = Interruption(before: .read) { $0 == path }
            let reader = makeStore(path, reading.system)
            let suite = SettingsSuite(store: reader, reporter: RecordingReporter())
            let (b, text) = (Setting("b", default: 0, suite: suite), Setting("text", default: "", suite: suite))
            let writer = makeStore(path)
            try writer.commit(isBlind: true) { $0["other"] = 1 }
            #expect(reader.contents() == ["n": 1, "other": 1, "b": 1, "text": "old"])
            #expect(b.value == 1 && text.value == "old")
            try path.replaceFile(with: #"{"n": 1, "b": 2, "text": "new"}"#)
            reading.run {
                hasBegun.signal()
                mayEnd.waitUntilSignaled()
            }
            async let look = blocking {
                reader.lookAndWait()
                return b.value
            }
            _ = await blocking { hasBegun.waitUntilSignaled() }
            // Run on a separate thread, so that a store that holds its lock fails the test instead of blocking it.
            let reads = Outcome {
                #expect(reader.value(forKey: "n") == 1)
                try writer.commit(isBlind: true) { $0["n"] = 2 }
                #expect(reader.value(forKey: "n") == 2)
                // The contents in memory are still the old ones, and may be cached.
                #expect(b.value == 1 && text.value == "old")
            }
            await eventually("reads return while the file is read") { reads.isOver }
            mayEnd.signal()
            let edited = await look
            #expect(edited == 2)
            #expect(reads.hasSucceeded)
            #expect(b.value == 2 && text.value == "new")
            #expect(reader.contents() == ["n": 2, "other": 1, "b": 2, "text": "new"])
        }
    }

    @Test("when an edit changes a key during a transaction, the recorded old value is the edited value")
    func editDuringTransaction() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"a": 1}"#)
            let store = makeStore(path)
            let recorder = CommitRecording()
            store.setObserver(recorder)
            #expect(store.contents() == ["a": 1])
            try store.commit { transaction in
                transaction["a"] = 3
                try path.replaceFile(with: #"{"a": 2}"#)
                store.look()
            }
            #expect(
                recorder.commits.withLock(\.self).suffix(2) == [
                    StoreCommit(changes: [StoreChange(key: "a", old: 1, new: 2)], origin: .external),
                    StoreCommit(changes: [StoreChange(key: "a", old: 2, new: 3)], origin: .local),
                ]
            )
        }
    }

    @Test("a record that is overwritten while it is read is not reported as damaged")
    func recordOverwrittenDuringRead() async throws {
        try await withSettingsPath { path in
            let writer = makeStore(path)
            try writer.commit(isBlind: true) { $0["n"] = 1 }
            try writer.checkpoint()
            let reading = Interruption(before: .read) { $0 == path + ".journal" }
            let reporter = RecordingReporter()
            let store = makeStore(path, reading.system)
            let reader = SettingsSuite(store: store, reporter: reporter)
            #expect(reader[storedValueFor: "n"] == 1)
            try writer.commit(isBlind: true) { $0["n"] = 2 }
            reading.run {
                try writer.checkpoint()
                try writer.commit(isBlind: true) { $0["n"] = 3 }
            }
            #expect(reader[storedValueFor: "n"] == 3)
            #expect(reading.hasRun)
            #expect(reporter.errors.isEmpty)
        }
    }
}

private final class CommitRecording: StoreObserver {
    let commits = Mutex<[StoreCommit]>([])

    func record(_ commit: StoreCommit) -> StoreDelivery {
        commits.withLock { $0.append(commit) }
        return .none
    }

    func report(_ error: SettingsError) {}
}
