// SPDX-License-Identifier: Apache-2.0

public import StoredSettings
import Synchronization

extension UserDefaultsStore {
    /// Held while a commit runs, of whichever store: two may be over one domain.
    private static let writer = Locked<Void>(())

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
            try transaction.checkDepth()
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
        guard let plan = try state.withLock({ try Self.plan(changes, &$0) }) else { return .none }
        // Not under the lock: on Apple systems a set runs code of others that observes the same object.
        write(plan.edits, plan.exactText, over: plan.exactTextBack)
        let isWritten = domain.synchronize()
        if !isWritten { write(plan.editsBack, plan.exactTextBack, over: plan.exactText) }
        let delivery = state.withLock { state in
            state.isWriting = false
            return isWritten ? Self.publish(plan, &state) : .none
        }
        guard isWritten else { throw Self.notWritten }
        return delivery
    }

    /// What a commit is to write, and what was there before.
    private struct Plan {
        var changes: [StoreChange]
        var exact: ExactForms
        var exactText: StoredValue?
        var exactTextBack: StoredValue?

        var edits: [(key: String, value: StoredValue?)] { changes.map { ($0.key, $0.new) } }
        var editsBack: [(key: String, value: StoredValue?)] { changes.map { ($0.key, $0.old) } }
    }

    /// Decides what to write, and keeps readers from looking at it until it is all there.
    private static func plan(_ changes: [StoreChange], _ state: inout State) throws -> Plan? {
        // Plain code may have come between.
        let changes = changes.map { StoreChange(key: $0.key, old: state.stored[$0.key], new: $0.new) }
            .filter { $0.old != $0.new }
        guard !changes.isEmpty else { return nil }
        var exact = state.exact
        for change in changes { exact.note(change.new, forKey: change.key) }
        let text = try exact.propertyList()
        state.isWriting = true
        return Plan(changes: changes, exact: exact, exactText: text, exactTextBack: state.exactText)
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
            // Asking Foundation costs more than one thinks: after a set it puts all keys together anew.
            state.seen[key] = ExactForms.native(of: value, forKey: key)
        }
        state.exact = plan.exact
        state.exactText = plan.exactText
        state.version &+= 1
        return state.observer?.record(StoreCommit(changes: plan.changes, origin: .local)) ?? .none
    }
}
