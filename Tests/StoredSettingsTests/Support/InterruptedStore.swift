// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

/// A store of one key whose changes fail on request, and which another process changes when a commit ends.
final class InterruptedStore: SettingsStore {
    private struct State {
        var value: StoredValue?
        var failure: SettingsError?
        var interruption: StoredValue?
        weak var observer: (any StoreObserver)?
    }

    private let key = "port"
    private let state = Mutex(State())

    func fail(with error: SettingsError?) {
        state.withLock { $0.failure = error }
    }

    func interruptNextCommit(with value: StoredValue) {
        state.withLock { $0.interruption = value }
    }

    func storeFromOutside(_ value: StoredValue) {
        change(to: value, origin: .external)
    }

    private func change(to value: StoredValue?, origin: SettingChangeOrigin) {
        let delivery = state.withLock { state -> StoreDelivery in
            let change = StoreChange(key: key, old: state.value, new: value)
            let changes = change.old == change.new ? [] : [change]
            guard origin == .local || !changes.isEmpty else { return .none }
            state.value = value
            return state.observer?.record(StoreCommit(changes: changes, origin: origin)) ?? .none
        }
        delivery.perform()
    }

    var persistence: SettingsPersistence { .ephemeral(reason: "the store belongs to a test") }
    func setObserver(_ observer: any StoreObserver) { state.withLock { $0.observer = observer } }
    func contents() -> [String: StoredValue] { state.withLock { state in state.value.map { [key: $0] } ?? [:] } }
    func synchronize() {}

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        state.withLock { body(key == self.key ? $0.value : nil) }
    }

    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        var transaction = StoreTransaction(base: contents())
        let result = try body(&transaction)
        change(to: transaction[key], origin: .local)
        let interruption = state.withLock { state in
            defer { state.interruption = nil }
            return state.interruption
        }
        if let interruption { storeFromOutside(interruption) }
        return result
    }
}
