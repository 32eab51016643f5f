// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport

@testable import StoredSettings

/// One run of a script during which system calls fail, and what was wrong with it.
final class FaultTrial {
    private let fault: NthCall
    private let failure: CallFailure
    private let lastsForever: Bool
    private let directory: String
    private let segment: ScriptSegment
    private let player: ScriptPlayer

    /// What was not as it should be.
    private(set) var defects: [String] = []
    private var place = "at the start"
    private var texts: [String] = []

    /// Whether the suite that is in use has had a chance to read what is on the disk.
    private var hasRead = false

    /// How many steps to play after the one in which a call fails, before all calls succeed again.
    private static let stepsAfterwards = 4

    /// Creates a run that begins with what is there when a segment of a script begins.
    init(
        _ failure: CallFailure,
        call number: Int,
        of segment: ScriptSegment,
        lastsForever: Bool,
        in directory: String
    ) throws {
        try segment.files.write(to: directory)
        self.segment = segment
        fault = NthCall(failure, call: number, lastsForever: lastsForever)
        self.failure = failure
        self.lastsForever = lastsForever
        self.directory = directory
        let path = directory + "/a/b/settings.json"
        player = ScriptPlayer(path: path, system: fault.system, model: segment.model)
    }

    /// The call that failed; `nil` when there were not as many.
    var victim: NthCall.Call? { fault.victim }

    func run(_ script: Script) throws {
        var stepsLeft = Self.stepsAfterwards
        for (index, step) in script.steps.enumerated() where index >= segment.steps.lowerBound && stepsLeft > 0 {
            if fault.victim != nil { stepsLeft -= 1 }
            // The next segment has calls of its own.
            if fault.victim == nil, index >= segment.steps.upperBound { break }
            place = "step \(index), \(step)"
            let isFirst = fault.victim == nil
            let (error, reported) = play(step)
            guard let victim = fault.victim else {
                expect(error == nil && reported.isEmpty, "fails though no call does: \(error as Any), \(reported)")
                hasRead = !step.isReopening
                continue
            }
            if isFirst || lastsForever { place += ", \(failure.testDescription) of \(victim)" }
            if lastsForever {
                if step.isReopening || step.isEdit { hasRead = false }
                checkReadsOfDeadDisk()
            } else if isFirst {
                try check(victim, of: step, thrown: error, reported: reported)
            } else {
                expect(error == nil && reported.isEmpty, "fails after \(victim) did: \(error as Any), \(reported)")
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
            texts.append(Self.text(of: error))
        }
        return (thrown, Array(player.reporter.errors.dropFirst(count)))
    }

    private func expect(_ condition: Bool, _ readFailure: @autoclosure () -> String) {
        if !condition {
            // The directory is gone by the time somebody reads of it.
            defects.append("\(place): \(readFailure())".replacingOccurrences(of: directory, with: ""))
        }
    }

    // MARK: - What is checked

    /// Checks what must hold right after a call has failed once.
    private func check(_ victim: NthCall.Call, of step: Script.Step, thrown: (any Error)?, reported: [SettingsError])
        throws
    {
        let isTold = thrown != nil || !reported.isEmpty
        if failure.isRetried {
            expect(!isTold, "what is made again was told: \(thrown as Any), \(reported)")
        } else {
            expect(isTold || mayFailSilently(victim, in: step), "nobody was told")
        }
        fault.isPaused = true
        defer { fault.isPaused = false }
        checkReads()
        let copy = directory + "/copy"
        if FileManager.default.fileExists(atPath: directory + "/a") {
            try FileManager.default.copyItem(atPath: directory + "/a", toPath: copy)
        }
        let (reopened, allowed) = (reopened(copy + "/b/settings.json"), player.model.afterDeath)
        expect(allowed.contains(reopened), "reopened: \(difference(reopened, allowed))")
    }

    /// Checks what is read: at once, or, where something could not be read, as soon as that is tried again.
    private func checkReads() {
        let deadline = ContinuousClock.now + .seconds(1)
        while !player.model.mayBeRead(player.suite.snapshot()), .now < deadline {}
        let found = player.suite.snapshot()
        expect(player.model.mayBeRead(found), "reads \(difference(found, [player.model.contents]))")
    }

    /// Checks that what is in memory is read while nothing can be read from the disk.
    private func checkReadsOfDeadDisk() {
        guard hasRead else { return }
        let found = player.suite.snapshot()
        expect(player.model.mayBeRead(found), "reads \(difference(found, [player.model.contents]))")
    }

    /// Checks that all goes on as if nothing had happened once the calls succeed again.
    private func finish() {
        place = "at the end, after \(fault.victim.map { "\(failure.testDescription) of \($0)" } ?? "no failure")"
        fault.isPaused = true
        for step in [Script.Step.synchronize, .set("next", 1), .checkpoint] {
            let (error, _) = play(step)
            expect(error == nil, "\(step) fails: \(error as Any)")
        }
        let (found, contents) = (player.suite.snapshot(), player.model.contents)
        expect(found == contents, "reads \(difference(found, [contents]))")
        do {
            let file = try ScriptPlayer.contents(ofFileAt: player.path)
            expect(file == contents, "the file holds \(difference(file, [contents]))")
        } catch {
            expect(false, "the file cannot be read: \(error)")
        }
        expect(reopened(player.path) == contents, "reopened: \(difference(reopened(player.path), [contents]))")
        player.suite.finish()
        texts += player.reporter.errors.map(Self.text)
        expect(!texts.contains { $0.contains(Script.secret) }, "a message holds a value")
    }

    /// What a process finds that begins now.
    private func reopened(_ path: String) -> ScriptModel.Contents {
        let reporter = RecordingReporter()
        let suite = ScriptPlayer.suite(path, SystemCalls(), reporter)
        defer { suite.finish() }
        let contents = suite.snapshot()
        expect(reporter.errors.isEmpty, "reopening reports \(reporter.errors)")
        return contents
    }

    /// Whether a call may fail without anybody being told, since its failure changes nothing that a user was promised.
    private func mayFailSilently(_ call: NthCall.Call, in step: Script.Step) -> Bool {
        let isAboutJournal = call.path.hasSuffix(".journal")
        let isAboutDirectory = !call.path.contains("settings.json")
        return switch call.name {
        // Closing the file lets go of the lock, too.
        case .unlock: true
        // The look at a file that has just been put in its place: without it the file is read again.
        case .status where call.path.hasSuffix(".new"): true
        // Whoever synchronizes and does not know whether the journal is in its place, puts it in order.
        case .status where isAboutJournal && step.isSynchronizing: true
        // A journal that may not be written can be read, and whoever writes opens it again.
        case .open where isAboutJournal: failure == .notPermitted
        // A directory that may be entered and not read cannot be synchronized by its user.
        case .open where isAboutDirectory, .sync where isAboutDirectory: failure == .notPermitted
        default: false
        }
    }

    private static func text(of error: any Error) -> String {
        guard let error = error as? SettingsError else { return "\(error)" }
        return "\(error) \(error.fact) \(error.consequence) \(error.remedy)"
    }
}
