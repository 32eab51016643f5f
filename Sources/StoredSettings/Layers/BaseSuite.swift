// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Layers.md, "A suite can be a source".

/// The stored values of a suite that is a layer of another one.
///
/// They follow from the commits of the suite's store, in order. So they never go backwards, and no call of the store is needed
/// to use them.
final class BaseSuite: ChangeSubscriber {
    private struct State {
        /// The values; `nil` until they are read first.
        var contents: [String: StoredValue]?
        /// The values of commits before that.
        var early: [String: StoredValue?] = [:]
        var subscription: SettingsEngine.SubscriberID?
    }

    let suite: SettingsSuite
    private let state = Locked(State())
    private let changed: @Sendable (SettingChangeOrigin) -> Void

    /// - Parameters:
    ///   - suite: The suite, or a group of one.
    ///   - changed: Is called after a change, without a lock.
    init(_ suite: SettingsSuite, changed: @escaping @Sendable (SettingChangeOrigin) -> Void) {
        (self.suite, self.changed) = (suite, changed)
    }

    /// The newest values, with the keys of the suite or of the group.
    var contents: [String: StoredValue] { state.withLock { $0.contents ?? [:] } }

    var ignoresQuiet: Bool { true }

    /// Reads the values, and receives their changes from now on, unless that was done before.
    ///
    /// The caller holds no lock, because opening the store can report errors.
    func open() {
        guard state.withLock({ $0.contents == nil }) else { return }
        let subscription = suite.engine.addFollower(self)
        let initial = relative(suite.engine.contents())
        let isFirst = state.withLock { state in
            guard state.contents == nil else { return false }
            // A later commit than the one that was read is not overwritten.
            state.contents = state.early.reduce(into: initial) { $0[$1.key] = $1.value }
            (state.early, state.subscription) = ([:], subscription)
            return true
        }
        // Another thread has opened the suite meanwhile.
        if !isFirst { suite.engine.removeSubscriber(subscription) }
    }

    /// Makes the store notice changes of other processes.
    func watch() {
        suite.engine.store.watch()
    }

    /// Makes the store look for changes of other processes now.
    ///
    /// The caller holds no lock.
    func refresh() {
        _ = suite.engine.store.value(forKey: "")
    }

    /// Receives no more changes.
    func close() {
        let subscription = state.withLock { state in
            defer { state.subscription = nil }
            return state.subscription
        }
        if let subscription { suite.engine.removeSubscriber(subscription) }
    }

    func offer(_ commit: StoreCommit) -> Bool {
        // The layers of the suite itself are not layers of the other one.
        guard !commit.isLayered else { return false }
        let changes = commit.changes.compactMap { change in key(change.key).map { ($0, change.new) } }
        state.withLock { state in
            for (key, value) in changes {
                if state.contents == nil {
                    state.early.updateValue(value, forKey: key)
                } else {
                    state.contents?[key] = value
                }
            }
        }
        return !changes.isEmpty
    }

    func wake(_ origin: SettingChangeOrigin) { changed(origin) }

    func finish() {}

    /// Returns the key in the group; `nil` for a key of another one.
    private func key(_ key: String) -> String? {
        guard let group = suite.group else { return key }
        return group.relative(key)
    }

    private func relative(_ contents: [String: StoredValue]) -> [String: StoredValue] {
        guard suite.group != nil else { return contents }
        let pairs = contents.compactMap { key, value in self.key(key).map { ($0, value) } }
        return Dictionary(pairs) { first, _ in first }
    }
}
