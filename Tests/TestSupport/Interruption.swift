// SPDX-License-Identifier: Apache-2.0

package import StoredSettings
import Synchronization
import Testing

/// Runs a body once at a system call: what another thread, process or program does at the one moment that matters.
package final class Interruption: Sendable {
    package typealias Body = @Sendable () throws -> Void

    private struct State {
        var body: Body?
        /// How many matching calls precede the one at which the body runs.
        var callsLeft = 0
    }

    private let call: SystemCalls.Name
    private let isAfterCall: Bool
    private let isPlace: @Sendable (_ path: String) -> Bool
    private let state = Mutex(State())

    /// Creates an interruption before a call, which does nothing until it has a body.
    package init(before call: SystemCalls.Name, where isPlace: @escaping @Sendable (_ path: String) -> Bool) {
        (self.call, isAfterCall, self.isPlace) = (call, false, isPlace)
    }

    /// Creates an interruption after a call that has succeeded, which does nothing until it has a body.
    package init(after call: SystemCalls.Name, where isPlace: @escaping @Sendable (_ path: String) -> Bool) {
        (self.call, isAfterCall, self.isPlace) = (call, true, isPlace)
    }

    /// Runs a body at the next matching call, or at a later one of them.
    package func run(atCall number: Int = 1, _ body: @escaping Body) {
        state.withLock { $0 = State(body: body, callsLeft: number - 1) }
    }

    /// Whether the body has run or runs.
    package var hasRun: Bool { state.withLock { $0.body == nil } }

    /// The system calls of the process that is interrupted.
    package var system: SystemCalls {
        guard !isAfterCall else { return SystemCalls(witness: { [self] call, path in runIfDue(call, path) }) }
        return SystemCalls(fault: { [self] call, path in
            runIfDue(call, path)
            return nil
        })
    }

    private func runIfDue(_ call: SystemCalls.Name, _ path: String) {
        guard call == self.call, isPlace(path) else { return }
        let body = state.withLock { state -> Body? in
            guard state.body != nil, state.callsLeft == 0 else {
                state.callsLeft -= 1
                return nil
            }
            return state.body.take()
        }
        do {
            try body?()
        } catch {
            Issue.record(error)
        }
    }
}
