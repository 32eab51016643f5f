// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport

@testable import StoredSettings

/// Opens disk images as a new process does after a crash, each image once.
final class ImageExaminer {
    private struct Finding {
        var contents: ScriptModel.Contents
        /// The reported errors, and the error that prevents a current read.
        var reports: [SettingsError]
        var laterFailure: String?
    }

    /// Whether the settings file may be incomplete.
    private let canFileBeMalformed: Bool
    private var findings: [DiskImage: Finding] = [:]

    init(canFileBeMalformed: Bool) {
        self.canFileBeMalformed = canFileBeMalformed
    }

    var count: Int { findings.count }

    func violations(
        of image: DiskImage,
        allowed: [ScriptModel.Contents],
        canJournalBeTorn: Bool
    ) async throws -> [String] {
        let finding: Finding
        if let known = findings[image] {
            finding = known
        } else {
            finding = try await examine(image)
            findings[image] = finding
        }
        var violations: [String] = []
        if !allowed.contains(finding.contents) {
            violations.append("contains \(difference(finding.contents, allowed))")
        }
        let reports = finding.reports.filter { error in
            !(canFileBeMalformed && error.code == .malformedFile)
                && !(canJournalBeTorn && error.code == .malformedJournal)
        }
        if !reports.isEmpty { violations.append("reports \(reports)") }
        if let laterFailure = finding.laterFailure { violations.append("later \(laterFailure)") }
        return violations
    }

    private func examine(_ image: DiskImage) async throws -> Finding {
        try await withTemporaryDirectory(inMemory: true) { directory in
            try image.write(to: directory)
            let path = directory + "/a/b/settings.json"
            let reporter = RecordingReporter()
            let suite = ScriptPlayer.suite(path, SystemCalls(), reporter)
            let contents = suite.snapshot()
            let reports = reporter.errors + (suite.engine.store.problem.map { [$0] } ?? [])
            let isFileMalformed = reports.contains { $0.code == .malformedFile }
            let laterFailure = laterFailure(suite, expecting: contents, at: path, checkpoints: !isFileMalformed)
            suite.finish()
            return Finding(contents: contents, reports: reports, laterFailure: laterFailure)
        }
    }

    /// Continues after the crash: checks that another store reads the contents and a new value, before and after a
    /// checkpoint.
    private func laterFailure(
        _ suite: SettingsSuite,
        expecting contents: ScriptModel.Contents,
        at path: String,
        checkpoints: Bool
    ) -> String? {
        var contents = contents
        contents["next"] = 1
        do {
            try suite.setStoredValue(1, forKey: "next")
            for isCheckpointed in checkpoints ? [false, true] : [false] {
                if isCheckpointed { try suite.checkpoint() }
                let other = ScriptPlayer.suite(path, SystemCalls(), RecordingReporter())
                defer { other.finish() }
                for found in [suite.snapshot(), other.snapshot()] where found != contents {
                    return "reads \(difference(found, [contents]))\(isCheckpointed ? " when checkpointed" : "")"
                }
            }
            return nil
        } catch {
            return "fails: \(error)"
        }
    }
}
