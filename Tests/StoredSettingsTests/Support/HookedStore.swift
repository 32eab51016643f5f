// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

/// A store that runs a closure once, when all values were read and before they are returned.
final class HookedStore: SettingsStore {
    let memory = FailingStore()
    let afterContents = Mutex<(@Sendable () -> Void)?>(nil)

    var persistence: SettingsPersistence { memory.persistence }
    func setObserver(_ observer: any StoreObserver) { memory.setObserver(observer) }
    func version() -> UInt64 { memory.version() }
    func synchronize() throws { try memory.synchronize() }

    func contents() -> [String: StoredValue] {
        let contents = memory.contents()
        let hook = afterContents.withLock { hook in
            defer { hook = nil }
            return hook
        }
        hook?()
        return contents
    }

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        memory.withValue(forKey: key, body)
    }

    func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try memory.commit(body)
    }
}
