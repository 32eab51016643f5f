// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Waits for a number of arrivals.
final class Gate: Sendable {
    private struct State {
        var missing = 0
        var continuation: CheckedContinuation<UInt64, any Error>?
    }

    private let expected: Int
    private let state = Mutex(State())

    init(_ expected: Int) {
        self.expected = expected
    }

    /// The time from the start of a body that causes the arrivals until the last one, in nanoseconds.
    func time(_ body: () throws -> Void) async throws -> Double {
        var start: UInt64 = 0
        let end = try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0 = State(missing: expected, continuation: continuation) }
            start = Clock.now()
            do {
                try body()
            } catch {
                takeContinuation()?.resume(throwing: error)
            }
        }
        return Double(end - start)
    }

    func arrive() {
        let continuation = state.withLock { state in
            state.missing -= 1
            return state.missing == 0 ? state.continuation.take() : nil
        }
        continuation?.resume(returning: Clock.now())
    }

    func fail() {
        takeContinuation()?.resume(throwing: Failure("not all subscribers were notified"))
    }

    private func takeContinuation() -> CheckedContinuation<UInt64, any Error>? {
        state.withLock { $0.continuation.take() }
    }
}

/// Runs an action after a minute unless the task is canceled.
///
/// A wake-up that never comes then fails a row and does not hang the run.
func watchdog(_ action: @escaping @Sendable () -> Void) -> Task<Void, Never> {
    Task {
        do {
            try await Task.sleep(for: .seconds(60))
            action()
        } catch {
            // Canceled: the wake-up came in time.
        }
    }
}
