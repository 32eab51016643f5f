// SPDX-License-Identifier: Apache-2.0

/// Who waits for which changes.
struct SinkTable {
    typealias ID = UInt64

    private var lastID: ID = 0
    private var byKey: [String: [ID: any ChangeSink]] = [:]
    private var ofAnyKey: [ID: any ChangeSink] = [:]
    private var keys: [ID: String] = [:]

    var count: Int { keys.count + ofAnyKey.count }

    mutating func insert(_ sink: some ChangeSink, forKey key: String) -> ID {
        lastID += 1
        byKey[key, default: [:]][lastID] = sink
        keys[lastID] = key
        return lastID
    }

    mutating func insert(_ sink: some ChangeSink) -> ID {
        lastID += 1
        ofAnyKey[lastID] = sink
        return lastID
    }

    mutating func remove(_ id: ID) -> (any ChangeSink)? {
        guard let key = keys.removeValue(forKey: id) else { return ofAnyKey.removeValue(forKey: id) }
        let sink = byKey[key]?.removeValue(forKey: id)
        if byKey[key]?.isEmpty == true { byKey[key] = nil }
        return sink
    }

    mutating func removeAll() -> [any ChangeSink] {
        defer { (byKey, ofAnyKey, keys) = ([:], [:], [:]) }
        return byKey.values.flatMap(\.values) + Array(ofAnyKey.values)
    }

    /// Offers a commit to those it concerns.
    ///
    /// - Returns: The sinks to wake.
    func offer(_ commit: StoreCommit) -> StoreDelivery {
        var sinks: [any ChangeSink] = []
        for change in commit.changes {
            guard let interested = byKey[change.key] else { continue }
            let part = StoreCommit(changes: [change], origin: commit.origin)
            sinks += interested.values.filter { $0.offer(part) }
        }
        if !commit.changes.isEmpty {
            sinks += ofAnyKey.values.filter { $0.offer(commit) }
        }
        return StoreDelivery(sinks: sinks, origin: commit.origin)
    }
}
