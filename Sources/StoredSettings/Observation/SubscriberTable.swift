// SPDX-License-Identifier: Apache-2.0

/// The subscribers of an engine, by key.
struct SubscriberTable {
    typealias ID = UInt64

    private var lastID: ID = 0
    private var byKey: [String: [ID: any ChangeSubscriber]] = [:]
    private var ofEveryKey: [ID: any ChangeSubscriber] = [:]
    private var keys: [ID: [String]] = [:]
    /// The subscribers with several keys.
    private var ofSeveralKeys: Set<ID> = []

    var count: Int { keys.count + ofEveryKey.count }

    var isEmpty: Bool { keys.isEmpty && ofEveryKey.isEmpty }

    /// Whether a change of a key has a subscriber.
    func concerns(_ key: String) -> Bool { !ofEveryKey.isEmpty || byKey[key] != nil }

    mutating func insert(_ subscriber: some ChangeSubscriber, forKey key: String) -> ID {
        insert(subscriber, forKeys: [key])
    }

    /// Adds a subscriber.
    ///
    /// - Parameters:
    ///   - subscriber: The subscriber. One of several keys is offered the whole commit if that changes any of them.
    ///   - names: The keys; `nil` for every key.
    /// - Returns: The identifier by which the subscriber is removed.
    mutating func insert(_ subscriber: some ChangeSubscriber, forKeys names: [String]? = nil) -> ID {
        lastID += 1
        guard let names else {
            ofEveryKey[lastID] = subscriber
            return lastID
        }
        for name in names { byKey[name, default: [:]][lastID] = subscriber }
        keys[lastID] = names
        if names.count != 1 { ofSeveralKeys.insert(lastID) }
        return lastID
    }

    mutating func remove(_ id: ID) -> (any ChangeSubscriber)? {
        guard let names = keys.removeValue(forKey: id) else { return ofEveryKey.removeValue(forKey: id) }
        ofSeveralKeys.remove(id)
        var subscriber: (any ChangeSubscriber)?
        for name in names {
            subscriber = byKey[name]?.removeValue(forKey: id) ?? subscriber
            if byKey[name]?.isEmpty == true { byKey[name] = nil }
        }
        return subscriber
    }

    mutating func removeAll() -> [any ChangeSubscriber] {
        defer { (byKey, ofEveryKey, keys, ofSeveralKeys) = ([:], [:], [:], []) }
        // A subscriber of several keys is in several tables.
        let ofSomeKeys = byKey.values.reduce(into: [:]) { all, some in all.merge(some) { first, _ in first } }
        return Array(ofSomeKeys.values) + Array(ofEveryKey.values)
    }

    /// Offers a commit to the subscribers of its keys.
    ///
    /// - Parameters:
    ///   - commit: The commit.
    ///   - isQuiet: Whether the current task suppresses notifications.
    /// - Returns: The subscribers to wake.
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
                let isOfOneKey = ofSeveralKeys.isEmpty || !ofSeveralKeys.contains(id)
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
