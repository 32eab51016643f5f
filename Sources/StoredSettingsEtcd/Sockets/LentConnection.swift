// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Etcd.md, "A set waits for its socket itself".

import StoredSettings

/// A connection on which threads that may wait exchange requests and responses themselves, one at a time.
///
/// The thread of the sockets establishes the connection, and lends it after its first response. From then on, a request needs no
/// other thread: neither does it wake one, nor is its thread woken by one.
final class DirectConnection: Sendable {
    /// The result of sending a request.
    enum Outcome {
        /// No connection can be used, and nothing was sent.
        case unavailable
        case response(EtcdResponse)
        case failure(EtcdTransportError)
    }

    /// A connection with what its next exchange needs.
    ///
    /// Unchecked: only the thread that has taken it under the lock uses the buffer.
    private final class Lent: @unchecked Sendable {
        let connection: Connection
        let endpoint: EtcdEndpoint
        /// A buffer whose contents have no meaning.
        var buffer = [UInt8](repeating: 0, count: 64 << 10)

        init(_ connection: Connection, _ endpoint: EtcdEndpoint) {
            (self.connection, self.endpoint) = (connection, endpoint)
        }
    }

    private enum State {
        case none
        case idle(Lent)
        /// A thread uses the connection with this descriptor, and must notify its owner afterwards if it is wanted.
        case used(CInt, isWanted: Bool)
        case closed
    }

    /// A notification of the owner.
    enum Notice {
        /// A server has failed.
        case failure(endpoint: Int)
        /// The connection is no longer used, and a request waits for it.
        case wantedConnection
    }

    /// Whether the current task has a thread that waits for it alone, and is never canceled.
    @TaskLocal static var isAllowed = false

    private let lifetime: Duration
    private let state = Locked(State.none)

    /// - Parameter lifetime: The time after which a connection without a request is closed.
    init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    // MARK: - The thread of the sockets

    /// The number of connections.
    var count: Int {
        state.withLock { state in
            switch state {
            case .none, .closed: 0
            case .idle, .used: 1
            }
        }
    }

    /// Takes over an idle connection, unless there is one.
    ///
    /// - Returns: Whether the connection is taken over. Then the caller must not use it anymore.
    func takeOver(_ connection: Connection, to endpoint: EtcdEndpoint) -> Bool {
        state.withLock { state in
            guard case .none = state else { return false }
            state = .idle(Lent(connection, endpoint))
            return true
        }
    }

    /// Returns the connection to its owner if it is idle.
    ///
    /// - Parameter instant: The instant since which it has been idle.
    /// - Returns: The connection.
    func takeBack(idleSince instant: ContinuousClock.Instant = .now) -> Connection? {
        state.withLock { state in
            guard case .idle(let lent) = state, lent.connection.lastActivity <= instant else { return nil }
            state = .none
            return lent.connection
        }
    }

    /// Makes the thread that uses the connection notify the owner afterwards.
    func want() {
        state.withLock { state in
            if case .used(let descriptor, _) = state { state = .used(descriptor, isWanted: true) }
        }
    }

    /// The instant at which ``takeBack(idleSince:)`` must be called; `nil` if there is no connection.
    var deadline: ContinuousClock.Instant? {
        state.withLock { state in
            switch state {
            case .none, .closed: nil
            case .idle(let lent): lent.connection.lastActivity + lifetime
            case .used: .now + lifetime
            }
        }
    }

    /// Closes the connection, and ends the exchange on it.
    func close() {
        let connection = state.withLock { state -> Connection? in
            defer { state = .closed }
            switch state {
            case .none, .closed: return nil
            case .idle(let lent): return lent.connection
            case .used(let descriptor, _):
                // The descriptor is closed by its thread, after the state has changed.
                SocketCalls.shutDown(descriptor)
                return nil
            }
        }
        connection?.close()
    }

    // MARK: - A thread that may wait

    /// Sends a request, and waits for the response.
    ///
    /// - Parameters:
    ///   - request: The request, which is sent at most once.
    ///   - notify: A closure that notifies the owner.
    /// - Returns: The result.
    func send(_ request: EtcdRequest, notify: (Notice) -> Void) -> Outcome {
        guard let lent = take() else { return .unavailable }
        let (outcome, isWanted) = send(request, lent, notify)
        if isWanted { notify(.wantedConnection) }
        return outcome
    }

    private func send(
        _ request: EtcdRequest,
        _ lent: Lent,
        _ notify: (Notice) -> Void
    ) -> (Outcome, isWanted: Bool) {
        let connection = lent.connection
        guard connection.isUsable(&lent.buffer) else { return (.unavailable, end(connection).isWanted) }
        let exchange = Exchange(request, isStream: false)
        connection.begin(PendingExchange(exchange), host: lent.endpoint.host)
        let progress = complete(exchange, lent)
        if case .response(let response) = progress, connection.finish(), response.status < 500 {
            return (.response(response), giveBack(lent))
        }
        let (isClosed, isWanted) = end(connection)
        if case .response(let response) = progress {
            // 5xx: this server has no leader, or shuts down.
            if response.status >= 500 { notify(.failure(endpoint: connection.endpoint)) }
            return (.response(response), isWanted)
        }
        guard !isClosed else { return (.failure(exchange.error(.closed, "the transport was closed")), false) }
        guard exchange.mayHaveArrived else { return (.unavailable, isWanted) }
        notify(.failure(endpoint: connection.endpoint))
        return (.failure(error(of: exchange, progress, lent.endpoint)), isWanted)
    }

    private func error(
        of exchange: Exchange,
        _ progress: Connection.Progress,
        _ endpoint: EtcdEndpoint
    ) -> EtcdTransportError {
        switch progress {
        case .malformed(let error):
            let code: EtcdTransportError.Code = error == .bodyTooLarge ? .responseTooLarge : .malformedResponse
            return exchange.error(code, "\(endpoint): \(error.problem)")
        case .lost(let reason): return exchange.error(.connectionLost, "\(endpoint): \(reason)")
        case .waiting, .response: return exchange.error(.timedOut, "\(endpoint) has not answered in time")
        }
    }

    /// Sends and receives until the exchange has ended or its time is over.
    private func complete(_ exchange: Exchange, _ lent: Lent) -> Connection.Progress {
        let connection = lent.connection
        var progress = connection.send()
        while case .waiting = progress {
            let remaining = exchange.deadline - .now
            guard remaining > .zero else { break }
            var interests = [connection.interest]
            SocketCalls.wait(for: &interests, timeout: remaining)
            if interests[0].isWritable { progress = connection.send() }
            guard case .waiting = progress, interests[0].isReadable || interests[0].hasEnded else { continue }
            progress = connection.receive(&lent.buffer)
        }
        return progress
    }

    private func take() -> Lent? {
        state.withLock { state in
            guard case .idle(let lent) = state else { return nil }
            state = .used(lent.connection.descriptor, isWanted: false)
            return lent
        }
    }

    /// Makes the connection that this thread has used idle.
    ///
    /// - Returns: Whether the owner must be notified.
    private func giveBack(_ lent: Lent) -> Bool {
        let isWanted = state.withLock { state -> Bool? in
            guard case .used(_, let isWanted) = state else { return nil }
            state = .idle(lent)
            return isWanted
        }
        // The transport was closed.
        if isWanted == nil { lent.connection.close() }
        return isWanted ?? false
    }

    /// Closes the connection that this thread has used.
    ///
    /// - Returns: Whether the transport was closed before, and whether the owner must be notified.
    private func end(_ connection: Connection) -> (isClosed: Bool, isWanted: Bool) {
        let result = state.withLock { state in
            guard case .used(_, let isWanted) = state else { return (isClosed: true, isWanted: false) }
            state = .none
            return (isClosed: false, isWanted: isWanted)
        }
        connection.close()
        return result
    }
}
