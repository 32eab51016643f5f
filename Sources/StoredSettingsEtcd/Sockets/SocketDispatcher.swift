// SPDX-License-Identifier: Apache-2.0

/// Assigns exchanges to connections, and ends what takes too long.
///
/// Only the thread of the sockets uses it. No method waits.
final class SocketDispatcher {
    private let configuration: SocketTransport.Configuration
    private let lent: LentConnection
    private let lookUp: (_ index: Int, _ host: String, _ port: UInt16) -> Void
    private var table: EndpointTable
    private var connections: [Connection] = []
    /// The exchanges without a connection, in the order of their requests.
    private var queue: [PendingExchange] = []
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// - Parameters:
    ///   - endpoints: The servers.
    ///   - configuration: The limits.
    ///   - lent: The connection for blocking callers.
    ///   - lookUp: A closure that starts to look up a host, and sends ``SocketLoop/Command/lookedUp(_:_:)`` later.
    init(
        _ endpoints: [EtcdEndpoint],
        _ configuration: SocketTransport.Configuration,
        _ lent: LentConnection,
        lookUp: @escaping (_ index: Int, _ host: String, _ port: UInt16) -> Void
    ) {
        self.configuration = configuration
        self.lent = lent
        self.lookUp = lookUp
        table = EndpointTable(endpoints, addressLifetime: configuration.addressLifetime)
    }

    // MARK: - Commands

    func perform(_ command: SocketLoop.Command) {
        switch command {
        case .start(let exchange):
            let pending = PendingExchange(exchange)
            pending.endpoints = table.order(.now)
            queue.append(pending)
        case .abandon(let exchange):
            queue.removeAll { $0.exchange === exchange }
            for connection in connections where connection.pending?.exchange === exchange { remove(connection) }
        case .avoidCurrentServer:
            if let index = table.order(.now).first { didFail(index, .now) }
        case .resumeReading(let exchange):
            for connection in connections where connection.pending?.exchange === exchange { connection.resumeReading() }
        case .lent(.failure(let index)): didFail(index, .now)
        case .lent(.returned): reclaim()
        case .lookedUp(let index, let result):
            table.didLookUp(index, result, .now)
            for pending in queue where pending.endpoints.first == index { pending.needsNewAddresses = false }
            guard case .failure(let reason) = result else { return }
            guard case .unknown = table.addresses(of: index, .now) else { return }
            for pending in queue where pending.endpoints.first == index && pending.addresses == nil {
                pending.lastReason = "the lookup of the host of \(table[index]) has failed: \(reason)"
                pending.addresses = []
            }
        }
    }

    /// Fails all exchanges, and closes all connections.
    func end() {
        for pending in queue + connections.compactMap(\.pending) {
            pending.exchange.fail(.closed, "the transport was closed")
        }
        queue = []
        for connection in connections { connection.close() }
        connections = []
    }

    // MARK: - Waiting

    var interests: [SocketCalls.Interest] { connections.map(\.interest) }

    /// The time until ``continueExchanges()`` must be called; `nil` if nothing can time out.
    var timeUntilDeadline: Duration? {
        var deadlines = connections.map { $0.deadline(configuration) }
        for pending in queue {
            deadlines.append(min(pending.exchange.deadline, pending.lookupDeadline ?? pending.exchange.deadline))
        }
        if let deadline = lent.deadline { deadlines.append(deadline) }
        return deadlines.min().map { $0 - .now }
    }

    /// Handles the events of ``interests``, in the same order.
    func handle(_ interests: [SocketCalls.Interest]) {
        // The connections of the events, because handling an event changes the list.
        for (connection, interest) in zip(connections, interests) {
            let hasEvent = interest.isReadable || interest.isWritable || interest.hasEnded
            guard hasEvent, connections.contains(where: { $0 === connection }) else { continue }
            switch connection.phase {
            case .connecting: finishConnecting(connection)
            case .idle: remove(connection)
            case .busy:
                if interest.isWritable, handle(connection.send(), of: connection) { continue }
                if interest.isReadable || interest.hasEnded { _ = handle(connection.receive(&buffer), of: connection) }
            }
        }
    }

    // MARK: - Progress

    /// Ends exchanges and connections whose time is over, and begins the exchanges that can begin.
    func continueExchanges() {
        let now = ContinuousClock.now
        for connection in connections where connection.deadline(configuration) <= now { expire(connection, now) }
        lent.expire(now)
        let waiting = queue
        queue = []
        var remaining: [PendingExchange] = []
        for pending in waiting where !begin(pending, now) { remaining.append(pending) }
        // Exchanges that are begun again have joined the queue.
        queue = remaining + queue
    }

    private func expire(_ connection: Connection, _ now: ContinuousClock.Instant) {
        let mayAskAnotherServer = connection.mayAskAnotherServer
        let pending = connection.takePending()
        let endpoint = table[connection.endpoint]
        switch connection.phase {
        case .idle: break
        case .connecting:
            guard let pending else { break }
            pending.lastReason = "\(endpoint) has not accepted a connection in time"
            queue.append(pending)
        case .busy:
            didFail(connection.endpoint, now)
            guard let pending else { break }
            pending.lastReason = "\(endpoint) has not answered in time"
            if mayAskAnotherServer, pending.exchange.deadline > now {
                pending.skipServer()
                queue.append(pending)
            } else {
                pending.exchange.fail(.timedOut, pending.lastReason)
            }
        }
        remove(connection)
    }

    /// Begins an exchange.
    ///
    /// - Returns: Whether it has begun, or has failed; `false` if it must wait.
    private func begin(_ pending: PendingExchange, _ now: ContinuousClock.Instant) -> Bool {
        guard !pending.exchange.isOver else { return true }
        guard pending.exchange.deadline > now else {
            pending.exchange.fail(.timedOut, "no connection was available in time: \(pending.lastReason)")
            return true
        }
        while let index = pending.endpoints.first {
            // The lent connection is reused, or closed to make room. If a caller uses it, it returns later.
            if !pending.exchange.isStream, isFull, !hasIdleConnection { reclaim() }
            if pending.addresses == nil, !pending.exchange.request.needsNewConnection,
                let connection = idleConnection(to: index)
            {
                start(pending, on: connection)
                return true
            }
            guard pending.exchange.isStream || hasRoom(for: index) else { return false }
            if pending.addresses == nil {
                if let (host, port) = table.beginLookup(of: index, now) { lookUp(index, host, port) }
                switch table.addresses(of: index, now) {
                case .known(let addresses): pending.addresses = addresses
                case .expired(let addresses) where !pending.needsNewAddresses:
                    (pending.addresses, pending.hasExpiredAddresses) = (addresses, true)
                case .expired, .unknown:
                    let deadline = pending.lookupDeadline ?? now + configuration.connectTimeout
                    pending.lookupDeadline = deadline
                    guard deadline <= now else { return false }
                    pending.lastReason = "the lookup of the host of \(table[index]) takes too long"
                    pending.addresses = []
                }
            }
            pending.lookupDeadline = nil
            if connect(pending, to: index, now) { return true }
            if pending.hasExpiredAddresses {
                pending.forgetAddresses()
                pending.needsNewAddresses = true
                continue
            }
            didFail(index, now)
            pending.dropServer()
        }
        pending.exchange.fail(.unreachable, pending.lastReason)
        return true
    }

    /// Connects to the next address that does not fail at once.
    ///
    /// - Returns: Whether there is one.
    private func connect(_ pending: PendingExchange, to index: Int, _ now: ContinuousClock.Instant) -> Bool {
        while let address = pending.addresses?.first {
            pending.addresses?.removeFirst()
            do {
                let socket = try SocketCalls.connect(address, deadPeerTimeout: configuration.deadPeerTimeout)
                let deadline = now + configuration.connectTimeout
                connections.append(Connection(socket, endpoint: index, connectingUntil: deadline, pending))
                return true
            } catch {
                pending.lastReason = "\(table[index]) cannot be connected: \(error.reason)"
            }
        }
        return false
    }

    private func finishConnecting(_ connection: Connection) {
        guard let pending = connection.pending else { return remove(connection) }
        if let failure = SocketCalls.connectionFailure(connection.descriptor) {
            _ = connection.takePending()
            remove(connection)
            pending.lastReason = "\(table[connection.endpoint]) cannot be connected: \(failure.reason)"
            if !begin(pending, .now) { queue.append(pending) }
        } else {
            start(pending, on: connection)
        }
    }

    private func start(_ pending: PendingExchange, on connection: Connection) {
        connection.begin(pending, host: table[connection.endpoint].host)
        _ = handle(connection.send(), of: connection)
    }

    /// Handles the result of sending or receiving.
    ///
    /// - Returns: Whether the exchange has left the connection.
    private func handle(_ progress: Connection.Progress, of connection: Connection) -> Bool {
        guard let pending = connection.pending else {
            remove(connection)
            return true
        }
        let index = connection.endpoint
        switch progress {
        case .waiting: return false
        case .response(let response):
            let isReusable = connection.finish()
            if !isReusable { remove(connection) }
            // 5xx: this server has no leader, or shuts down.
            if response.status >= 500 {
                didFail(index, .now)
            } else {
                table.didSucceed(index)
                // A request that waits needs it more.
                if isReusable, queue.isEmpty { lend(connection) }
            }
            pending.exchange.finish(response)
        case .malformed:
            remove(connection)
            didFail(index, .now)
            if let (code, reason) = progress.failure { pending.exchange.fail(code, "\(table[index]): \(reason)") }
        case .lost(let reason):
            let hasReceivedPieces = pending.exchange.isStream && connection.hasResponse
            remove(connection)
            repeatOrFail(pending, index, "\(table[index]): \(reason)", hasReceivedPieces: hasReceivedPieces)
        }
        return true
    }

    /// Lends an idle connection to blocking callers if they need one.
    private func lend(_ connection: Connection) {
        guard lent.lend(connection, to: table[connection.endpoint]) else { return }
        connections.removeAll { $0 === connection }
    }

    private func reclaim() {
        if let connection = lent.reclaim() { connections.append(connection) }
    }

    /// Avoids a server for a while, also for blocking callers.
    private func didFail(_ index: Int, _ now: ContinuousClock.Instant) {
        table.didFail(index, now)
        lent.discard(endpoint: index)
    }

    /// Begins an exchange again if that is safe.
    private func repeatOrFail(_ pending: PendingExchange, _ index: Int, _ reason: String, hasReceivedPieces: Bool) {
        let exchange = pending.exchange
        guard !exchange.isOver else { return }
        let mayRepeat = !exchange.mayHaveArrived || exchange.request.isIdempotent && !hasReceivedPieces
        // A reused connection may have ended because the server was restarted, so that server is tried again, too.
        guard mayRepeat, pending.repetitions <= table.count else {
            didFail(index, .now)
            return exchange.fail(.connectionLost, reason)
        }
        if pending.repetitions > 0 { didFail(index, .now) }
        pending.repetitions += 1
        pending.lastReason = reason
        pending.endpoints = table.order(.now)
        pending.forgetAddresses()
        if !begin(pending, .now) { queue.append(pending) }
    }

    // MARK: - Connections

    private func idleConnection(to index: Int) -> Connection? {
        for connection in connections where connection.endpoint == index {
            guard case .idle = connection.phase else { continue }
            if connection.isUsable(&buffer) { return connection }
            remove(connection)
        }
        return nil
    }

    private var hasIdleConnection: Bool {
        connections.contains { connection in
            if case .idle = connection.phase { true } else { false }
        }
    }

    private var isFull: Bool {
        let count = connections.count { $0.pending?.exchange.isStream != true } + lent.count
        return count >= configuration.maximumConnections
    }

    /// Whether another connection may be opened for a request.
    ///
    /// Streams do not count, because they may last forever, and requests would wait for them. Closes an idle connection to
    /// another server if necessary.
    private func hasRoom(for index: Int) -> Bool {
        guard isFull else { return true }
        for connection in connections {
            guard case .idle = connection.phase else { continue }
            remove(connection)
            return true
        }
        return false
    }

    private func remove(_ connection: Connection) {
        connections.removeAll { $0 === connection }
        connection.close()
    }
}
