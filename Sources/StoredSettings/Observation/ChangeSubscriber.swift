// SPDX-License-Identifier: Apache-2.0

/// A receiver of changes: a stream or an observation.
///
/// A change reaches a subscriber in two steps, so that changes arrive in the order of the commits and no subscriber runs
/// under a lock. ``offer(_:)`` stores the change, under the store's lock. ``DeliveryReceiver/wake(_:)`` acts on it, under no lock.
protocol ChangeSubscriber: DeliveryReceiver {
    /// Stores the changes of a commit, merged with those that are still pending.
    ///
    /// - Returns: Whether to call ``wake(_:)`` after the locks are released.
    func offer(_ commit: StoreCommit) -> Bool

    /// Receives a commit whose changes are not propagated, so that the values that it knows remain those of the store.
    func skip(_ commit: StoreCommit)

    /// Ends the subscription: no change follows.
    func finish()

    /// Whether it receives changes that the current task does not propagate to streams and observers.
    var ignoresQuiet: Bool { get }
}

extension ChangeSubscriber {
    var ignoresQuiet: Bool { false }

    func skip(_ commit: StoreCommit) {}
}

/// A subscriber that runs user code when it is woken.
protocol CallbackReceiver: ChangeSubscriber {
    /// Calls the user's code for the pending change.
    func deliverAll()
}

extension CallbackReceiver {
    func wake(_ origin: SettingChangeOrigin) {
        switch origin {
        case .local where !WorkScheduler.isDurable:
            deliverAll()
        case .local, .external:
            // The thread that found the change only wanted to read, or works for all suites.
            WorkScheduler.shared.soon { self.deliverAll() }
        }
    }
}

/// A change that can be merged with the next one, so that a slow subscriber receives one change and memory is bounded.
protocol CoalescingChange: Sendable {
    /// This change followed by a later one, as one change.
    func followed(by later: Self) -> Self

    /// Whether there is no difference between the values before and after.
    var isEmpty: Bool { get }
}

extension CoalescingChange {
    /// Merges a change with those that are still pending.
    ///
    /// - Returns: The pending change; `nil` when the later change undoes the earlier one.
    static func merging(_ earlier: Self?, with later: Self) -> Self? {
        let merged = earlier?.followed(by: later) ?? later
        return merged.isEmpty ? nil : merged
    }
}

/// A change of what is stored under one key.
typealias StoredValueChange = SettingChange<StoredValue?>

extension StoredValueChange: CoalescingChange {
    /// The change that a commit makes to the only key of a subscriber.
    init?(of commit: StoreCommit) {
        guard let change = commit.changes.first else { return nil }
        self.init(change, of: commit)
    }

    init(_ change: StoreChange, of commit: StoreCommit) {
        self.init(old: change.old, new: change.new, origin: commit.origin)
        isLayered = commit.isLayered
    }

    var isEmpty: Bool { old == new && !isLayered }

    func followed(by later: StoredValueChange) -> StoredValueChange {
        var merged = StoredValueChange(old: old, new: later.new, origin: later.origin)
        merged.isLayered = isLayered || later.isLayered
        return merged
    }
}

extension SettingsSuite.Change: CoalescingChange {
    /// - Parameters:
    ///   - commit: The commit.
    ///   - keys: The keys whose changes it contains; `nil` for all.
    ///   - group: The group whose keys they are, which have no prefix in the change; `nil` for the whole suite.
    ///   - includesLayers: Whether it contains changes of layers.
    init(_ commit: StoreCommit, keys: Set<String>?, in group: SuiteGroup? = nil, includesLayers: Bool = false) {
        let pairs = commit.changes.lazy
            .filter { (keys?.contains($0.key) ?? true) && (includesLayers || !commit.isLayered) }
            .compactMap { change -> (String, StoredValueChange)? in
                guard let key = group.map({ $0.relative(change.key) }) ?? change.key else { return nil }
                return (key, StoredValueChange(change, of: commit))
            }
        // A store that lists a key twice violates its contract, which must not trap.
        self.init(changes: Dictionary(pairs) { _, later in later }, origin: commit.origin)
    }

    var isEmpty: Bool { changes.isEmpty }

    func followed(by later: SettingsSuite.Change) -> SettingsSuite.Change {
        var merged = changes
        for (key, change) in later.changes {
            let both = merged[key]?.followed(by: change) ?? change
            merged[key] = both.isEmpty ? nil : both
        }
        return SettingsSuite.Change(changes: merged, origin: later.origin)
    }
}
