// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension UserDefaultsStore {
    /// Sees whether somebody has changed the value under a key.
    ///
    /// - Returns: What is to be done after the lock.
    func look(at key: String, _ state: inout State) -> StoreDelivery {
        guard state.hasLooked else { return look(&state) }
        guard !state.isWriting else { return .none }
        let value = domain.value(forKey: key)
        if value == state.seen[key], domain.value(forKey: ExactForms.key) == state.exactText { return .none }
        let delivery = look(&state)
        // It may be from a domain whose values are not among all values.
        state.seen[key] = value
        return delivery
    }

    /// Sees what somebody has changed.
    ///
    /// - Returns: What is to be done after the lock.
    func look(_ state: inout State) -> StoreDelivery {
        guard !state.isWriting else { return .none }
        let isFirst = !state.hasLooked
        let merged = domain.merged()
        state.hasLooked = true
        state.seen = merged
        noteExactForms(merged[ExactForms.key], &state)
        let stored = state.exact.resolved(persistent(merged, knowing: state.stored))
        let changes = [StoreChange](from: state.stored, to: stored)
        guard !changes.isEmpty else { return .none }
        state.stored = stored
        state.version &+= 1
        // What was there before anybody looked has not changed.
        guard !isFirst else { return .none }
        return state.observer?.record(StoreCommit(changes: changes, origin: .external)) ?? .none
    }

    private func noteExactForms(_ text: StoredValue?, _ state: inout State) {
        guard text != state.exactText else { return }
        state.exactText = text
        state.exact = ExactForms(propertyList: text)
    }

    /// The values that are stored and not just registered.
    ///
    /// A stored value that equals the registered one cannot be told from it. It counts as stored only when it did so before;
    /// either way it is the value that is read.
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
