// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("The status of a suite")
struct SettingsStatusTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()

    @Test("a new suite has no problem, nothing unsaved and no checkpoint")
    func newSuite() async throws {
        try await withSettingsPath { path in
            let status = SettingsSuite(fileAt: path, reporter: reporter).status
            #expect(status.problem == nil)
            #expect(status.unsavedCount == 0)
            #expect(status.failedCheckpointCount == 0)
            #expect(status.lastCheckpoint == nil)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("the last checkpoint is that of any process, and an edit is none")
    func lastCheckpoint() async throws {
        try await withSettingsPath { path in
            let writer = FileStore(path: path, checkpointsInBackground: false)
            let began = Date()
            try writer.commit { $0["a"] = 1 }
            try writer.checkpoint()
            // Another store has another descriptor and mapping, as another process has.
            let suite = SettingsSuite(store: FileStore(path: path), reporter: reporter)
            let first = try #require(suite.status.lastCheckpoint)
            // Times of files are those of the last tick of the clock.
            #expect(first > began - 1 && first < Date() + 1)
            try path.replaceFile(with: #"{"a": 2}"#)
            await eventually("the edit is read") { suite[storedValueFor: "a"] == 2 }
            #expect(suite.status.lastCheckpoint == first)
            try await eventually("a later checkpoint has a later time") {
                try writer.commit { $0["b"] = .integer(.random(in: 1...1_000_000)) }
                try writer.checkpoint()
                return try #require(suite.status.lastCheckpoint) > first
            }
            writer.close()
            await suite.finish()
        }
    }

    @Test("a value that cannot be saved is unsaved until it is")
    func unsaved() async throws {
        let store = FailingStore()
        let suite = SettingsSuite(store: store, reporter: reporter)
        store.fail(with: SettingsError(.writeFailed, fact: "the disk is full", remedy: "make room"))
        suite[storedValueFor: "a"] = 1
        suite[storedValueFor: "b"] = 2
        #expect(suite.status.unsavedCount == 2)
        #expect(suite.group("c").status.unsavedCount == 2)
        store.fail(with: nil)
        try await suite.synchronize()
        #expect(suite.status.unsavedCount == 0)
        #expect(suite.status.lastCheckpoint == nil)
    }

    @Test("a file that cannot be read is a problem that names the suite's file, until it can")
    func problem() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{")
            let store = FileStore(path: path)
            let suite = SettingsSuite(store: store, name: "acme", reporter: reporter)
            let problem = try #require(suite.status.problem)
            #expect(problem.code == .malformedFile)
            #expect(problem.suite == "acme")
            #expect(problem.location?.file == path)
            try path.replaceFile(with: #"{"a": 1}"#)
            store.look()
            await eventually("the file is read again") { suite.status.problem == nil }
            await suite.finish()
        }
    }

    @Test("failed checkpoints are counted until one succeeds, also when their cause may be gone meanwhile")
    func failedCheckpoints() async throws {
        try await withSettingsPath { path in
            let store = FileStore(path: path, system: faults.system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            try await suite.setStoredValue(1, forKey: "a")
            try await suite.checkpoint()
            let last = try #require(suite.status.lastCheckpoint)
            faults.fail(.rename, with: ENOSPC) { $0 == path }
            try await suite.setStoredValue(2, forKey: "a")
            await eventually("a checkpoint has failed") { suite.status.failedCheckpointCount >= 1 }
            store.schedule.retryNow()
            #expect(suite.status.failedCheckpointCount >= 1)
            await eventually("a second one has failed") { suite.status.failedCheckpointCount >= 2 }
            #expect(suite.status.lastCheckpoint == last)
            // So that no attempt in the background begins the count anew.
            store.schedule.backOff()
            faults.stop()
            // The last one may be about to count its failure.
            try await eventually("failed checkpoints are no longer counted") {
                try await suite.checkpoint()
                return suite.status.failedCheckpointCount == 0
            }
            #expect(try #require(suite.status.lastCheckpoint) >= last)
            await suite.finish()
        }
    }
}
