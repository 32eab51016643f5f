// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An object of the user's, as long as which an observation lives.
///
/// Unchecked: the variable is set once, and is a variable only since it is weak. The object is never used, only asked
/// whether it is still there.
final class LifetimeTie: @unchecked Sendable {
    private(set) weak var object: AnyObject?

    init(_ object: AnyObject) {
        self.object = object
    }
}

/// The observations that are tied to an object, and are kept here until it is gone.
///
/// Whether an object is gone is found out by looking, under no lock: who looks may hold the last reference for a moment,
/// and what ends then is the user's.
final class LifetimeTies: Sendable {
    static let shared = LifetimeTies()

    private struct Entry {
        let observation: SettingObservation
        let tie: LifetimeTie
    }

    private struct Table {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// The number of entries at which those whose object is gone are looked for.
        var limit = leastLimit
    }

    static let leastLimit = 64

    private let table = Locked(Table())

    /// Keeps an observation, in place of an earlier tie of it.
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

    /// Keeps an observation no longer.
    ///
    /// - Returns: Its tie; `nil` if it had none.
    @discardableResult
    func remove(_ observation: SettingObservation) -> LifetimeTie? {
        let entry = table.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(observation)) }
        return entry?.tie
    }

    /// Ends all observations whose object is gone.
    func sweep() {
        let entries = table.withLock { $0.entries }
        for entry in entries.values where entry.tie.object == nil {
            if remove(entry) { entry.observation.invalidate() }
        }
        table.withLock { $0.limit = max(Self.leastLimit, 2 * $0.entries.count) }
    }

    /// - Returns: Whether the entry was there still: another tie may have taken its place.
    private func remove(_ entry: Entry) -> Bool {
        table.withLock { table in
            let id = ObjectIdentifier(entry.observation)
            guard table.entries[id]?.tie === entry.tie else { return false }
            table.entries[id] = nil
            return true
        }
    }

    /// How many observations are kept.
    var count: Int { table.withLock { $0.entries.count } }
}
