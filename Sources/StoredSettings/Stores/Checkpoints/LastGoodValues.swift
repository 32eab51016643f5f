// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "An unusable value leaves the last good one in use".

/// Earlier values of keys whose stored values may be unusable.
///
/// The store does not know which values are usable. It remembers what edits of the file and other processes have replaced, until
/// a read shows whether the new value is usable, and the last good values that readers have found.
struct LastGoodValues {
    /// The values that a key had before the current one, as far as they are known.
    struct History: Equatable {
        /// Newest first.
        var values: [StoredValue]
        /// Whether the key had no value before these, so that no other earlier value is a good one.
        var isComplete: Bool
    }

    /// The last change of a key.
    private struct Change {
        /// The value after it; `nil` if it was removed.
        private(set) var value: StoredValue?
        /// The values before it, oldest first.
        private var earlier: [StoredValue] = []
        private var isComplete = true

        init(to value: StoredValue?) {
            self.value = value
        }

        var history: History { History(values: earlier.reversed(), isComplete: isComplete) }

        mutating func note(_ old: StoredValue, replacedBy new: StoredValue?) {
            if value != old {
                earlier.removeAll(keepingCapacity: true)
                isComplete = false
            }
            if earlier.count == LastGoodValues.maximumHistory { earlier.removeFirst() }
            earlier.append(old)
            value = new
        }
    }

    private struct Retained {
        var lastGood: StoredValue
        /// The unusable value that is stored.
        var unusable: StoredValue
    }

    /// The changes of the keys that edits of the file, other processes and removals have changed.
    private var changes: [String: Change] = [:]
    /// The last good values that the next copy retains.
    private var retained: [String: Retained] = [:]
    /// The keys whose new values may be unusable, until the settings of this process have examined them; `nil` for all keys.
    private var unexamined: Set<String>?

    /// The number of keys whose values are remembered.
    private static let maximumCount = 1_000
    /// The number of earlier values of one key that are remembered.
    private static let maximumHistory = 4

    /// Notes changes after which a key may have an unusable value.
    mutating func note(_ changes: [StoreChange]) {
        for change in changes { note(change) }
    }

    private mutating func note(_ change: StoreChange) {
        if !retained.isEmpty { retained[change.key] = nil }
        if changes.count >= Self.maximumCount, changes[change.key] == nil {
            changes.removeAll()
            unexamined = nil
        }
        if change.new != nil { unexamined?.insert(change.key) }
        if let old = change.old {
            changes[change.key, default: Change(to: nil)].note(old, replacedBy: change.new)
        } else {
            changes[change.key] = Change(to: change.new)
        }
    }

    /// Notes that this process has set or removed a value.
    ///
    /// A value that it sets is usable by the setting that sets it. So this is fast while nothing is known about the key.
    @inline(__always)
    mutating func noteOwn(_ key: String, from old: StoredValue?, to new: StoredValue?) {
        guard new == nil || !changes.isEmpty || !retained.isEmpty else { return }
        noteOwnIfKnown(key, from: old, to: new)
    }

    private mutating func noteOwnIfKnown(_ key: String, from old: StoredValue?, to new: StoredValue?) {
        if new == nil || changes[key] != nil {
            note(StoreChange(key: key, old: old, new: new))
        } else if !retained.isEmpty {
            retained[key] = nil
        }
    }

    /// Forgets the earlier values of keys that have changed in an unknown way.
    mutating func forget(_ keys: some Sequence<String>) {
        for key in keys { (changes[key], retained[key]) = (nil, nil) }
    }

    /// Returns the values that a key had before a value; `nil` if they are unknown.
    func history(ofKey key: String, before value: StoredValue) -> History? {
        changes[key].flatMap { $0.value == value ? $0.history : nil }
    }

    /// Retains the last good value of a key while an unusable value is stored.
    mutating func retain(_ lastGood: StoredValue, insteadOf value: StoredValue, forKey key: String) {
        if retained.count >= Self.maximumCount { retained.removeAll() }
        retained[key] = Retained(lastGood: lastGood, unusable: value)
    }

    /// Returns the keys whose values have changed since the last call, and may be unusable; `nil` for all keys.
    mutating func takeUnexamined() -> Set<String>? {
        defer { unexamined = [] }
        return unexamined
    }

    /// Returns the last good values of keys whose unusable values are still stored.
    func current(_ stored: (String) -> StoredValue?) -> [String: StoredValue] {
        retained.filter { stored($0.key) == $0.value.unusable }.mapValues(\.lastGood)
    }
}

extension FileStore {
    func history(ofKey key: String, before value: StoredValue) -> LastGoodValues.History? {
        peek { $0.settings.lastGood.history(ofKey: key, before: value) }
    }

    func copiedValues() -> CopiedValues? {
        let newer = peek { Set($0.journal.journaled.keys) }
        do {
            return try lastGoodCopy.withLock { known in
                try file.readLastGood(&known)
                return known.map { CopiedValues(contents: $0.contents, lastGood: $0.lastGood, newer: newer) }
            }
        } catch {
            // Then there is no earlier value on the disk. The unusable value is reported.
            return nil
        }
    }

    /// Finds the last good values of keys that others have changed, before a checkpoint replaces the copy that has them.
    ///
    /// Settings that were not read since do not know yet that a value is unusable. The caller holds no lock.
    func findLastGoodValues() {
        let (keys, observer) = state.withLock { ($0.settings.lastGood.takeUnexamined(), $0.observer) }
        guard keys?.isEmpty != true else { return }
        (observer as? any LastGoodObserver)?.findLastGoodValues(ofKeys: keys)
    }

    func retain(_ lastGood: StoredValue, insteadOf value: StoredValue, forKey key: String) {
        // In the copy, the value is nested one level deeper.
        guard lastGood.isNested(within: StoredValue.maximumDepth - 1) else { return }
        state.withLock { $0.settings.lastGood.retain(lastGood, insteadOf: value, forKey: key) }
    }
}
