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
    private let player: ScriptPlayer

    /// What was not as it should be.
    private(set) var defects: [String] = []
    private var place = "at the start"
    private var texts: [String] = []

    /// Whether the suite that is in use has had a chance to read what is on the disk.
    private var hasRead = false

    init(_ failure: CallFailure, call number: Int, lastsForever: Bool, in directory: String) {
        fault = NthCall(failure, call: number, lastsForever: lastsForever)
        self.failure = failure
        self.lastsForever = lastsForever
        self.directory = directory
        player = ScriptPlayer(path: directory + "/a/b/settings.json", system: fault.system)
    }

    /// The call that failed; `nil` when there were not as many.
    var victim: NthCall.Call? { fault.victim }

    func run(_ script: Script) throws {
        for (index, step) in script.steps.enumerated() {
            place = "step \(index), \(step)"
            let isFirst = fault.victim == nil
            let (error, reported) = play(step)
            guard let victim = fault.victim else {
                expect(error == nil && reported.isEmpty, "fails though no call does: \(error as Any), \(reported)")
                hasRead = step.isRead
                continue
            }
            if isFirst { place += ", \(failure.testDescription) of \(victim)" }
            if lastsForever {
                if !step.isRead { hasRead = false }
                checkReadsOfDeadDisk()
            } else if isFirst {
                try check(victim, thrown: error, reported: reported)
            } else {
                expect(error == nil && reported.isEmpty, "fails after \(victim) did: \(error as Any), \(reported)")
            }
        }
        try finish()
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

    private func expect(_ condition: Bool, _ defect: @autoclosure () -> String) {
        if !condition { defects.append("\(place): \(defect())") }
    }

    // MARK: - What is checked

    /// Checks what must hold right after a call has failed once.
    private func check(_ victim: NthCall.Call, thrown: (any Error)?, reported: [SettingsError]) throws {
        let isTold = thrown != nil || !reported.isEmpty
        if failure.isRetried {
            expect(!isTold, "what is made again was told: \(thrown as Any), \(reported)")
        } else {
            expect(isTold || mayFailSilently(victim), "nobody was told")
        }
        try fault.pause {
            let found = player.suite.snapshot()
            expect(player.model.mayBeRead(found), "reads \(difference(found, [player.model.contents]))")
            let copy = directory + "/copy"
            if FileManager.default.fileExists(atPath: directory + "/a") {
                try FileManager.default.copyItem(atPath: directory + "/a", toPath: copy)
            }
            let reopened = reopened(copy + "/b/settings.json")
            expect(
                player.model.afterDeath.contains(reopened),
                "reopened: \(difference(reopened, player.model.afterDeath))"
            )
        }
    }

    /// Checks that what is in memory is read while nothing can be read from the disk.
    private func checkReadsOfDeadDisk() {
        guard hasRead else { return }
        let found = player.suite.snapshot()
        expect(player.model.mayBeRead(found), "reads \(difference(found, [player.model.contents]))")
    }

    /// Checks that all goes on as if nothing had happened once the calls succeed again.
    private func finish() throws {
        place = "at the end, after \(fault.victim.map { "\(failure.testDescription) of \($0)" } ?? "no failure")"
        fault.stop()
        for step in [Script.Step.synchronize, .set("next", 1), .fold] {
            let (error, _) = play(step)
            expect(error == nil, "\(step) fails: \(error as Any)")
        }
        let (found, contents) = (player.suite.snapshot(), player.model.contents)
        expect(found == contents, "reads \(difference(found, [contents]))")
        let file = try ScriptPlayer.contents(ofFileAt: player.path)
        expect(file == contents, "the file holds \(difference(file, [contents]))")
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
    private func mayFailSilently(_ call: NthCall.Call) -> Bool {
        switch call.name {
        // The look at a file that has just been put in its place: without it the file is read again.
        case .status: call.path.hasSuffix(".new")
        // A directory that may be entered and not read cannot be synchronized by its user.
        case .open, .sync: failure == .notPermitted && !call.path.contains("settings.json")
        default: false
        }
    }

    private static func text(of error: any Error) -> String {
        guard let error = error as? SettingsError else { return "\(error)" }
        return "\(error) \(error.fact) \(error.consequence) \(error.remedy)"
    }
}

/// How contents differ from the nearest of those that are allowed.
func difference(_ found: ScriptModel.Contents, _ allowed: [ScriptModel.Contents]) -> String {
    let differences = allowed.map { [StoreChange](from: $0, to: found) }
    guard let nearest = differences.min(by: { $0.count < $1.count }) else { return "nothing is allowed" }
    let texts = nearest.map { change in
        let values = [change.new, change.old].map { $0.map { String("\($0)".prefix(40)) } ?? "nothing" }
        return "\(change.key): \(values[0]) instead of \(values[1])"
    }
    return "[\(texts.joined(separator: ", "))]"
}
