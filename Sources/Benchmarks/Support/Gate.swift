// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Waits until so many have arrived.
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

    /// How long it takes, from the beginning of a body that makes them come until all have arrived, in nanoseconds.
    func time(_ body: () throws -> Void) async throws -> Double {
        var start: UInt64 = 0
        let end = try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0 = State(missing: expected, continuation: continuation) }
            start = Clock.now()
            do {
                try body()
            } catch {
                leave()?.resume(throwing: error)
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

    func giveUp() {
        leave()?.resume(throwing: Failure("not all subscribers were told"))
    }

    private func leave() -> CheckedContinuation<UInt64, any Error>? {
        state.withLock { $0.continuation.take() }
    }
}
