// SPDX-License-Identifier: Apache-2.0

/// The states of one subscriber, and what follows from each event in each of them.
///
/// It holds at most one change, that from what the subscriber saw last to the newest. It starts no task, takes no lock
/// and resumes nothing: it says what is to be done, and the storage does it.
struct ChangeStateMachine<Change: CoalescingChange, Continuation> {
    private enum State {
        /// Nothing to tell, nobody waiting.
        case idle
        /// Something to tell, nobody waiting.
        case buffered(Change)
        /// Nothing to tell, a consumer waiting.
        case waiting(Continuation)
        /// Something to tell and a consumer waiting for it: it is resumed as soon as the locks are free.
        case ready(Continuation, Change)
        /// Something left to tell, then the end.
        case finishing(Change)
        /// The end.
        case finished
    }

    private var state = State.idle

    /// What ``next()`` asks for.
    enum NextAction {
        case take(Change)
        case end
        case suspend
    }

    /// What ``suspend(_:)`` asks for, once the caller has a continuation.
    enum SuspendAction {
        case wait
        case resume(Continuation, with: Change?)
    }

    /// What ``wake()``, ``finish()`` and ``cancel()`` ask for.
    enum WakeAction {
        case none
        case resume(Continuation, with: Change?)
    }

    /// The consumer asks for a change.
    mutating func next() -> NextAction {
        switch state {
        case .idle, .waiting, .ready:
            return .suspend
        case .buffered(let change):
            state = .idle
            return .take(change)
        case .finishing(let change):
            state = .finished
            return .take(change)
        case .finished:
            return .end
        }
    }

    /// The consumer has a continuation; in the meantime anything may have happened.
    mutating func suspend(_ continuation: Continuation) -> SuspendAction {
        switch state {
        case .idle:
            state = .waiting(continuation)
            return .wait
        case .buffered(let change):
            state = .idle
            return .resume(continuation, with: change)
        case .finishing(let change):
            state = .finished
            return .resume(continuation, with: change)
        case .finished, .waiting, .ready:
            // A second consumer of one iterator is misuse; it ends at once, and the first is not disturbed.
            return .resume(continuation, with: nil)
        }
    }

    /// A change has happened.
    ///
    /// - Returns: Whether ``wake()`` is to be called.
    mutating func offer(_ change: Change) -> Bool {
        switch state {
        case .idle:
            state = change.isEmpty ? .idle : .buffered(change)
            return false
        case .buffered(var earlier):
            earlier.absorb(change)
            state = earlier.isEmpty ? .idle : .buffered(earlier)
            return false
        case .waiting(let continuation):
            guard !change.isEmpty else { return false }
            state = .ready(continuation, change)
            return true
        case .ready(let continuation, var earlier):
            earlier.absorb(change)
            state = earlier.isEmpty ? .waiting(continuation) : .ready(continuation, earlier)
            return true
        case .finishing, .finished:
            return false
        }
    }

    /// The locks are free.
    mutating func wake() -> WakeAction {
        guard case .ready(let continuation, let change) = state else { return .none }
        state = .idle
        return .resume(continuation, with: change)
    }

    /// There will be no more changes.
    ///
    /// What is left is still told.
    mutating func finish() -> WakeAction {
        switch state {
        case .idle:
            state = .finished
            return .none
        case .buffered(let change):
            state = .finishing(change)
            return .none
        case .waiting(let continuation):
            state = .finished
            return .resume(continuation, with: nil)
        case .ready(let continuation, let change):
            state = .finished
            return .resume(continuation, with: change)
        case .finishing, .finished:
            return .none
        }
    }

    /// The consumer's task is cancelled.
    ///
    /// Nothing more is told.
    mutating func cancel() -> WakeAction {
        defer { state = .finished }
        switch state {
        case .waiting(let continuation), .ready(let continuation, _):
            return .resume(continuation, with: nil)
        case .idle, .buffered, .finishing, .finished:
            return .none
        }
    }
}

extension ChangeStateMachine.NextAction: Equatable where Change: Equatable {}
extension ChangeStateMachine.SuspendAction: Equatable where Change: Equatable, Continuation: Equatable {}
extension ChangeStateMachine.WakeAction: Equatable where Change: Equatable, Continuation: Equatable {}
