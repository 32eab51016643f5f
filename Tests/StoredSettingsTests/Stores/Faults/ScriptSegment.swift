// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import StoredSettings

/// A part of a script that starts with a suite that has read nothing, so it can be played without the previous parts.
struct ScriptSegment: Sendable {
    /// The indices of the steps, the last of which finishes the suite.
    var steps: Range<Int>
    var files: DiskImage
    var model: ScriptModel

    static func segments(of script: Script) async throws -> [ScriptSegment] {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let player = ScriptPlayer(path: directory + "/a/b/settings.json", system: SystemCalls())
            var disk = try SimulatedDisk(root: directory)
            var segments = [ScriptSegment(steps: 0..<0, files: disk.now, model: player.model)]
            for (index, step) in script.steps.enumerated() {
                try player.play(step)
                let start = segments[segments.count - 1].steps.lowerBound
                segments[segments.count - 1].steps = start..<index + 1
                guard step.isReopening, index + 1 < script.steps.count else { continue }
                try disk.scan()
                let files = disk.now
                segments.append(ScriptSegment(steps: index + 1..<index + 1, files: files, model: player.model))
            }
            player.suite.finish()
            return segments
        }
    }
}
