// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Finishing a suite", .deadlockLimit)
struct FinishingTests {
    @Test("a process that has only read does not report that it cannot write the file when it finishes")
    func reader() async throws {
        try await withTemporaryDirectory { directory in
            let (path, reporter, faults) = ("\(directory)/settings.json", RecordingReporter(), Faults())
            try makeStore(path).commit { $0["a"] = 1 }
            faults.fail(.rename, with: EACCES)
            let suite = SettingsSuite(store: FileStore(path: path, system: faults.system), reporter: reporter)
            #expect(suite.snapshot() == ["a": 1])
            suite.finish()
            #expect(reporter.errors.map(\.description) == [])
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("finishing from several threads at once writes all values into the file and reports no error")
    func severalThreads() async throws {
        try await withTemporaryDirectory { directory in
            let (path, reporter) = ("\(directory)/settings.json", RecordingReporter())
            for round in 1...50 {
                let suite = SettingsSuite(fileAt: path, reporter: reporter)
                try await Setting("round", default: 0, suite: suite).set(round)
                DispatchQueue.concurrentPerform(iterations: 4) { _ in suite.finish() }
                #expect(try path.fileContents == "{\n  \"round\": \(round)\n}\n")
            }
            #expect(reporter.errors.map(\.description) == [])
        }
    }
}
