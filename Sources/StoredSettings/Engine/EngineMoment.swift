// SPDX-License-Identifier: Apache-2.0

import Synchronization

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

    /// Reads the store and what readers see in place of its values, at one moment.
    func readMoment() -> Moment {
        while true {
            let version = pendingVersion.load(ordering: .acquiring)
            let stored = store.contents()
            let moment = state.withLock { state -> Moment? in
                // A pending write that has ended since is not in these contents, and is not pending either.
                guard pendingVersion.load(ordering: .relaxed) == version else { return nil }
                return Moment(stored: stored, pendingWrites: state.pendingWrites, held: state.held)
            }
            if let moment { return moment }
        }
    }

    /// The newest values of all keys, saved or pending.
    func contents() -> [String: StoredValue] {
        readingChecked { readMoment().visible }
    }

    /// The newest values of all keys, and those that are used instead because the others do not meet a requirement.
    func checkedContents() -> (assigned: [String: StoredValue], held: [String: StoredValue?]) {
        let moment = readingChecked { readMoment() }
        return (moment.assigned, moment.usedHeldValues)
    }

    /// The newest values of all keys, saved or pending, whether they meet the requirements or not.
    func uncheckedContents() -> [String: StoredValue] { readMoment().assigned }
}
