// SPDX-License-Identifier: Apache-2.0

public import StoredSettings
import Synchronization

extension UserDefaultsStore {
    /// Serializes the commits of all stores, because two stores may be over one domain.
    private static let writer = Locked<Void>(())

    /// Runs a body with the newest contents, exclusively among all writers of this process, and saves its changes.
    ///
    /// Other processes are not excluded, because Foundation has no lock. Their changes are read before the body runs.
    public func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        var deliveries: [StoreDelivery] = []
        defer { for delivery in deliveries { delivery.perform() } }
        return try Self.writer.withLock { _ in
            let (base, external) = newestContents()
            deliveries.append(external)
            var transaction = StoreTransaction(base: base)
            let result = try body(&transaction)
            try transaction.checkStorable()
            deliveries.append(try save(transaction.changes))
            return result
        }
    }

    private func newestContents() -> (contents: [String: StoredValue], delivery: StoreDelivery) {
        state.withLock { state in
            // The result also reports write failures of other suites. The writes of this commit are checked below.
            _ = domain.synchronize()
            let delivery = detectChanges(&state)
            return (state.stored, delivery)
        }
    }

    private func save(_ changes: [StoreChange]) throws -> StoreDelivery {
        guard !changes.contains(where: { $0.key == ExactForms.key }) else {
            throw SettingsError(
                .invalidKey,
                fact: "the key '\(ExactForms.key)' is reserved for the library in UserDefaults",
                consequence: "no value was changed",
                remedy: "use another key for the setting"
            )
        }
        guard let plan = try state.withLock({ try Self.plan(changes, &$0) }) else {
            return state.withLock { Self.record([], $0) }
        }
        // Not under the lock: on Apple platforms, a set runs the code of other observers of the object.
        write(plan.edits, plan.exactText, over: plan.oldExactText)
        let isWritten = domain.synchronize()
        if !isWritten { write(plan.oldEdits, plan.oldExactText, over: plan.exactText) }
        let delivery = state.withLock { state in
            state.isWriting = false
            return isWritten ? Self.publish(plan, &state) : .none
        }
        guard isWritten else { throw Self.notWritten }
        return delivery
    }

    /// The values to write and the values before.
    private struct Plan {
        var changes: [StoreChange]
        var exact: ExactForms
        var exactText: StoredValue?
        var oldExactText: StoredValue?

        var edits: [(key: String, value: StoredValue?)] { changes.map { ($0.key, $0.new) } }
        var oldEdits: [(key: String, value: StoredValue?)] { changes.map { ($0.key, $0.old) } }
    }

    /// Plans the writes, and stops readers from looking until all of them are done.
    private static func plan(_ changes: [StoreChange], _ state: inout State) throws -> Plan? {
        // Other code may have changed a value in the meantime.
        let changes = changes.map { StoreChange(key: $0.key, old: state.stored[$0.key], new: $0.new) }
            .filter { $0.old != $0.new }
        guard !changes.isEmpty else { return nil }
        var exact = state.exact
        for change in changes { exact.record(change.new, forKey: change.key) }
        let text = try exact.propertyList()
        state.isWriting = true
        return Plan(changes: changes, exact: exact, exactText: text, oldExactText: state.exactText)
    }

    private func write(
        _ edits: [(key: String, value: StoredValue?)],
        _ exactText: StoredValue?,
        over oldText: StoredValue?
    ) {
        for (key, value) in edits {
            domain.set(ExactForms.native(of: value, forKey: key), forKey: key)
        }
        if exactText != oldText { domain.set(exactText, forKey: ExactForms.key) }
    }

    private static func publish(_ plan: Plan, _ state: inout State) -> StoreDelivery {
        for (key, value) in plan.edits {
            state.stored[key] = value
            // Reading from Foundation is expensive: after a set, it merges all keys again.
            state.seen[key] = ExactForms.native(of: value, forKey: key)
        }
        state.exact = plan.exact
        state.exactText = plan.exactText
        return record(plan.changes, state)
    }

    private static func record(_ changes: [StoreChange], _ state: State) -> StoreDelivery {
        state.observer?.record(StoreCommit(changes: changes, origin: .local)) ?? .none
    }
}
