// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

/// A store in memory that takes no changes while it is told so.
final class FailingStore: SettingsStore {
    private let memory: InMemoryStore
    private let failure = Mutex<SettingsError?>(nil)

    init(_ values: [String: StoredValue] = [:]) {
        memory = InMemoryStore(values)
    }

    private let refused = Mutex<(key: String, exception: StoredValue?)?>(nil)

    /// Refuses every value under a key from now on, for good, except one.
    func refuse(_ key: String, except value: StoredValue? = nil) { refused.withLock { $0 = (key, value) } }

    private let synchronizingFailure = Mutex<SettingsError?>(nil)

    /// Makes `synchronize()` fail while there is an error.
    func failSynchronizing(with error: SettingsError?) { synchronizingFailure.withLock { $0 = error } }

    private let closings = Mutex(0)

    /// How often the store has been closed.
    var closingCount: Int { closings.withLock { $0 } }

    func close() { closings.withLock { $0 += 1 } }

    func fail(with error: SettingsError?) {
        failure.withLock { $0 = error }
    }

    var persistence: SettingsPersistence { memory.persistence }
    func setObserver(_ observer: any StoreObserver) { memory.setObserver(observer) }
    func version() -> UInt64 { memory.version() }
    func contents() -> [String: StoredValue] { memory.contents() }
    func synchronize() throws {
        if let error = synchronizingFailure.withLock({ $0 }) { throw error }
    }

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        memory.withValue(forKey: key, body)
    }

    func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        if let error = failure.withLock({ $0 }) { throw error }
        return try memory.commit { transaction in
            let result = try body(&transaction)
            if let refused = refused.withLock({ $0 }), transaction[refused.key] != refused.exception {
                throw SettingsError.unstorable("the store has no form for the value")
            }
            return result
        }
    }
}
