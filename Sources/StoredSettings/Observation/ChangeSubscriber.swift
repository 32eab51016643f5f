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
        needsReading = commit.isLayered
    }

    /// The change after which a subscriber reads its settings again.
    init(readingAfter commit: StoreCommit) {
        self.init(old: nil, new: nil, origin: commit.origin)
        needsReading = true
    }

    var isEmpty: Bool { old == new && !needsReading }

    func followed(by later: StoredValueChange) -> StoredValueChange {
        var merged = StoredValueChange(old: old, new: later.new, origin: later.origin)
        merged.needsReading = needsReading || later.needsReading
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
        let pairs = commit.changes(in: group).lazy
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

extension StoreCommit {
    /// The changes, with those of the members of an object with the name of a group.
    fileprivate func changes(in group: SuiteGroup?) -> [StoreChange] {
        guard let group, let index = changes.firstIndex(where: { $0.key == group.name }), !isLayered else {
            return changes
        }
        let (old, new) = (changes[index].old, changes[index].new)
        func members(_ value: StoredValue?) -> [String: StoredValue] {
            if case .dictionary(let members)? = value { members } else { [:] }
        }
        let known = Set(changes.map(\.key))
        return changes
            + [StoreChange](from: members(old), to: members(new))
            .map { StoreChange(key: group.key($0.key), old: $0.old, new: $0.new) }
            .filter { !known.contains($0.key) }
    }
}

// MARK: - The subscribers of an engine

/// The subscribers of an engine, by key.
struct SubscriberTable {
    typealias ID = UInt64

    private var lastID: ID = 0
    private var byKey: [String: [ID: any ChangeSubscriber]] = [:]
    private var ofEveryKey: [ID: any ChangeSubscriber] = [:]
    private var keys: [ID: [String]] = [:]

    var count: Int { keys.count + ofEveryKey.count }

    var isEmpty: Bool { keys.isEmpty && ofEveryKey.isEmpty }

    /// Whether a change of a key has a subscriber.
    func concerns(_ key: String) -> Bool { !ofEveryKey.isEmpty || byKey[key] != nil }

    /// Adds a subscriber.
    ///
    /// - Parameters:
    ///   - subscriber: The subscriber. One of several keys is offered the whole commit if that changes any of them.
    ///   - names: The keys; `nil` for every key. A subscriber without keys has to learn the end alone, as one of every key does.
    /// - Returns: The identifier by which the subscriber is removed.
    mutating func insert(_ subscriber: some ChangeSubscriber, forKeys names: [String]? = nil) -> ID {
        lastID += 1
        guard let names, !names.isEmpty else {
            ofEveryKey[lastID] = subscriber
            return lastID
        }
        for name in names { byKey[name, default: [:]][lastID] = subscriber }
        keys[lastID] = names
        return lastID
    }

    mutating func remove(_ id: ID) -> (any ChangeSubscriber)? {
        guard let names = keys.removeValue(forKey: id) else { return ofEveryKey.removeValue(forKey: id) }
        var subscriber: (any ChangeSubscriber)?
        for name in names {
            subscriber = byKey[name]?.removeValue(forKey: id) ?? subscriber
            if byKey[name]?.isEmpty == true { byKey[name] = nil }
        }
        return subscriber
    }

    mutating func removeAll() -> [any ChangeSubscriber] {
        defer { (byKey, ofEveryKey, keys) = ([:], [:], [:]) }
        // A subscriber of several keys is in several tables.
        let ofSomeKeys = byKey.values.reduce(into: [:]) { all, some in all.merge(some) { first, _ in first } }
        return Array(ofSomeKeys.values) + Array(ofEveryKey.values)
    }

    /// Offers a commit to the subscribers of its keys, and returns those to wake.
    ///
    /// If `isQuiet`, the current task suppresses notifications.
    func offer(_ commit: StoreCommit, isQuiet: Bool = false) -> StoreDelivery {
        if isQuiet {
            for change in commit.changes {
                for subscriber in (byKey[change.key] ?? [:]).values { subscriber.skip(commit) }
            }
            let others = ofEveryKey.values.filter { $0.ignoresQuiet && !commit.changes.isEmpty && $0.offer(commit) }
            return StoreDelivery(subscribers: others, origin: commit.origin)
        }
        var subscribers: [any ChangeSubscriber] = []
        // Those of several keys that the commit was offered to.
        var offered: Set<ID> = []
        for change in commit.changes {
            guard let interested = byKey[change.key] else { continue }
            var part = StoreCommit(changes: [change], origin: commit.origin)
            part.isLayered = commit.isLayered
            for (id, subscriber) in interested {
                let isOfOneKey = commit.changes.count == 1 || keys[id]?.count == 1
                guard isOfOneKey || offered.insert(id).inserted else { continue }
                if subscriber.offer(isOfOneKey ? part : commit) { subscribers.append(subscriber) }
            }
        }
        if !commit.changes.isEmpty {
            subscribers += ofEveryKey.values.filter { $0.offer(commit) }
        }
        return StoreDelivery(subscribers: subscribers, origin: commit.origin)
    }
}

// MARK: - Renamed settings

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
            // A value under an old key is used instead of an unusable one, too.
            change.needsReading = commit.isLayered || changes.contains { $0.key != keys.current }
            return change
        }
    }

    /// Begins with the contents of the store after the subscription.
    ///
    /// A change that is known already is part of the contents, or newer.
    ///
    /// - Returns: The stored value of the setting.
    func begin(with contents: [String: StoredValue], of engine: SettingsEngine) -> StoredValue? {
        state.withLock { state in
            for key in keys.all where state.values[key] == nil {
                state.values[key] = .some(engine.value(ofKey: key, in: contents))
            }
            state.hasBegun = true
            return value(in: state)
        }
    }

    private func value(in state: State) -> StoredValue? {
        keys.value { state.values[$0] ?? nil }
    }
}
