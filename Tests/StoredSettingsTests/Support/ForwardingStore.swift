// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// A store that leaves everything that it does not implement to one in memory.
protocol ForwardingStore: SettingsStore {
    var memory: InMemoryStore { get }
}

extension ForwardingStore {
    var persistence: SettingsPersistence { memory.persistence }
    func setObserver(_ observer: any StoreObserver) { memory.setObserver(observer) }
    var sharedVersion: StoreVersion? { nil }
    func contents() -> [String: StoredValue] { memory.contents() }
    func synchronize() throws {}

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        memory.withValue(forKey: key, body)
    }

    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try memory.commit(isBlind: isBlind, body)
    }
}

/// A store with a default of its own for every key.
final class FallbackStore: ForwardingStore {
    let memory: InMemoryStore
    private let value: StoredValue?

    init(_ values: [String: StoredValue], fallback value: StoredValue?) {
        memory = InMemoryStore(values)
        self.value = value
    }

    func fallback(forKey key: String) -> StoredValue? { value }
}
