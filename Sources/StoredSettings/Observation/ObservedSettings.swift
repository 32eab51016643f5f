// SPDX-License-Identifier: Apache-2.0

import Observation
import Synchronization

/// What Observation knows the settings of a store by: one object, with a part for each key.
///
/// Who reads a setting accesses its part; who tracks that hears of the next change of that key, and of no other. Nothing
/// is kept of keys, so endlessly many may be read.
final class ObservedSettings: Observable, Sendable {
    typealias Part = any KeyPath<ObservedSettings, Void> & Sendable

    private let registrar = ObservationRegistrar()
    /// The keys whose changes are still to be told.
    private let pending = Locked<Set<String>>([])

    /// Names a part; it holds nothing.
    private subscript(key: String) -> Void { () }

    static func part(_ key: String) -> Part { \ObservedSettings[key] }

    func access(_ part: Part) {
        registrar.access(self, keyPath: part)
    }

    func deliverAll() {
        let keys = pending.withLock { keys in
            defer { keys = [] }
            return keys
        }
        for key in keys {
            registrar.withMutation(of: self, keyPath: Self.part(key)) {}
        }
    }
}

extension ObservedSettings: CallbackReceiver {
    func offer(_ commit: StoreCommit) -> Bool {
        pending.withLock { keys in
            for change in commit.changes { keys.insert(change.key) }
        }
        return true
    }

    func finish() {}
}

extension SettingsEngine {
    /// Notes that a setting is read, for whoever may track it.
    func access(_ part: ObservedSettings.Part) {
        if !isObserved.load(ordering: .acquiring) { beginDelivery() }
        observed.access(part)
    }

    /// Sees to it that whoever tracks hears of every change after the next read.
    private func beginDelivery() {
        // Not for the library's own stores, which watch for themselves soon after the first read: so reading makes no
        // directory.
        if versionStamp == nil { store.watch() }
        withValue(forKey: "") { _, state in
            guard !self.isObserved.load(ordering: .relaxed) else { return }
            _ = state.subscribers.insert(self.observed)
            self.isObserved.store(true, ordering: .releasing)
        }
    }
}
