// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "Streams retain their suite, and finish() ends them".

import Synchronization

/// The lock and the continuation of one subscriber around its state machine.
final class StreamSubscriber<Change: CoalescingChange>: ChangeSubscriber {
    private typealias Machine = ChangeStateMachine<Change, CheckedContinuation<Change?, Never>>

    private let machine = Locked(Machine())
    private let change: @Sendable (StoreCommit) -> Change?

    /// Creates a subscriber.
    ///
    /// - Parameter change: Returns the change that a commit makes for this subscriber; `nil` for none.
    init(_ change: @escaping @Sendable (StoreCommit) -> Change?) {
        self.change = change
    }

    @_specialize(where Change == StoredValueChange)
    func offer(_ commit: StoreCommit) -> Bool {
        guard let change = change(commit) else { return false }
        return machine.withLock { $0.offer(change) }
    }

    func skip(_ commit: StoreCommit) {
        _ = change(commit)
    }

    @_specialize(where Change == StoredValueChange)
    func wake(_ origin: SettingChangeOrigin) {
        perform(machine.withLock { $0.wake() })
    }

    @_specialize(where Change == StoredValueChange)
    func finish() {
        perform(machine.withLock { $0.finish() })
    }

    /// The next change; `nil` at the end and when the task is canceled.
    @_specialize(where Change == StoredValueChange)
    func next(isolation: isolated (any Actor)?) async -> Change? {
        await withTaskCancellationHandler {
            let change = await withCheckedContinuation(isolation: isolation) { continuation in
                perform(machine.withLock { $0.next(continuation) })
            }
            return Task.isCancelled ? nil : change
        } onCancel: {
            perform(machine.withLock { $0.cancel() })
        }
    }

    private func perform(_ action: Machine.Action) {
        if case .resume(let continuation, let change) = action {
            continuation.resume(returning: change)
        }
    }
}

/// A subscriber's registration with an engine, which ends with the last reference to it.
final class EngineSubscription<Subscriber: ChangeSubscriber>: Sendable {
    let subscriber: Subscriber
    private let engine: SettingsEngine
    private let id: SettingsEngine.SubscriberID
    private let isTaken = Atomic(false)

    /// Adds a subscriber for some keys, or for every key, which receives every change from now on.
    convenience init(_ subscriber: Subscriber, to engine: SettingsEngine, forKeys keys: [String]? = nil) {
        self.init(subscriber, engine, id: engine.addSubscriber(subscriber, forKeys: keys).id)
    }

    init(_ subscriber: Subscriber, _ engine: SettingsEngine, id: SettingsEngine.SubscriberID) {
        (self.subscriber, self.engine, self.id) = (subscriber, engine, id)
    }

    func end() { engine.removeSubscriber(id) }

    deinit {
        end()
    }

    /// Returns whether the caller is the first one, which may consume this subscription.
    func take() -> Bool {
        !isTaken.exchange(true, ordering: .relaxed)
    }
}
