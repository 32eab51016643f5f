// SPDX-License-Identifier: Apache-2.0

/// The states of one subscriber, and the action that follows from each event.
///
/// It holds at most one change, from the value that the subscriber received last to the newest one. It starts no task, takes
/// no lock and resumes nothing: it returns an action, which the subscriber performs.
struct ChangeStateMachine<Change: CoalescingChange, Continuation> {
    private enum State {
        /// No change, and no consumer waiting.
        case idle
        /// A change, and no consumer waiting.
        case buffered(Change)
        /// No change, and a consumer waiting.
        case waiting(Continuation)
        /// A change, and a consumer that is resumed with it once the locks are released.
        case ready(Continuation, Change)
        /// A last change, and then the end.
        case finishing(Change)
        /// The end.
        case finished
    }

    private var state = State.idle

    /// The action after an event.
    enum Action {
        case none
        case resume(Continuation, with: Change?)
    }

    /// The consumer requests a change.
    mutating func next(_ continuation: Continuation) -> Action {
        switch state {
        case .idle:
            state = .waiting(continuation)
            return .none
        case .buffered(let change):
            state = .idle
            return .resume(continuation, with: change)
        case .finishing(let change):
            state = .finished
            return .resume(continuation, with: change)
        case .finished, .waiting, .ready:
            // A second consumer of one iterator is misuse. It ends at once, and the first one continues.
            return .resume(continuation, with: nil)
        }
    }

    /// A change has happened.
    ///
    /// - Returns: Whether to call ``wake()``.
    mutating func offer(_ change: Change) -> Bool {
        switch state {
        case .idle:
            state = Change.merging(nil, with: change).map { .buffered($0) } ?? .idle
            return false
        case .buffered(let earlier):
            state = Change.merging(earlier, with: change).map { .buffered($0) } ?? .idle
            return false
        case .waiting(let continuation):
            guard let merged = Change.merging(nil, with: change) else { return false }
            state = .ready(continuation, merged)
            return true
        case .ready(let continuation, let earlier):
            let merged = Change.merging(earlier, with: change)
            state = merged.map { .ready(continuation, $0) } ?? .waiting(continuation)
            return true
        case .finishing, .finished:
            return false
        }
    }

    /// The locks are released.
    mutating func wake() -> Action {
        guard case .ready(let continuation, let change) = state else { return .none }
        state = .idle
        return .resume(continuation, with: change)
    }

    /// No more changes follow.
    ///
    /// The pending change is still delivered.
    mutating func finish() -> Action {
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

    /// The consumer's task is canceled.
    ///
    /// The pending change is dropped.
    mutating func cancel() -> Action {
        defer { state = .finished }
        switch state {
        case .waiting(let continuation), .ready(let continuation, _):
            return .resume(continuation, with: nil)
        case .idle, .buffered, .finishing, .finished:
            return .none
        }
    }
}

extension ChangeStateMachine.Action: Equatable where Change: Equatable, Continuation: Equatable {}
