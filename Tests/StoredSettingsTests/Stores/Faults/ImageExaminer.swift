// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport

@testable import StoredSettings

/// Opens images of files as a process does that begins after a crash; each image once.
final class ImageExaminer {
    private struct Finding {
        var contents: ScriptModel.Contents
        /// What was reported, and what keeps the file from being read.
        var told: [SettingsError]
        /// What went wrong with the operations that followed.
        var later: String?
    }

    /// Whether the file may be found in the middle of being written.
    private let mayFileBeBroken: Bool
    private var findings: [DiskImage: Finding] = [:]

    init(mayFileBeBroken: Bool) {
        self.mayFileBeBroken = mayFileBeBroken
    }

    /// How many different images there were.
    var count: Int { findings.count }

    /// What is wrong with what is found in an image.
    func defects(
        of image: DiskImage,
        allowed: [ScriptModel.Contents],
        mayJournalBeTorn: Bool
    ) async throws -> [String] {
        let finding: Finding
        if let known = findings[image] {
            finding = known
        } else {
            finding = try await examine(image)
            findings[image] = finding
        }
        var defects: [String] = []
        if !allowed.contains(finding.contents) { defects.append("holds \(difference(finding.contents, allowed))") }
        let told = finding.told.filter { error in
            !(mayFileBeBroken && error.code == .malformedFile) && !(mayJournalBeTorn && error.code == .malformedJournal)
        }
        if !told.isEmpty { defects.append("tells \(told)") }
        if let later = finding.later { defects.append("later \(later)") }
        return defects
    }

    private func examine(_ image: DiskImage) async throws -> Finding {
        try await withTemporaryDirectory(inMemory: true) { directory in
            try image.write(to: directory)
            let path = directory + "/a/b/settings.json"
            let reporter = RecordingReporter()
            let suite = ScriptPlayer.suite(path, SystemCalls(), reporter)
            let contents = suite.snapshot()
            let told = reporter.errors + (suite.engine.store.problem.map { [$0] } ?? [])
            let isFileBroken = told.contains { $0.code == .malformedFile }
            let later = later(suite, expecting: contents, at: path, checkpoints: !isFileBroken)
            suite.finish()
            return Finding(contents: contents, told: told, later: later)
        }
    }

    /// Goes on after the crash: what is found and what is set then is there for others, before it is checkpointed and after.
    private func later(
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
