// SPDX-License-Identifier: Apache-2.0

extension SettingsEngine {
    /// The values of all keys at one moment.
    struct Moment: Sendable {
        /// The values in the store.
        let stored: [String: StoredValue]
        let pendingWrites: PendingWrites
        let held: HeldValues

        /// The values that readers see.
        var visible: [String: StoredValue] { pendingWrites.applied(to: held.applied(to: stored)) }

        /// The values that were assigned last, whether they meet the requirements or not.
        var assigned: [String: StoredValue] { pendingWrites.applied(to: stored) }

        /// The values that are used instead of stored ones that were checked.
        var usedHeldValues: [String: StoredValue?] {
            held.checked.filter { !pendingWrites.contains($0.key) }
        }
    }
}
