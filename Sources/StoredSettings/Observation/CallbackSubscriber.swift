// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The subscriber of an observation, whatever type of changes it receives.
protocol ObservationSubscriber: CallbackReceiver {
    /// Accepts no more changes, and drops the pending one.
    func invalidate()

    /// Whether ``invalidate()`` was called.
    var isInvalid: Bool { get }

    /// Ends the subscriber with an object.
    ///
    /// - Parameter tie: A weak reference to the object; `nil` for none.
    /// - Returns: Whether the subscriber can still deliver a change.
    func setTie(_ tie: LifetimeTie?) -> Bool
}

/// Calls a closure for changes, in order and on one thread at a time.
///
/// Changes that arrive during a call are merged into one pending change.
final class CallbackSubscriber<Change: CoalescingChange>: ObservationSubscriber {
    private struct State {
        var pending: Change?
        var tie: LifetimeTie?
        var isDelivering: Bool
        var isFinished = false
        var isInvalid = false

        /// Whether no call can follow.
        var isOver: Bool { isInvalid || isFinished && pending == nil && !isDelivering }

        mutating func end() {
            isFinished = true
            isInvalid = true
            pending = nil
            tie = nil
        }
    }

    private let state: Locked<State>
    private let change: @Sendable (StoreCommit) -> Change?
    private let callback: @Sendable (Change) -> Void

    /// - Parameters:
    ///   - isDelivering: Whether the caller delivers the first change itself, and then calls ``endDelivery()``.
    ///   - change: Returns the change that a commit makes for this subscriber; `nil` for none.
    ///   - callback: Called for each change.
    init(
        isDelivering: Bool,
        _ change: @escaping @Sendable (StoreCommit) -> Change?,
        callback: @escaping @Sendable (Change) -> Void
    ) {
        state = Locked(State(isDelivering: isDelivering))
        self.change = change
        self.callback = callback
    }

    @_specialize(where Change == StoredValueChange)
    func offer(_ commit: StoreCommit) -> Bool {
        guard let change = change(commit), !change.isEmpty else { return false }
        return state.withLock { state in
            guard !state.isFinished else { return false }
            state.pending = Change.merging(state.pending, with: change)
            return true
        }
    }

    func skip(_ commit: StoreCommit) {
        _ = change(commit)
    }

    /// Accepts no more changes.
    ///
    /// The pending change is still delivered, as in a stream.
    func finish() {
        state.withLock { $0.isFinished = true }
    }

    func invalidate() {
        state.withLock { $0.end() }
    }

    var isInvalid: Bool { state.withLock { $0.isInvalid } }

    func setTie(_ tie: LifetimeTie?) -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.tie = tie
            return true
        }
    }

    /// Ends the caller's own delivery, and delivers the change that is pending by now.
    func endDelivery() {
        state.withLock { $0.isDelivering = false }
        deliverAll()
    }

    @_specialize(where Change == StoredValueChange)
    func deliverAll() {
        while let (change, tie) = nextDelivery() {
            var tie = tie
            // A strong reference, so that the object exists during the call.
            var object = tie?.object
            while let dead = tie, object == nil {
                let (isOver, other) = end(with: dead)
                guard !isOver else { return LifetimeTies.shared.sweep() }
                // The subscriber has another tie by now, or none.
                tie = other
                object = tie?.object
            }
            withExtendedLifetime(object) { callback(change) }
            state.withLock { $0.isDelivering = false }
        }
    }

    /// Ends the subscriber, because the object of a tie no longer exists.
    ///
    /// - Returns: Whether the subscriber has ended; otherwise its current tie, if that is another one.
    private func end(with tie: LifetimeTie) -> (isOver: Bool, tie: LifetimeTie?) {
        state.withLock { state in
            guard !state.isInvalid, state.tie === tie else { return (state.isInvalid, state.tie) }
            state.end()
            return (true, nil)
        }
    }

    private func nextDelivery() -> (Change, LifetimeTie?)? {
        state.withLock { state in
            guard !state.isDelivering, let change = state.pending else { return nil }
            state.isDelivering = true
            state.pending = nil
            return (change, state.tie)
        }
    }
}
