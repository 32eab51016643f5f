// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettingsTesting
import TestSupport

@testable import StoredSettings

/// One run of a script during which system calls fail, and the violations that were found.
final class FaultTrial {
    private let fault: NthCall
    private let failure: CallFailure
    private let isPermanent: Bool
    private let directory: String
    private let segment: ScriptSegment
    private let player: ScriptPlayer

    private(set) var violations: [String] = []
    private var context = "at the start"
    private var messages: [String] = []

    /// Whether the current suite was able to read the files.
    private var hasRead = false

    /// How many steps are played after the step in which a call fails, before all calls succeed again.
    private static let stepsAfterFailure = 4

    /// Creates a run that starts with the files at the start of a segment.
    init(
        _ failure: CallFailure,
        call number: Int,
        of segment: ScriptSegment,
        isPermanent: Bool,
        in directory: String
    ) throws {
        try segment.files.write(to: directory)
        self.segment = segment
        fault = NthCall(failure, call: number, isPermanent: isPermanent)
        self.failure = failure
        self.isPermanent = isPermanent
        self.directory = directory
        let path = directory + "/a/b/settings.json"
        player = ScriptPlayer(path: path, system: fault.system, model: segment.model)
    }

    /// The call that failed; `nil` if there were fewer calls.
    var failedCall: NthCall.Call? { fault.failedCall }

    /// How many calls there were that could have failed, up to the one that failed.
    var calls: Int { fault.count }

    func run(_ script: Script) throws {
        var stepsLeft = Self.stepsAfterFailure
        for (index, step) in script.steps.enumerated() where index >= segment.steps.lowerBound && stepsLeft > 0 {
            if fault.failedCall != nil { stepsLeft -= 1 }
            // The next segment counts its own calls.
            if fault.failedCall == nil, index >= segment.steps.upperBound { break }
            context = "step \(index), \(step)"
            let isFirst = fault.failedCall == nil
            let (error, reported) = play(step)
            guard let failedCall = fault.failedCall else {
                expect(error == nil && reported.isEmpty, "fails although no call failed: \(error as Any), \(reported)")
                hasRead = !step.isReopening
                continue
            }
            if isFirst || isPermanent { context += ", \(failure.testDescription) of \(failedCall)" }
            if isPermanent {
                if step.isReopening || step.isEdit { hasRead = false }
                // Values in memory are read while the disk fails.
                if hasRead { checkReads(within: .zero) }
            } else if isFirst {
                try check(failedCall, of: step, thrown: error, reported: reported)
            } else {
                expect(
                    error == nil && reported.isEmpty,
                    "fails after \(failedCall) failed: \(error as Any), \(reported)"
                )
            }
        }
        finish()
    }

    private func play(_ step: Script.Step) -> (thrown: (any Error)?, reported: [SettingsError]) {
        let count = player.reporter.errors.count
        var thrown: (any Error)?
        do {
            try player.play(step)
        } catch {
            thrown = error
            messages.append(Self.message(of: error))
        }
        return (thrown, Array(player.reporter.errors.dropFirst(count)))
    }

    private func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition {
            // The directory no longer exists when the message is read.
            violations.append("\(context): \(message())".replacingOccurrences(of: directory, with: ""))
        }
    }

    // MARK: - Checks

    /// Checks the suite right after a call has failed once.
    private func check(
        _ failedCall: NthCall.Call,
        of step: Script.Step,
        thrown: (any Error)?,
        reported: [SettingsError]
    )
        throws
    {
        let isReported = thrown != nil || !reported.isEmpty
        if failure.isRetried {
            expect(!isReported, "a repeated call was reported: \(thrown as Any), \(reported)")
        } else {
            expect(isReported || mayFailSilently(failedCall, in: step), "nothing was reported")
        }
        fault.isPaused = true
        defer { fault.isPaused = false }
        checkReads()
        let copy = directory + "/copy"
        if FileManager.default.fileExists(atPath: directory + "/a") {
            try FileManager.default.copyItem(atPath: directory + "/a", toPath: copy)
        }
        let (reopened, allowed) = (reopened(copy + "/b/settings.json"), player.model.afterKill)
        expect(allowed.contains(reopened), "reopened: \(difference(reopened, allowed))")
    }

    /// Checks the values that are read, immediately or, after a failed read, once the read is retried.
    private func checkReads(within limit: Duration = longestWait) {
        var deadline = Deadline(after: limit)
        while !player.model.allows(player.suite.snapshot()), !deadline.hasPassed { deadline.pauseOnThread() }
        let found = player.suite.snapshot()
        expect(player.model.allows(found), "reads \(difference(found, [player.model.contents]))")
    }

    /// Checks that operations succeed once the calls succeed again.
    private func finish() {
        context = "at the end, after \(fault.failedCall.map { "\(failure.testDescription) of \($0)" } ?? "no failure")"
        fault.isPaused = true
        for step in [Script.Step.synchronize, .set("next", 1), .checkpoint] {
            let (error, _) = play(step)
            expect(error == nil, "\(step) fails: \(error as Any)")
        }
        let (found, contents) = (player.suite.snapshot(), player.model.contents)
        expect(found == contents, "reads \(difference(found, [contents]))")
        do {
            let file = try ScriptPlayer.contents(ofFileAt: player.path)
            expect(file == contents, "the file contains \(difference(file, [contents]))")
        } catch {
            expect(false, "the file cannot be read: \(error)")
        }
        expect(reopened(player.path) == contents, "reopened: \(difference(reopened(player.path), [contents]))")
        player.suite.finish()
        messages += player.reporter.errors.map(Self.message)
        expect(!messages.contains { $0.contains(Script.secret) }, "a message contains a value")
    }

    private func reopened(_ path: String) -> ScriptModel.Contents {
        let reporter = RecordingReporter()
        let suite = ScriptPlayer.suite(path, SystemCalls(), reporter)
        defer { suite.finish() }
        let contents = suite.snapshot()
        expect(reporter.errors.isEmpty, "reopening reports \(reporter.errors)")
        return contents
    }

    /// Whether a call may fail without a report, because its failure breaks no promise.
    private func mayFailSilently(_ call: NthCall.Call, in step: Script.Step) -> Bool {
        let isAboutJournal = call.path.hasSuffix(".journal")
        let isAboutDirectory = !call.path.contains("settings.json")
        return switch call.name {
        // Without the path of an open directory, root looks at each component of it.
        case .readLink where call.path.hasPrefix("/proc/"): true
        // Without the status of the renamed file, the file is read again.
        case .status where call.path.hasSuffix(".new"): true
        // A synchronization that cannot determine whether the journal is in place repairs it.
        case .status where isAboutJournal && step.isSynchronizing: true
        // A journal without write permission can be read, and a writer opens it again.
        case .open where isAboutJournal: failure == .notPermitted
        // The permissions of a copy that may not be opened are those at its name.
        case .open where isCopyRefused(call), .status where isCopyRefused(call): true
        // A record that cannot be copied into shared memory is written.
        case .map where isAboutJournal, .allocate where isAboutJournal: true
        // Where there is no space for a draft, room is made, and it is written again.
        case .open where isAboutDirectory && failure == .noSpace: true
        // A directory with search permission but no read permission cannot be synchronized by its user.
        case .open where isAboutDirectory, .sync where isAboutDirectory: failure == .notPermitted
        // A copy that cannot be replaced is removed and written again, and its space is used for a draft.
        case .open, .read, .write, .rename, .status, .sync, .unlink, .changeMode, .changeOwner:
            isAboutCopy(call.path) && isCopyCurrent
        default: false
        }
    }

    private func isCopyRefused(_ call: NthCall.Call) -> Bool {
        call.path.hasSuffix(".last-good") && failure == .notPermitted
    }

    private func isAboutCopy(_ path: String) -> Bool {
        path.hasSuffix(".last-good") || path.hasSuffix(".new")
    }

    /// Whether the last good copy is that of the settings file.
    private var isCopyCurrent: Bool {
        let path = directory + "/a/b/settings.json"
        do {
            return try (path + ".last-good").fileContents == path.fileContents
        } catch {
            return false
        }
    }

    private static func message(of error: any Error) -> String {
        guard let error = error as? SettingsError else { return "\(error)" }
        return "\(error) \(error.fact) \(error.consequence) \(error.remedy)"
    }
}
