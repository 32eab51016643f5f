// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("When a checkpoint that has failed is tried again")
struct CheckpointScheduleTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()

    @Test("not at once, but at once when what it has failed for may have gone, and with the first delay after that")
    func retryNow() {
        let schedule = CheckpointSchedule(isActive: true, journalBound: 1 << 22)
        let error = SettingsError(.writeFailed, fact: "the disk is full")
        #expect(!schedule.isBackingOff)
        for isFirst in [true, false, false] {
            #expect(schedule.noteFailure(error) == isFirst)
            #expect(schedule.isBackingOff)
        }
        schedule.retryNow()
        #expect(!schedule.isBackingOff)
        #expect(!schedule.noteFailure(error), "it was reported")
        #expect(schedule.isBackingOff)
        schedule.noteSuccess()
        #expect(!schedule.isBackingOff)
        #expect(schedule.noteFailure(error))
    }

    /// The longest time between two commits until the first checkpoint begins.
    private final class Pauses: Sendable {
        private struct State {
            var start = ContinuousClock.now
            var longest = Duration.zero
            var untilCheckpoint: Duration?
        }

        private let state = Mutex(State())

        var untilCheckpoint: Duration? { state.withLock { $0.untilCheckpoint } }

        /// Notes a commit that began at a time and has ended.
        func noteCommit(begunAt start: ContinuousClock.Instant) {
            state.withLock { state in
                // From the start of the previous commit to the end of this one, which is longer than the pause.
                state.longest = max(state.longest, .now - state.start)
                state.start = start
            }
        }

        func noteCheckpoint() {
            state.withLock { state in
                state.untilCheckpoint = state.untilCheckpoint ?? max(state.longest, .now - state.start)
            }
        }
    }

    /// Sets values until the file is written, and returns the longest pause before the checkpoint.
    private func pauseBeforeCheckpoint(_ path: String) async throws -> Duration? {
        let pauses = Pauses()
        let system = SystemCalls(witness: { call, called in
            if call == .lock, called.hasSuffix(".lock") { pauses.noteCheckpoint() }
        })
        let store = FileStore(path: path, system: system)
        let isDone = Atomic(false)
        let hasEnded = Atomic(false)
        Thread.detachNewThread {
            do {
                var number: Int128 = 0
                while !isDone.load(ordering: .relaxed) {
                    number += 1
                    let start = ContinuousClock.now
                    try store.commit { $0["n"] = .integer(number) }
                    pauses.noteCommit(begunAt: start)
                    SystemCalls.sleep(seconds: 0.001)
                }
            } catch {
                Issue.record(error)
            }
            hasEnded.store(true, ordering: .releasing)
        }
        await eventually("there is a file") { FileManager.default.fileExists(atPath: path) }
        isDone.store(true, ordering: .relaxed)
        await eventually("the sets have ended") { hasEnded.load(ordering: .acquiring) }
        store.close()
        return pauses.untilCheckpoint
    }

    @Test("the file is written although sets never pause")
    func withoutPause() async throws {
        try await withTemporaryDirectory { directory in
            // On a busy machine, the writing thread itself may pause. A checkpoint after a pause proves nothing.
            for attempt in 0..<30 {
                let pause = try await pauseBeforeCheckpoint("\(directory)/\(attempt).json")
                if try #require(pause) < .seconds(CheckpointSchedule.interval) { return }
            }
            Issue.record("the file is written only after a pause")
        }
    }

    @Test("a file that cannot be read is reported once, and not again by the checkpoint that fails for it")
    func unreadableFile() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            let store = FileStore(path: path, system: faults.system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            #expect(suite.snapshot() == ["a": 1])
            faults.fail(.open, with: EACCES) { $0 == path }
            try path.replaceFile(with: #"{"a": 2}"#)
            store.look()
            #expect(suite.snapshot() == ["a": 1])
            try suite.setStoredValue(2, forKey: "b")
            await eventually("a checkpoint has failed, and another is scheduled") {
                store.schedule.isBackingOff && store.schedule.isScheduled.load(ordering: .relaxed)
            }
            #expect(reporter.errors.map(\.code) == [.readFailed])
            faults.stop()
            suite.finish()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["a": 2, "b": 2])
        }
    }
}
