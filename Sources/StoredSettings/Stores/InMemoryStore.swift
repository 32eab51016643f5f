// SPDX-License-Identifier: Apache-2.0

/// A store whose values last until the process ends, mainly for tests.
///
/// A value that is set is read as from a settings file, where dates, bytes, infinities and NaN are strings. Initial values remain as
/// they are, so that a test can have those of another store, such as `UserDefaults`.
public final class InMemoryStore: LimitedStore {
    private struct State {
        var values: [String: StoredValue]
        weak var observer: (any StoreObserver)?
        /// The problems of the initial values, until there is an observer that can report them.
        var problems: [SettingsError] = []
    }

    private let state: Locked<State>
    private let writer = Locked<Void>(())
    /// The object that shows whether values are current.
    public let sharedVersion: StoreVersion? = StoreVersion()
    private let reason: String

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - values: The initial values. A value that cannot be stored is omitted and reported to the observer.
    ///   - reason: The reason why values are in memory, for ``SettingsPersistence/ephemeral(reason:)``.
    public init(_ values: [String: StoredValue] = [:], reason: String = "the suite was created in memory") {
        var state = State(values: values)
        for (key, value) in values {
            do {
                try value.checkStorable(forKey: key)
            } catch {
                var problem = SettingsError.wrapping(error, as: .unstorable)
                problem.consequence = "the value is not stored"
                state.problems.append(problem)
                state.values[key] = nil
            }
        }
        self.state = Locked(state)
        self.reason = reason
    }

    /// Always ``SettingsPersistence/ephemeral(reason:)``.
    public var persistence: SettingsPersistence { .ephemeral(reason: reason) }

    /// Sets the observer that records every change from now on.
    public func setObserver(_ observer: any StoreObserver) {
        let problems = state.withLock { state in
            state.observer = observer
            defer { state.problems = [] }
            return state.problems
        }
        for problem in problems { observer.report(problem) }
    }

    /// Reads a value and runs a body with it before a later change can be recorded.
    public func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        state.withLock { body($0.values[key]) }
    }

    /// All stored values.
    public func contents() -> [String: StoredValue] {
        state.withLock { $0.values }
    }

    /// Runs a body, without a concurrent writer, and stores either all its changes or none.
    public func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        let (result, delivery) = try WaitLimit.withLock(writer) { _ in
            var transaction = StoreTransaction(base: contents())
            let result = try body(&transaction)
            try transaction.checkStorable()
            return (result, publish(transaction.storedAsJSON(includingEqual: false)))
        }
        delivery.perform()
        return result
    }

    /// Stores the value of one key, and waits for transactions of other threads if it may.
    public func write(_ value: StoredValue?, forKey key: String, mayWait: Bool) throws -> Bool {
        guard !mayWait else {
            try commit { $0[key] = value }
            return true
        }
        try value?.checkStorable(forKey: key)
        let delivery = writer.withLockIfAvailable { _ in
            var transaction = StoreTransaction(base: contents())
            transaction[key] = value
            return publish(transaction.storedAsJSON(includingEqual: false))
        }
        delivery?.perform()
        return delivery != nil
    }

    private func publish(_ changes: [StoreChange]) -> StoreDelivery {
        state.withLock { state in
            for change in changes {
                state.values[change.key] = change.new
            }
            if !changes.isEmpty { sharedVersion?.invalidate() }
            return state.observer?.record(StoreCommit(changes: changes, origin: .local)) ?? .none
        }
    }

    /// Does nothing, because no value can survive a power loss.
    public func synchronize() {}
}
