// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

@testable import StoredSettings

/// Records, after every call of a script, the files that a crash would leave and the contents that a model allows.
final class CrashRecorder: Sendable {
    struct Moment: Sendable {
        /// The last call, and the step that made it.
        var context: String
        var model: ScriptModel
        var afterKill: DiskImage
        var afterPowerLoss: [(loss: PowerLoss, image: DiskImage)] = []
    }

    private struct State {
        var disk: SimulatedDisk
        let cases: [PowerLoss]
        var generator = TestRun.generator()
        var moments: [Moment] = []
        var player: ScriptPlayer?
        var context = ""
        var failure: (any Error)?
    }

    private let thread = SystemCalls.currentThread()
    private let state: Mutex<State>

    /// Plays a script in a directory and returns its moments.
    ///
    /// - Parameters:
    ///   - script: The script; edits are left out for a file that is a mount point.
    ///   - directory: An empty directory.
    ///   - isMountPoint: Whether the file exists and cannot be replaced.
    /// - Returns: The moments after every call and every step.
    /// - Throws: The error of a step.
    static func moments(of script: Script, in directory: String, isMountPoint: Bool) throws -> [Moment] {
        let path = directory + "/a/b/settings.json"
        var script = script
        if isMountPoint {
            try FileManager.default.createDirectory(atPath: directory + "/a/b", withIntermediateDirectories: true)
            try path.overwriteFile(with: "{}")
            script.steps.removeAll { $0.isEdit }
        }
        let recorder = try CrashRecorder(directory, isMountPoint: isMountPoint)
        let player = ScriptPlayer(path: path, system: recorder.system(isMountPoint ? path : nil))
        recorder.state.withLock { $0.player = player }
        // The player references the recorder, too.
        defer { recorder.state.withLock { $0.player = nil } }
        for (index, step) in script.steps.enumerated() {
            recorder.state.withLock { $0.context = "step \(index), \(step)" }
            try player.play(step)
            if step.isEdit { recorder.state.withLock { recorder.recordEdit(of: player.path, &$0) } }
            recorder.recordMoment(after: "return")
        }
        player.suite.finish()
        recorder.recordMoment(after: "finish")
        return try recorder.state.withLock { state in
            if let failure = state.failure { throw failure }
            return state.moments
        }
    }

    private init(_ directory: String, isMountPoint: Bool) throws {
        let cases = isMountPoint ? PowerLoss.ofOverwrittenFiles : PowerLoss.ofReplacedFiles
        state = try Mutex(State(disk: SimulatedDisk(root: directory), cases: cases))
    }

    private func system(_ mount: String?) -> SystemCalls {
        let fault: SystemCalls.Fault = { name, path in name == .rename && path == mount ? EBUSY : nil }
        return SystemCalls(
            fault: fault,
            witness: { [self] name, path in
                // Other threads may be in the middle of a call while the files are scanned.
                guard thread == SystemCalls.currentThread() else { return }
                if name == .sync { updateDisk { $0.synchronize(path) } }
                recordMoment(after: "\(name) \(path.split(separator: "/").last ?? "")")
            }
        )
    }

    private func updateDisk(_ body: (inout SimulatedDisk) throws -> Void) {
        state.withLock { state in
            do {
                try state.disk.scan()
                try body(&state.disk)
            } catch {
                state.failure = state.failure ?? error
            }
        }
    }

    private func recordMoment(after call: String) {
        updateDisk { _ in }
        state.withLock { state in
            guard let model = state.player?.model else { return }
            var moment = Moment(context: "\(state.context), after \(call)", model: model, afterKill: state.disk.now)
            for loss in state.cases {
                for _ in 0..<loss.draws {
                    moment.afterPowerLoss.append((loss, loss.image(of: state.disk, using: &state.generator)))
                }
            }
            state.moments.append(moment)
        }
    }

    /// Records that an editor has synchronized its edit.
    private func recordEdit(of path: String, _ state: inout State) {
        do {
            try state.disk.scan()
            state.disk.makeDurable(path)
        } catch {
            state.failure = state.failure ?? error
        }
    }
}
