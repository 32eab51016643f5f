// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Retries of failed checkpoints")
struct CheckpointScheduleTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()

    @Test("the file is written although sets never pause")
    func withoutPause() async throws {
        try await withSettingsPath { path in
            let store = FileStore(path: path)
            let isDone = Flag()
            let sets = Outcome {
                for value in 1... {
                    guard !isDone.isSet else { return }
                    try store.commit { $0["n"] = .integer(Int128(value)) }
                    SystemCalls.sleep(seconds: 0.001)
                }
            }
            await eventually("there is a file") {
                FileManager.default.fileExists(atPath: path)
            }
            isDone.set()
            await eventually("the sets have ended") { sets.hasSucceeded }
            store.close()
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

    @Test("failed checkpoints are reported once, as settled when the file is written, and again when one fails later")
    func settled() async throws {
        try await withSettingsPath { path in
            let store = FileStore(path: path, system: faults.system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            let attempts = Counter()
            for number in 1...2 {
                faults.fail(.rename, with: ENOSPC) { called in
                    if called == path { attempts.add() }
                    return true
                }
                try await suite.setStoredValue(.integer(Int128(number)), forKey: "a")
                await eventually("the failure is reported") { reporter.errors.count == number }
                for _ in 0..<3 {
                    let before = attempts.count
                    store.schedule.retryNow()
                    await eventually("another checkpoint is attempted") { attempts.count > before }
                }
                #expect(reporter.errors.count == number)
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
        #expect(SettingsFileState.pollInterval == 0.1)
        #expect(LockTimeouts().withoutProgress == .seconds(5))
        #expect(SettingsEngine.longestWaitInTask == .milliseconds(20))
    }
}
