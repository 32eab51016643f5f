// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Etcd.md, "A set waits for its socket itself".

import StoredSettings

/// An idle connection that the thread of the sockets has lent to blocking callers, one at a time.
///
/// While it is lent, a request needs no other thread: its caller sends it, and waits for the response.
final class LentConnection: Sendable {
    /// The result of sending a request.
    enum Outcome {
        /// No connection can be used, and nothing was sent.
        case unavailable
        case response(EtcdResponse)
        case failure(EtcdTransportError)
    }

    /// What a caller reports to the thread of the sockets.
    enum Event {
        /// A server has failed.
        case failure(endpoint: Int)
        /// The connection that was reclaimed while a caller used it is available, or closed.
        case returned
    }

    /// A connection with what its next exchange needs.
    ///
    /// Unchecked: only the caller that has checked it out under the lock uses the buffer.
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
        /// No connection is lent. A caller may have wished for one.
        case none(isWanted: Bool)
        case idle(Lent)
        case inUse(Lent, isReclaimed: Bool, isDiscarded: Bool)
        /// The thread of the sockets, which has reclaimed the connection, is about to take it.
        case returned(Lent)
        case closed
    }

    private let lifetime: Duration
    private let state = Locked(State.none(isWanted: false))

    /// - Parameter lifetime: The time after which a connection without a request is closed.
    init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    // MARK: - The thread of the sockets

    /// The number of connections that are lent.
    var count: Int {
        state.withLock { state in
            switch state {
            case .none, .closed: 0
            case .idle, .inUse, .returned: 1
            }
        }
    }

    /// Lends an idle connection if a caller has wished for one, and none is lent.
    ///
    /// - Returns: Whether it is lent. Then the thread of the sockets must not use it until it is reclaimed.
    func lend(_ connection: Connection, to endpoint: EtcdEndpoint) -> Bool {
        state.withLock { state in
            guard case .none(isWanted: true) = state else { return false }
            state = .idle(Lent(connection, endpoint))
            return true
        }
    }

    /// Takes the connection, or has it returned when the caller that uses it has finished.
    ///
    /// - Returns: The connection, which is idle; `nil` if there is none, or a caller uses it. Then that caller reports
    ///   ``Event/returned`` later.
    func reclaim() -> Connection? {
        state.withLock { state in
            switch state {
            case .none, .closed: return nil
            case .idle(let lent), .returned(let lent):
                state = .none(isWanted: false)
                return lent.connection
            case .inUse(let lent, _, let isDiscarded):
                state = .inUse(lent, isReclaimed: true, isDiscarded: isDiscarded)
                return nil
            }
        }
    }

    /// Closes a connection to a server that has failed, after the request of the caller that uses it.
    func discard(endpoint: Int) {
        closeIfIdle { state in
            switch state {
            case .idle(let lent) where lent.connection.endpoint == endpoint: return lent
            case .inUse(let lent, let isReclaimed, _) where lent.connection.endpoint == endpoint:
                state = .inUse(lent, isReclaimed: isReclaimed, isDiscarded: true)
                return nil
            default: return nil
            }
        }
    }

    /// Closes a connection that has been idle for its lifetime.
    func expire(_ now: ContinuousClock.Instant) {
        closeIfIdle { state in
            guard case .idle(let lent) = state, lent.connection.lastActivity + lifetime <= now else { return nil }
            return lent
        }
    }

    private func closeIfIdle(_ select: (inout State) -> Lent?) {
        let lent = state.withLock { state in
            let lent = select(&state)
            if lent != nil { state = .none(isWanted: false) }
            return lent
        }
        lent?.connection.close()
    }

    /// The instant at which ``expire(_:)`` must be called; `nil` if no connection is lent.
    var deadline: ContinuousClock.Instant? {
        state.withLock { state in
            switch state {
            case .none, .closed, .returned: nil
            case .idle(let lent): lent.connection.lastActivity + lifetime
            // The thread of the sockets looks again, but not all the time.
            case .inUse: .now + max(lifetime, .seconds(1))
            }
        }
    }

    /// Closes the connection, and ends the exchange on it.
    func close() {
        let connection = state.withLock { state -> Connection? in
            defer { state = .closed }
            switch state {
            case .none, .closed: return nil
            case .idle(let lent), .returned(let lent): return lent.connection
            case .inUse(let lent, _, _):
                // Its caller closes the descriptor, after the state has changed.
                SocketCalls.shutDown(lent.connection.descriptor)
                return nil
            }
        }
        connection?.close()
    }

    // MARK: - A blocking caller

    /// Sends a request on the calling thread, and waits for the response.
    ///
    /// If no connection can be used, the next one that becomes idle is lent.
    ///
    /// - Parameters:
    ///   - request: The request, which is sent at most once.
    ///   - report: A closure that passes an event to the thread of the sockets.
    /// - Returns: The result.
    func send(_ request: EtcdRequest, report: (Event) -> Void) -> Outcome {
        guard let lent = checkOut() else { return .unavailable }
        let connection = lent.connection
        guard connection.isUsable(&lent.buffer) else {
            _ = checkIn(lent, isReusable: false, isWanted: true, report)
            return .unavailable
        }
        let exchange = Exchange(request, isStream: false)
        connection.begin(PendingExchange(exchange), host: lent.endpoint.host)
        let progress = Self.complete(exchange, lent)
        if case .response(let response) = progress {
            // 5xx: this server has no leader, or shuts down.
            let isFailure = response.status >= 500
            _ = checkIn(lent, isReusable: connection.finish() && !isFailure, report)
            if isFailure { report(.failure(endpoint: connection.endpoint)) }
            return .response(response)
        }
        guard checkIn(lent, isReusable: false, isWanted: !exchange.mayHaveArrived, report) else {
            return .failure(exchange.error(.closed, "the transport was closed"))
        }
        guard exchange.mayHaveArrived else { return .unavailable }
        report(.failure(endpoint: connection.endpoint))
        let (code, reason) = progress.failure ?? (.timedOut, "the server has not answered in time")
        return .failure(exchange.error(code, "\(lent.endpoint): \(reason)"))
    }

    /// Sends and receives until the exchange has ended or its time is over.
    private static func complete(_ exchange: Exchange, _ lent: Lent) -> Connection.Progress {
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

    private func checkOut() -> Lent? {
        state.withLock { state in
            switch state {
            case .none:
                state = .none(isWanted: true)
                return nil
            case .idle(let lent):
                state = .inUse(lent, isReclaimed: false, isDiscarded: false)
                return lent
            case .inUse, .returned, .closed: return nil
            }
        }
    }

    /// Makes a connection idle, or closes it.
    ///
    /// - Parameters:
    ///   - lent: The connection.
    ///   - isReusable: Whether it can be used again.
    ///   - isWanted: Whether another one is needed otherwise.
    ///   - report: A closure that passes an event to the thread of the sockets.
    /// - Returns: `false` if the transport was closed meanwhile.
    private func checkIn(
        _ lent: Lent,
        isReusable: Bool,
        isWanted: Bool = false,
        _ report: (Event) -> Void
    ) -> Bool {
        let (isOpen, isKept, isReclaimed) = state.withLock { state in
            guard case .inUse(_, let isReclaimed, let isDiscarded) = state else { return (false, false, false) }
            let isKept = isReusable && !isDiscarded
            state = !isKept ? .none(isWanted: isWanted) : isReclaimed ? .returned(lent) : .idle(lent)
            return (true, isKept, isReclaimed)
        }
        if !isKept { lent.connection.close() }
        if isReclaimed { report(.returned) }
        return isOpen
    }
}
