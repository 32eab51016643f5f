// SPDX-License-Identifier: Apache-2.0

/// The subscribers of an engine, by key.
struct SubscriberTable {
    typealias ID = UInt64

    private var lastID: ID = 0
    private var byKey: [String: [ID: any ChangeSubscriber]] = [:]
    private var ofEveryKey: [ID: any ChangeSubscriber] = [:]
    private var keys: [ID: String] = [:]

    var count: Int { keys.count + ofEveryKey.count }

    var isEmpty: Bool { keys.isEmpty && ofEveryKey.isEmpty }

    mutating func insert(_ subscriber: some ChangeSubscriber, forKey key: String) -> ID {
        lastID += 1
        byKey[key, default: [:]][lastID] = subscriber
        keys[lastID] = key
        return lastID
    }

    mutating func insert(_ subscriber: some ChangeSubscriber) -> ID {
        lastID += 1
        ofEveryKey[lastID] = subscriber
        return lastID
    }

    mutating func remove(_ id: ID) -> (any ChangeSubscriber)? {
        guard let key = keys.removeValue(forKey: id) else { return ofEveryKey.removeValue(forKey: id) }
        let subscriber = byKey[key]?.removeValue(forKey: id)
        if byKey[key]?.isEmpty == true { byKey[key] = nil }
        return subscriber
    }

    mutating func removeAll() -> [any ChangeSubscriber] {
        defer { (byKey, ofEveryKey, keys) = ([:], [:], [:]) }
        return byKey.values.flatMap(\.values) + Array(ofEveryKey.values)
    }

    /// Offers a commit to the subscribers of its keys.
    ///
    /// - Returns: The subscribers to wake.
    func offer(_ commit: StoreCommit) -> StoreDelivery {
        var subscribers: [any ChangeSubscriber] = []
        for change in commit.changes {
            guard let interested = byKey[change.key] else { continue }
            let part = StoreCommit(changes: [change], origin: commit.origin)
            subscribers += interested.values.filter { $0.offer(part) }
        }
        if !commit.changes.isEmpty {
            subscribers += ofEveryKey.values.filter { $0.offer(commit) }
        }
        return StoreDelivery(subscribers: subscribers, origin: commit.origin)
    }
}
