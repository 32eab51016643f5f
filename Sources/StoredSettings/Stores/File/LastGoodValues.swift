// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "An unusable value leaves the last good one in use".

/// Earlier values of keys whose stored values may be unusable.
///
/// The store does not know which values are usable. It remembers what an edit of the file has replaced, until the next read
/// shows whether the new value is usable, and the last good values that readers have found.
struct LastGoodValues {
    private struct Replacement {
        var value: StoredValue
        var earlier: StoredValue
    }

    /// What edits of the file have replaced.
    private var edits: [String: Replacement] = [:]
    /// The last good values that the next copy retains, with the unusable values that are stored.
    private var retained: [String: Replacement] = [:]

    /// The number of keys whose values are remembered.
    private static let maximumCount = 1_000

    /// Notes the values that an edit has replaced.
    mutating func noteEdits(_ changes: [StoreChange]) {
        for change in changes {
            if edits.count >= Self.maximumCount { edits.removeAll() }
            edits[change.key] = change.new.flatMap { new in change.old.map { Replacement(value: new, earlier: $0) } }
        }
    }

    /// Notes that a value was set or removed, so that earlier ones are no longer the last good ones.
    mutating func noteSet(_ key: String) {
        if !edits.isEmpty { edits[key] = nil }
        if !retained.isEmpty { retained[key] = nil }
    }

    /// Returns the value that an edit has replaced; `nil` when the stored value does not come from an edit.
    func earlier(forKey key: String, before value: StoredValue) -> StoredValue? {
        edits[key].flatMap { $0.value == value ? $0.earlier : nil }
    }

    /// Retains the last good value of a key while an unusable value is stored.
    mutating func retain(_ lastGood: StoredValue, insteadOf value: StoredValue, forKey key: String) {
        if retained.count >= Self.maximumCount { retained.removeAll() }
        retained[key] = Replacement(value: value, earlier: lastGood)
    }

    /// Returns the last good values of keys whose unusable values are still stored.
    func current(_ stored: (String) -> StoredValue?) -> [String: StoredValue] {
        retained.filter { stored($0.key) == $0.value.value }.mapValues(\.earlier)
    }
}

extension FileStore {
    func value(forKey key: String, replacedByEdit value: StoredValue) -> StoredValue? {
        peek { $0.settings.lastGood.earlier(forKey: key, before: value) }
    }

    func copiedLastGoodValue(forKey key: String) -> StoredValue? {
        // A value that was set or removed since the last checkpoint is newer than the copy.
        guard peek({ $0.journal.journaled[key] == nil }) else { return nil }
        do {
            return try lastGoodCopy.withLock { try file.readLastGoodValue(forKey: key, &$0) }
        } catch {
            // Then there is no earlier value on the disk. The unusable value is reported.
            return nil
        }
    }

    func retain(_ lastGood: StoredValue, insteadOf value: StoredValue, forKey key: String) {
        // In the copy, the value is nested one level deeper.
        guard lastGood.isNested(within: StoredValue.maximumDepth - 1) else { return }
        state.withLock { $0.settings.lastGood.retain(lastGood, insteadOf: value, forKey: key) }
    }
}
