// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

@testable import StoredSettings

/// Keeps, of every moment of a script, the files that a crash would leave then, and what may be found in them.
final class CrashRecorder: Sendable {
    struct Moment: Sendable {
        /// The last call, and the step that it was made in.
        var place: String
        var model: ScriptModel
        var killed: DiskImage
        /// By what the loss of power has left.
        var powerless: [(left: PowerLoss, image: DiskImage)] = []
    }

    private struct State {
        var disk: SimulatedDisk
        let cases: [PowerLoss]
        var generator = SeededGenerator(seed: 3)
        var moments: [Moment] = []
        var player: ScriptPlayer?
        var place = ""
        var failure: (any Error)?
    }

    private let thread = SystemCalls.currentThread()
    private let state: Mutex<State>

    /// Plays a script in a directory and gives its moments.
    ///
    /// - Parameters:
    ///   - script: The script; without edits for a file that is mounted alone.
    ///   - directory: An empty directory.
    ///   - isMountedAlone: Whether the file is there and cannot be replaced.
    /// - Returns: The moments after every call and every step.
    /// - Throws: What a step throws.
    static func moments(of script: Script, in directory: String, isMountedAlone: Bool) throws -> [Moment] {
        let path = directory + "/a/b/settings.json"
        var script = script
        if isMountedAlone {
            try FileManager.default.createDirectory(atPath: directory + "/a/b", withIntermediateDirectories: true)
            try path.overwriteFile(with: "{}")
            script.steps.removeAll { $0.isEdit }
        }
        let recorder = try CrashRecorder(directory, isMountedAlone: isMountedAlone)
        let player = ScriptPlayer(path: path, system: recorder.system(isMountedAlone ? path : nil))
        recorder.state.withLock { $0.player = player }
        // The player knows the recorder, too.
        defer { recorder.state.withLock { $0.player = nil } }
        for (index, step) in script.steps.enumerated() {
            recorder.state.withLock { $0.place = "step \(index), \(step)" }
            try player.play(step)
            if step.isEdit { recorder.state.withLock { recorder.noteEdit(of: player.path, &$0) } }
            recorder.take("return")
        }
        player.suite.finish()
        recorder.take("finish")
        return try recorder.state.withLock { state in
            if let failure = state.failure { throw failure }
            return state.moments
        }
    }

    private init(_ directory: String, isMountedAlone: Bool) throws {
        let cases = isMountedAlone ? PowerLoss.ofOverwrittenFiles : PowerLoss.ofReplacedFiles
        state = try Mutex(State(disk: SimulatedDisk(root: directory), cases: cases))
    }

    private func system(_ mount: String?) -> SystemCalls {
        let fault: SystemCalls.Fault = { name, path in name == .rename && path == mount ? EBUSY : nil }
        return SystemCalls(
            fault: fault,
            witness: { [self] name, path in
                // Others may be in the middle of something while the files are looked at.
                guard thread == SystemCalls.currentThread() else { return }
                if name == .sync { note { $0.synchronize(path) } }
                take("\(name) \(path.split(separator: "/").last ?? "")")
            }
        )
    }

    private func note(_ body: (inout SimulatedDisk) throws -> Void) {
        state.withLock { state in
            do {
                try state.disk.look()
                try body(&state.disk)
            } catch {
                state.failure = state.failure ?? error
            }
        }
    }

    private func take(_ call: String) {
        note { _ in }
        state.withLock { state in
            guard let model = state.player?.model else { return }
            var moment = Moment(place: "\(state.place), after \(call)", model: model, killed: state.disk.now)
            for left in state.cases {
                for _ in 0..<left.draws {
                    moment.powerless.append((left, left.image(of: state.disk, using: &state.generator)))
                }
            }
            state.moments.append(moment)
        }
    }

    /// An editor has made sure of what it wrote.
    private func noteEdit(of path: String, _ state: inout State) {
        do {
            try state.disk.look()
            state.disk.makeSafe(path)
        } catch {
            state.failure = state.failure ?? error
        }
    }
}
