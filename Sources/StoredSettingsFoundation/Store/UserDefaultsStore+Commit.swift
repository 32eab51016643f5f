// SPDX-License-Identifier: Apache-2.0

public import StoredSettings
import Synchronization

extension UserDefaultsStore {
    /// Held while a commit runs, of whichever store: two may be over one domain.
    private static let writer = Mutex<Void>(())

    /// Runs a body alone among all writers of this process, on the newest contents, and keeps the changes it makes.
    ///
    /// Other processes are not kept out, as Foundation has no lock. What they have written is taken up before the body runs.
    public func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        var deliveries: [StoreDelivery] = []
        defer { for delivery in deliveries { delivery.perform() } }
        return try Self.writer.withLock { _ in
            let (base, external) = newestContents()
            deliveries.append(external)
            var transaction = StoreTransaction(base: base)
            let result = try body(&transaction)
            deliveries.append(try keep(transaction.changes))
            return result
        }
    }

    private func newestContents() -> (contents: [String: StoredValue], delivery: StoreDelivery) {
        state.withLock { state in
            // It tells of failures to write, too, of whichever suite: what this commit writes is looked at below.
            _ = domain.synchronize()
            let delivery = look(&state)
            return (state.stored, delivery)
        }
    }

    private func keep(_ changes: [StoreChange]) throws -> StoreDelivery {
        guard !changes.isEmpty else { return .none }
        guard !changes.contains(where: { $0.key == ExactForms.key }) else {
            throw SettingsError(
                .invalidKey,
                fact: "the key '\(ExactForms.key)' is the library's own in UserDefaults",
                consequence: "nothing is changed",
                remedy: "give the setting another key"
            )
        }
        return try state.withLock { state in
            // Plain code may have come between.
            let changes = changes.map { StoreChange(key: $0.key, old: state.stored[$0.key], new: $0.new) }
                .filter { $0.old != $0.new }
            guard !changes.isEmpty else { return .none }
            var exact = state.exact
            for change in changes { exact.note(change.new, forKey: change.key) }
            try write(changes, exact, &state)
            state.generation &+= 1
            return state.observer?.record(StoreCommit(changes: changes, origin: .local)) ?? .none
        }
    }

    /// Writes some values, all or none.
    private func write(_ changes: [StoreChange], _ exact: ExactForms, _ state: inout State) throws {
        let (exactBefore, textBefore) = (state.exact, state.exactText)
        set(changes.map { ($0.key, $0.new) }, exact, try exact.propertyList(), &state)
        guard !domain.synchronize() else { return }
        set(changes.map { ($0.key, $0.old) }, exactBefore, textBefore, &state)
        throw Self.notWritten
    }

    private func set(
        _ edits: [(key: String, value: StoredValue?)],
        _ exact: ExactForms,
        _ exactText: StoredValue?,
        _ state: inout State
    ) {
        for (key, value) in edits {
            let native = ExactForms.native(of: value, forKey: key)
            domain.set(native, forKey: key)
            state.stored[key] = value
            // Asking Foundation costs more than one thinks: after a set it puts all keys together anew.
            state.seen[key] = native
        }
        if exactText != state.exactText { domain.set(exactText, forKey: ExactForms.key) }
        state.exact = exact
        state.exactText = exactText
    }
}
