// SPDX-License-Identifier: Apache-2.0

@testable import StoredSettings

extension CheckpointSchedule {
    /// Postpones checkpoints in the background by a minute, as after several failures.
    func backOff() {
        for _ in 0..<10 { _ = noteFailure(SettingsError(.writeFailed, fact: "the disk is full")) }
    }
}
