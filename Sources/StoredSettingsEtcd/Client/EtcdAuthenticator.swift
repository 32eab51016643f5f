// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The user of a client.
///
/// It prints without the password.
package struct EtcdCredentials: Sendable, CustomStringConvertible {
    package var user: String
    package var password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    package var description: String { "EtcdCredentials" }
}

/// The token of a client, which all of its requests share.
///
/// The token is requested when it is needed, by one request for all callers. A caller whose task is canceled stops waiting at
/// once, and every caller stops after a limit: the file with the password can be on a disk that does not answer.
final class EtcdAuthenticator: Sendable {
    private typealias Outcome = Result<String, EtcdError>

    private struct State {
        /// The current token; empty if etcd requires none; `nil` if none was requested.
        var token: String?
        var isRequesting = false
        var waiters: [UInt64: CheckedContinuation<Outcome, Never>] = [:]
        var lastWaiter: UInt64 = 0
    }

    private let state = Locked(State())
    private let executor: (any TaskExecutor)?
    private let limit: Duration
    private let request: @Sendable () async throws -> String

    /// - Parameters:
    ///   - executor: The executor of the requests; `nil` for the default one.
    ///   - limit: The maximum time that a caller waits.
    ///   - request: A closure that requests a token. It returns an empty string if etcd requires none.
    init(
        executor: (any TaskExecutor)? = nil,
        limit: Duration,
        _ request: @escaping @Sendable () async throws -> String
    ) {
        self.executor = executor
        self.limit = limit
        self.request = request
    }

    /// The current token; empty if etcd requires none; `nil` if one must be requested.
    var current: String? { state.withLock { $0.token } }

    /// Returns the current token, which is requested if there is none.
    ///
    /// - Parameter invalid: A token that etcd has refused.
    /// - Returns: The token; empty if etcd requires none.
    /// - Throws: ``EtcdError``.
    func token(insteadOf invalid: String? = nil) async throws(EtcdError) -> String {
        if let invalid { discard(invalid) }
        if let token = current { return token }
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
                wait(number, continuation)
            }
        } onCancel: {
            end(number, Self.canceled)
        }
        return try outcome.get()
    }

    /// Removes a token, unless another one was received meanwhile.
    func discard(_ token: String) {
        state.withLock { if $0.token == token { $0.token = nil } }
    }

    private func end(_ number: UInt64, _ outcome: Outcome) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.resume(returning: outcome)
    }

    private static var late: Outcome {
        .failure(EtcdError(.timedOut, "the user and the password were not read, or etcd has sent no token, in time"))
    }

    private static var canceled: Outcome { .failure(EtcdError(.canceled, "the task was canceled")) }

    private func wait(_ number: UInt64, _ continuation: CheckedContinuation<Outcome, Never>) {
        let (outcome, mustRequest) = state.withLock { state -> (Outcome?, Bool) in
            if let token = state.token { return (.success(token), false) }
            // The handler of the cancellation may already have run.
            if Task.isCancelled { return (Self.canceled, false) }
            state.waiters[number] = continuation
            guard !state.isRequesting else { return (nil, false) }
            state.isRequesting = true
            return (nil, true)
        }
        if let outcome { return continuation.resume(returning: outcome) }
        WorkScheduler.shared.after(limit.seconds) { [weak self] in self?.end(number, Self.late) }
        // Not a child of the caller's task, because other callers wait for it, too. The request has a timeout.
        if mustRequest { Task.detached(executorPreference: executor) { await self.requestToken() } }
    }

    private func requestToken() async {
        let outcome: Outcome
        do {
            outcome = .success(try await request())
        } catch {
            outcome = .failure(EtcdError(error))
        }
        let waiters = state.withLock { state in
            state.isRequesting = false
            if case .success(let token) = outcome { state.token = token }
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: outcome) }
    }
}
