// SPDX-License-Identifier: Apache-2.0

/// The changes of a renamed setting, merged from those of all keys under which its value may be stored.
///
/// A value that is moved from an old key to the new one is not a change.
final class MergedChanges: Sendable {
    private let keys: StoredKeys
    /// The stored values that are known, by key.
    private let known = Locked<[String: StoredValue?]>([:])

    init(_ keys: StoredKeys) {
        self.keys = keys
    }

    /// Returns the change that a commit makes for the setting; `nil` for none.
    func change(_ commit: StoreCommit) -> StoredValueChange? {
        known.withLock { known in
            let changes = commit.changes.filter { $0.key == keys.current || keys.old.contains($0.key) }
            guard !changes.isEmpty else { return nil }
            for change in changes where known[change.key] == nil { known[change.key] = .some(change.old) }
            let old = value(in: known)
            for change in changes { known[change.key] = .some(change.new) }
            return StoredValueChange(old: old, new: value(in: known), origin: commit.origin)
        }
    }

    /// Begins with the contents of the store after the subscription.
    ///
    /// - Returns: The stored value of the setting.
    func begin(with contents: [String: StoredValue]) -> StoredValue? {
        known.withLock { known in
            for key in keys.all where known[key] == nil { known[key] = .some(contents[key]) }
            return value(in: known)
        }
    }

    private func value(in known: [String: StoredValue?]) -> StoredValue? {
        keys.value { known[$0] ?? nil }
    }
}
