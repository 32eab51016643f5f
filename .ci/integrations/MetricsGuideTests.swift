// SPDX-License-Identifier: Apache-2.0

import Foundation
import Metrics
import MetricsGuide
import MetricsTestKit
import StoredSettings
import StoredSettingsTesting
import Testing

/// The tests of Documentation/Integrations/Metrics.md.
@Suite(.timeLimit(.minutes(1)))
struct MetricsGuideTests {
    @Test("meters and the counter follow a file that breaks and is corrected")
    func brokenFile() async throws {
        let metrics = TestMetrics()
        MetricsSystem.bootstrap(metrics)
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "settings.json")
        let recorder = RecordingReporter()
        let suite = SettingsSuite(fileAt: file.path, reporter: CountingReporter(recorder))
        let service = SettingsMetrics(suite, every: .milliseconds(10))

        func value(_ label: String) -> Double? {
            metrics.meters(label: label, dimensions: [("suite", suite.name)]).last?.values.last
        }
        func eventually(_ label: String, _ condition: (Double) -> Bool) async throws {
            while !(value(label).map(condition) ?? false) { try await Task.sleep(for: .milliseconds(5)) }
        }

        service.record()
        #expect(value("settings_unreadable") == 0)
        #expect(value("settings_checkpoint_age_seconds") == nil)
        try await suite.setStoredValue(1, forKey: "a")
        try await suite.checkpoint()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await service.run() }
            try await eventually("settings_checkpoint_age_seconds") { $0 >= 0 && $0 < 3_600 }
            #expect(value("settings_failed_checkpoints") == 0)
            #expect(value("settings_unsaved") == 0)

            try Data("{".utf8).write(to: file, options: .atomic)
            try await eventually("settings_unreadable") { $0 == 1 }
            try await suite.setStoredValue(2, forKey: "b")
            try await eventually("settings_failed_checkpoints") { $0 >= 1 }
            let failures = metrics.counterTotal(
                label: "settings_failures_total",
                dimensions: [("code", "malformedFile")]
            )
            #expect(failures == 1)
            #expect(recorder.errors.map(\.code) == [.malformedFile])

            try Data(#"{"a": 3}"#.utf8).write(to: file, options: .atomic)
            try await eventually("settings_unreadable") { $0 == 0 }
            try await eventually("settings_failed_checkpoints") { $0 == 0 }
            tasks.cancelAll()
            try await tasks.waitForAll()
        }
        await suite.finish()
    }
}
