// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What an observation has to do with its subscriber, whatever changes that is told of.
protocol CallbackEnding: CallbackReceiver {
    /// Takes no more changes, and forgets what was offered.
    func invalidate()

    /// Whether ``invalidate()`` was called.
    var isInvalid: Bool { get }

    /// Makes the subscriber tell of nothing once an object is gone.
    ///
    /// - Parameter tie: Leads to the object; `nil` for none.
    /// - Returns: Whether there is anything to be told still.
    func setTie(_ tie: LifetimeTie?) -> Bool
}

/// Keeps what an observer has not been told, and sees to it that it is told in order and by one thread at a time.
final class CallbackSubscriber<Change: CoalescingChange>: CallbackEnding {
    private struct State {
        var pending: Change?
        var tie: LifetimeTie?
        var isDelivering: Bool
        var isFinished = false
        var isInvalid = false

        /// Whether there is nothing more to be told, ever.
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
    private let tell: @Sendable (Change) -> Void

    /// - Parameters:
    ///   - isDelivering: Whether somebody is telling something already, and will call ``endDelivery()``.
    ///   - change: What a commit means to this observer, if anything.
    ///   - tell: Told of each change.
    init(
        isDelivering: Bool,
        _ change: @escaping @Sendable (StoreCommit) -> Change?,
        tell: @escaping @Sendable (Change) -> Void
    ) {
        state = Locked(State(isDelivering: isDelivering))
        self.change = change
        self.tell = tell
    }

    @_specialize(where Change == StoredValueChange)
    func offer(_ commit: StoreCommit) -> Bool {
        guard let change = change(commit), !change.isEmpty else { return false }
        return state.withLock { state in
            guard !state.isFinished else { return false }
            var merged = state.pending ?? change
            if state.pending != nil { merged.absorb(change) }
            state.pending = merged.isEmpty ? nil : merged
            return true
        }
    }

    /// Takes no more changes; what was offered is still told, as streams do.
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

    /// Tells what has come up meanwhile.
    func endDelivery() {
        state.withLock { $0.isDelivering = false }
        deliverAll()
    }

    @_specialize(where Change == StoredValueChange)
    func deliverAll() {
        while let (change, tie) = nextToTell() {
            var tie = tie
            // Whoever asks for the object keeps it, so that it is there for as long as the call.
            var object = tie?.object
            while let dead = tie, object == nil {
                let (isOver, other) = end(with: dead)
                guard !isOver else { return LifetimeTies.shared.sweep() }
                // It has another tie by now, or none.
                tie = other
                object = tie?.object
            }
            withExtendedLifetime(object) { tell(change) }
            state.withLock { $0.isDelivering = false }
        }
    }

    /// Takes no more changes, since the object of a tie is gone.
    ///
    /// - Returns: Whether it was still tied so, and has ended; and how it is tied now.
    private func end(with tie: LifetimeTie) -> (isOver: Bool, tie: LifetimeTie?) {
        state.withLock { state in
            guard !state.isInvalid, state.tie === tie else { return (state.isInvalid, state.tie) }
            state.end()
            return (true, nil)
        }
    }

    private func nextToTell() -> (Change, LifetimeTie?)? {
        state.withLock { state in
            guard !state.isDelivering, let change = state.pending else { return nil }
            state.isDelivering = true
            state.pending = nil
            return (change, state.tie)
        }
    }
}
