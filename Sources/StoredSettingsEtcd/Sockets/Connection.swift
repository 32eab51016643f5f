// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// A connection to a server, which carries one exchange at a time.
///
/// Unchecked: only the thread of the sockets uses a connection that is not lent. While it is lent, only the caller that has checked it
/// out under the lock of ``LentConnection`` uses it.
final class Connection: @unchecked Sendable {
    enum Phase {
        /// The connection is being established, at most until an instant.
        case connecting(until: ContinuousClock.Instant)
        case idle
        case busy
    }

    /// The result of reading or writing.
    enum Progress {
        case waiting
        /// The response is complete.
        case response(EtcdResponse)
        /// The connection has ended.
        case lost(String)
        /// The response is malformed.
        case malformed(HTTPSyntaxError)

        /// The code and the reason of a failure; `nil` if there is none.
        var failure: (code: EtcdTransportError.Code, reason: String)? {
            switch self {
            case .waiting, .response: nil
            case .lost(let reason): (.connectionLost, reason)
            case .malformed(.bodyTooLarge): (.responseTooLarge, HTTPSyntaxError.bodyTooLarge.problem)
            case .malformed(let error): (.malformedResponse, error.problem)
            }
        }
    }

    let endpoint: Int
    /// The socket; `nil` after the connection was closed.
    private var socket: FileHandle?
    var phase: Phase
    private(set) var pending: PendingExchange?
    /// The instant at which bytes were received last, or the connection became idle.
    private(set) var lastActivity = ContinuousClock.now
    /// The instant at which the current exchange began.
    private var begun = ContinuousClock.now
    /// Whether the task that receives the stream lags behind.
    private(set) var isPaused = false

    private var output: [UInt8] = []
    private var sentCount = 0
    private var canSend = true
    private var parser = HTTPResponseParser()
    private var body: [UInt8] = []

    init(
        _ socket: FileHandle,
        endpoint: Int,
        connectingUntil deadline: ContinuousClock.Instant,
        _ pending: PendingExchange
    ) {
        self.socket = socket
        self.endpoint = endpoint
        self.pending = pending
        phase = .connecting(until: deadline)
    }

    deinit {
        close()
    }

    /// The descriptor; negative if the connection, or the program, has closed it.
    var descriptor: CInt { socket?.descriptor ?? -1 }

    func close() {
        // A forked child may have a copy of the descriptor, which would keep the connection open.
        SocketCalls.shutDown(descriptor)
        socket = nil
    }

    /// What to wait for.
    var interest: SocketCalls.Interest {
        switch phase {
        case .connecting: SocketCalls.Interest(descriptor: descriptor, isWriting: true)
        case .idle: SocketCalls.Interest(descriptor: descriptor, isReading: true)
        case .busy:
            SocketCalls.Interest(
                descriptor: descriptor,
                isReading: !isPaused,
                isWriting: canSend && sentCount < output.count
            )
        }
    }

    /// The instant at which the exchange, or the connection, times out.
    func deadline(_ configuration: SocketTransport.Configuration) -> ContinuousClock.Instant {
        switch phase {
        case .connecting(let deadline): min(deadline, pending?.exchange.deadline ?? deadline)
        case .idle: lastActivity + configuration.idleConnectionLifetime
        case .busy:
            exchangeDeadline(configuration.answerTimeout) ?? lastActivity + configuration.idleConnectionLifetime
        }
    }

    private func exchangeDeadline(_ answerTimeout: Duration) -> ContinuousClock.Instant? {
        guard let exchange = pending?.exchange else { return nil }
        guard !mayAskAnotherServer else { return min(exchange.deadline, begun + answerTimeout) }
        guard parser.isUnlimited else { return exchange.deadline }
        // The task takes the time that it needs.
        return isPaused ? lastActivity + .seconds(86_400) : lastActivity + exchange.request.idleTimeout.bounded
    }

    /// Whether the request may be sent to another server, because this one has not begun to answer.
    var mayAskAnotherServer: Bool { !hasResponse && pending?.hasOtherServer == true }

    /// Begins an exchange on an established connection.
    func begin(_ pending: PendingExchange, host: String) {
        let request = pending.exchange.request
        self.pending = pending
        phase = .busy
        begun = .now
        output = HTTPRequestText.bytes(of: request, host: host)
        (sentCount, canSend, isPaused, body) = (0, true, false, [])
        parser = HTTPResponseParser(
            limits: HTTPLimits(body: max(0, request.maximumResponseSize)),
            isStream: pending.exchange.isStream
        )
    }

    /// Ends the exchange, so that the connection is idle.
    ///
    /// - Returns: Whether the connection can be used again.
    func finish() -> Bool {
        pending = nil
        phase = .idle
        lastActivity = .now
        let isReusable = parser.isReusable && sentCount == output.count
        (output, body) = ([], [])
        return isReusable
    }

    func takePending() -> PendingExchange? {
        defer { pending = nil }
        return pending
    }

    func resumeReading() {
        isPaused = false
        lastActivity = .now
    }

    // MARK: - Input and output

    /// Sends as much of the request as possible.
    func send() -> Progress {
        guard let exchange = pending?.exchange else { return .waiting }
        while canSend, sentCount < output.count {
            // First, because the exchange may be canceled at any time, and reports then whether it may have arrived.
            guard let hadArrived = exchange.beginSending() else { return .lost("the request has ended") }
            do {
                sentCount += try SocketCalls.send(output[sentCount...], descriptor)
            } catch {
                if sentCount == 0 { exchange.undoSending(hadArrived) }
                guard !error.isWait else { return .waiting }
                guard sentCount > 0 else { return .lost(error.reason) }
                // The server may have answered before it ended the connection.
                canSend = false
            }
        }
        return .waiting
    }

    /// Receives what has arrived.
    ///
    /// - Parameter buffer: A buffer for the bytes, whose contents have no meaning.
    /// - Returns: The progress of the response.
    func receive(_ buffer: inout [UInt8]) -> Progress {
        guard let exchange = pending?.exchange else { return .lost("the server has sent bytes without a request") }
        let count: Int
        do {
            count = try SocketCalls.receive(into: &buffer, descriptor)
        } catch {
            return error.isWait ? .waiting : .lost(error.reason)
        }
        lastActivity = .now
        do {
            guard count > 0 else {
                guard !parser.isEmpty else { return .lost("the server has closed the connection") }
                try parser.finish()
                return .response(response)
            }
            let used = try parser.parse(buffer[..<count], into: &body)
            if parser.isUnlimited, !body.isEmpty {
                isPaused = !exchange.receive(body)
                body = []
            }
            guard parser.isComplete else { return .waiting }
            guard used == count else { return .malformed(.invalid("bytes follow the response")) }
            return .response(response)
        } catch {
            return error == .truncated ? .lost(error.problem) : .malformed(error)
        }
    }

    private var response: EtcdResponse { EtcdResponse(status: parser.status ?? 0, body: body) }

    /// Whether bytes of the response have arrived, so that the request must not be repeated.
    var hasResponse: Bool { !parser.isEmpty }

    /// Whether the server has not closed an idle connection.
    func isUsable(_ buffer: inout [UInt8]) -> Bool {
        do {
            // An idle connection receives nothing: a byte would belong to no response.
            _ = try SocketCalls.receive(into: &buffer, descriptor)
            return false
        } catch {
            return error.isWait
        }
    }
}

/// An exchange that has not ended, with the servers that remain to be tried.
///
/// Only the thread that uses its connection uses it.
final class PendingExchange {
    let exchange: Exchange
    /// The servers to try, the next one first.
    var endpoints: [Int] = []
    /// The remaining addresses of the first server; `nil` if they have not been determined.
    var addresses: [SocketAddress]?
    /// Whether `addresses` have expired, so that others may replace them.
    var hasExpiredAddresses = false
    /// Whether the expired addresses of the first server cannot be connected.
    var needsNewAddresses = false
    /// The servers that have not begun to answer in time.
    private var silentEndpoints: Set<Int> = []
    /// The instant at which the lookup of the first server's host is given up.
    var lookupDeadline: ContinuousClock.Instant?
    /// The number of times that the exchange was begun again.
    var repetitions = 0
    /// The reason why the last server could not be used.
    var lastReason = "no server could be used"

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    /// Whether the request may be sent to another server while the first one does not answer.
    var hasOtherServer: Bool {
        exchange.request.isIdempotent && !exchange.isStream
            && endpoints.dropFirst().contains { !silentEndpoints.contains($0) }
    }

    /// Moves the first server, which has not begun to answer, behind the others.
    func skipServer() {
        silentEndpoints.insert(endpoints[0])
        endpoints.append(endpoints.removeFirst())
        forgetAddresses()
    }

    /// Gives up the first server.
    func dropServer() {
        endpoints.removeFirst()
        forgetAddresses()
    }

    func forgetAddresses() {
        (addresses, hasExpiredAddresses, needsNewAddresses, lookupDeadline) = (nil, false, false, nil)
    }
}
