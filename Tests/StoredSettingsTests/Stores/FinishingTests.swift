// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@Suite("Finishing a suite")
struct FinishingTests {
    @Test("finishing from several threads at once writes all values into the file and reports no error")
    func severalThreads() async throws {
        try await withTemporaryDirectory { directory in
            let (path, reporter) = ("\(directory)/settings.json", RecordingReporter())
            for round in 1...50 {
                let suite = SettingsSuite(fileAt: path, reporter: reporter)
                try Setting("round", default: 0, suite: suite).set(round)
                DispatchQueue.concurrentPerform(iterations: 4) { _ in suite.finish() }
                #expect(try path.fileContents == "{\n  \"round\": \(round)\n}\n")
            }
            #expect(reporter.errors.map(\.description) == [])
        }
    }
}
