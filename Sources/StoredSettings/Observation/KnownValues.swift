// SPDX-License-Identifier: Apache-2.0

/// The stored values of a renamed setting under all of its keys, as one subscriber knows them.
///
/// A value that is moved from an old key to the new one is not a change. The values follow the commits in their order, so that a
/// change is never completed with a value that was stored later.
final class KnownValues: Sendable {
    private struct State {
        var values: [String: StoredValue?] = [:]
        var hasBegun = false
    }

    private let keys: StoredKeys
    private let state = Locked(State())

    init(_ keys: StoredKeys) {
        self.keys = keys
    }

    /// Returns the change that a commit makes for the setting; `nil` for none, and before ``begin(with:)``.
    func change(_ commit: StoreCommit) -> StoredValueChange? {
        state.withLock { state in
            let changes = commit.changes.filter { $0.key == keys.current || keys.old.contains($0.key) }
            guard !changes.isEmpty else { return nil }
            let old = value(in: state)
            for change in changes { state.values[change.key] = .some(change.new) }
            guard state.hasBegun else { return nil }
            var change = StoredValueChange(old: old, new: value(in: state), origin: commit.origin)
            change.isLayered = commit.isLayered
            return change
        }
    }

    /// Returns the change of the setting that follows from new values of some keys; `nil` if none of them belongs to it.
    func change(_ new: [String: StoredValue?], _ origin: SettingChangeOrigin) -> StoredValueChange? {
        state.withLock { state in
            let own = keys.all.filter { new[$0] != nil }
            guard !own.isEmpty else { return nil }
            let old = value(in: state)
            for key in own { state.values[key] = new[key] }
            return StoredValueChange(old: old, new: value(in: state), origin: origin)
        }
    }

    /// Begins with the contents of the store after the subscription.
    ///
    /// A change that is known already is part of the contents, or newer.
    ///
    /// - Returns: The stored value of the setting.
    @discardableResult
    func begin(with contents: [String: StoredValue]) -> StoredValue? {
        state.withLock { state in
            for key in keys.all where state.values[key] == nil { state.values[key] = .some(contents[key]) }
            state.hasBegun = true
            return value(in: state)
        }
    }

    private func value(in state: State) -> StoredValue? {
        keys.value { state.values[$0] ?? nil }
    }
}
