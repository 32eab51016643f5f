// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "Lifetime ties are checked before each call".

import Synchronization

/// A weak reference to an object with which an observation ends.
///
/// Unchecked: the variable is set once, and is a variable only because it is weak. The object is never used.
final class LifetimeTie: @unchecked Sendable {
    private(set) weak var object: AnyObject?

    init(_ object: AnyObject) {
        self.object = object
    }
}

/// The observations that are tied to an object.
///
/// They are owned here until the object no longer exists.
///
/// The check whether an object exists may hold its last reference for a moment. The end of the object runs user code, so the
/// check happens under no lock.
final class LifetimeTies: Sendable {
    static let shared = LifetimeTies()

    private struct Entry {
        let observation: SettingObservation
        let tie: LifetimeTie
    }

    private struct Table {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// The number of entries at which ``sweep()`` is due.
        var limit = leastLimit
    }

    static let leastLimit = 64

    private let table = Locked(Table())

    /// Owns an observation, and replaces its earlier tie.
    func add(_ observation: SettingObservation, _ tie: LifetimeTie) {
        let (old, isSweepDue) = table.withLock { table in
            let old = table.entries.updateValue(
                Entry(observation: observation, tie: tie),
                forKey: ObjectIdentifier(observation)
            )
            return (old, table.entries.count > table.limit)
        }
        _ = consume old
        if isSweepDue { sweep() }
    }

    /// Releases an observation.
    ///
    /// - Returns: Its tie; `nil` if it had none.
    @discardableResult
    func remove(_ observation: SettingObservation) -> LifetimeTie? {
        let entry = table.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(observation)) }
        return entry?.tie
    }

    /// Ends all observations whose object no longer exists.
    func sweep() {
        let entries = table.withLock { $0.entries }
        for entry in entries.values where entry.tie.object == nil {
            if remove(entry) { entry.observation.invalidate() }
        }
        table.withLock { $0.limit = max(Self.leastLimit, 2 * $0.entries.count) }
    }

    /// - Returns: Whether the entry was still there: another tie may have replaced it.
    private func remove(_ entry: Entry) -> Bool {
        table.withLock { table in
            let id = ObjectIdentifier(entry.observation)
            guard table.entries[id]?.tie === entry.tie else { return false }
            table.entries[id] = nil
            return true
        }
    }

    /// The number of observations.
    var count: Int { table.withLock { $0.entries.count } }
}
