// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension UserDefaultsStore {
    /// Detects an external change of one key.
    ///
    /// - Returns: The delivery to perform after the lock is released.
    func detectChanges(at key: String, _ state: inout State) -> StoreDelivery {
        guard state.hasDetectedChanges else { return detectChanges(&state) }
        guard !state.isWriting else { return .none }
        let value = domain.value(forKey: key)
        if value == state.seen[key], domain.value(forKey: ExactForms.key) == state.exactText { return .none }
        let delivery = detectChanges(&state)
        // The key may come from a domain that is not part of the merged values.
        state.seen[key] = value
        return delivery
    }

    /// Detects external changes of all keys.
    ///
    /// - Returns: The delivery to perform after the lock is released.
    func detectChanges(_ state: inout State) -> StoreDelivery {
        guard !state.isWriting else { return .none }
        let isFirst = !state.hasDetectedChanges
        let merged = domain.merged()
        state.hasDetectedChanges = true
        state.seen = merged
        updateExactForms(merged[ExactForms.key], &state)
        let stored = state.exact.resolved(persistent(merged, knowing: state.stored))
        let changes = [StoreChange](from: state.stored, to: stored)
        guard !changes.isEmpty else { return .none }
        state.stored = stored
        // The values found by the first look are not changes.
        guard !isFirst else { return .none }
        return state.observer?.record(StoreCommit(changes: changes, origin: .external)) ?? .none
    }

    private func updateExactForms(_ text: StoredValue?, _ state: inout State) {
        guard text != state.exactText else { return }
        state.exactText = text
        state.exact = ExactForms(propertyList: text)
    }

    /// The values that are stored, not only registered.
    ///
    /// A stored value that equals the registered value cannot be distinguished from it. It counts as stored only if it
    /// did before. Either way, a read returns it.
    private func persistent(
        _ merged: [String: StoredValue],
        knowing stored: [String: StoredValue]
    ) -> [String: StoredValue] {
        let registered = domain.registered()
        guard !registered.isEmpty else { return merged }
        return merged.filter { key, value in
            registered[key] != value || stored[key].flatMap { ExactForms.native(of: $0, forKey: key) } == value
        }
    }
}
