// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Retries of failed checkpoints")
struct CheckpointScheduleTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()

    @Test("a failed checkpoint is retried after a delay, and at once when its cause may be gone")
    func retryNow() {
        let schedule = CheckpointSchedule(isActive: true, journalBound: 1 << 22)
        let error = SettingsError(.writeFailed, fact: "the disk is full")
        #expect(!schedule.isBackingOff)
        let start = ContinuousClock.now
        // On a busy machine, the delay may be over before it is checked.
        func isBackingOff() -> Bool {
            schedule.isBackingOff || ContinuousClock.now - start >= CheckpointSchedule.retryDelay
        }
        for isFirst in [true, false, false] {
            #expect(schedule.noteFailure(error) == isFirst)
            #expect(isBackingOff())
        }
        schedule.retryNow()
        #expect(!schedule.isBackingOff)
        #expect(!schedule.noteFailure(error), "it was reported before")
        #expect(isBackingOff())
        #expect(schedule.noteSuccess().settled.map(\.fact) == ["the disk is full"])
        #expect(!schedule.isBackingOff)
        #expect(schedule.noteSuccess().settled.isEmpty)
        #expect(schedule.noteFailure(error))
    }

    @Test("a checkpoint is due after a pause of the sets, and after about a second without a pause")
    func isDue() {
        #expect(CheckpointSchedule.isDue(published: 1, seen: 1, checks: 0))
        for checks in 0..<9 { #expect(!CheckpointSchedule.isDue(published: 2, seen: 1, checks: checks)) }
        #expect(CheckpointSchedule.isDue(published: 2, seen: 1, checks: 9))
    }

    @Test("the file is written although sets never pause")
    func withoutPause() async throws {
        try await withSettingsPath { path in
            let store = FileStore(path: path)
            let isDone = Atomic(false)
            let number = Atomic(0)
            Thread.detachNewThread {
                do {
                    while !isDone.load(ordering: .relaxed) {
                        let value = number.add(1, ordering: .relaxed).newValue
                        try store.commit { $0["n"] = .integer(Int128(value)) }
                        SystemCalls.sleep(seconds: 0.001)
                    }
                    number.store(-1, ordering: .releasing)
                } catch {
                    Issue.record(error)
                }
            }
            await eventually("there is a file") {
                FileManager.default.fileExists(atPath: path)
            }
            isDone.store(true, ordering: .relaxed)
            await eventually("the sets have ended") { number.load(ordering: .acquiring) == -1 }
            store.close()
        }
    }

    @Test("an unreadable file is reported once, and not again by the checkpoint that fails because of it")
    func unreadableFile() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"a": 1}"#)
            let store = FileStore(path: path, system: faults.system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            #expect(suite.snapshot() == ["a": 1])
            faults.fail(.open, with: EACCES) { $0 == path }
            try path.replaceFile(with: #"{"a": 2}"#)
            store.look()
            #expect(suite.snapshot() == ["a": 1])
            try await suite.setStoredValue(2, forKey: "b")
            await eventually("a checkpoint has failed, and another is scheduled") {
                store.schedule.isBackingOff && store.schedule.isScheduled.isSet
            }
            await eventually("the unreadable file is reported") { !reporter.errors.isEmpty }
            #expect(reporter.errors.map(\.code) == [.readFailed])
            faults.stop()
            await suite.finish()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["a": 2, "b": 2])
        }
    }

    @Test("once a malformed file is corrected, the next checkpoint does not wait for the delay after earlier failures")
    func correctedFile() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{")
            let store = makeStore(path)
            #expect(store.contents().isEmpty)
            let error = try #require(store.problem)
            // After this many failures, the delay is a minute.
            for _ in 0..<10 { _ = store.schedule.noteFailure(error) }
            #expect(store.schedule.isBackingOff)
            try path.replaceFile(with: #"{"a": 1}"#)
            store.look()
            await eventually("the corrected file is read") { store.value(forKey: "a") == 1 }
            #expect(!store.schedule.isBackingOff)
            store.close()
        }
    }

    @Test("a failed checkpoint is reported as settled when the file is written, and again when another one fails")
    func settled() async throws {
        try await withSettingsPath { path in
            let store = FileStore(path: path, system: faults.system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            for number in 1...2 {
                faults.fail(.rename, with: ENOSPC)
                try await suite.setStoredValue(.integer(Int128(number)), forKey: "a")
                await eventually("the failure is reported") { reporter.errors.count == number }
                #expect(reporter.recoveries.count == number - 1)
                faults.stop()
                store.schedule.retryNow()
                await eventually("the file is written") { reporter.recoveries.count == number }
                #expect(reporter.recoveries.map(\.message) == reporter.errors.map(\.message))
                #expect(try JSONReader.readObject(Array(path.fileContents.utf8))["a"] == .integer(Int128(number)))
            }
            await suite.finish()
            #expect(reporter.recoveries.count == 2)
        }
    }

    @Test("the intervals are those that the documentation names")
    func intervals() {
        #expect(CheckpointSchedule.interval * 2 == 0.2)
        #expect(CheckpointSchedule.interval * Double(CheckpointSchedule.mostChecks + 1) == 1)
        #expect(SettingsFileState.settlingTime == 0.1)
        #expect(SettingsFileState.lookInterval == 0.1)
        #expect(FileLock.timeout == .seconds(5))
        #expect(SettingsEngine.longestWaitInTask == .milliseconds(20))
    }
}
