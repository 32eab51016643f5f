// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The built-in transport: HTTP/1.1 without TLS, over TCP or Unix sockets.
///
/// ```swift
/// let transport = try SocketTransport(["http://10.0.0.1:2379", "http://10.0.0.2:2379", "http://10.0.0.3:2379"])
/// ```
///
/// Requests go to the first server until it fails, then to the next one. A request that may have arrived is not repeated
/// unless it is ``EtcdRequest/isIdempotent``. Such a request is sent to the next server, too, if the first one does not begin to
/// answer within ``Configuration/answerTimeout``. Connections are reused. One thread waits for all of them, except for one on
/// which a blocking call such as a set waits itself; it is started by the first request, and ends when the transport is closed or
/// released. A process that is forked from this one needs a
/// transport of its own.
///
/// It does not encrypt: use it on a trusted network, or with a local proxy.
public final class SocketTransport: EtcdTransport {
    /// The limits and timeouts of a transport.
    public struct Configuration: Sendable, Hashable {
        /// The maximum time until a connection to one address is established, or a host is looked up.
        ///
        /// The default is 3 s.
        public var connectTimeout = Duration.seconds(3)
        /// The time after which a request that is ``EtcdRequest/isIdempotent`` is sent to another server if the first one has not
        /// begun to answer.
        ///
        /// When no other server is left, the request waits until its own timeout. Streams are not sent to another server. The
        /// default is 2 s.
        public var answerTimeout = Duration.seconds(2)
        /// The time after which a connection ends whose peer does not answer TCP probes.
        ///
        /// The default is 20 s.
        public var deadPeerTimeout = Duration.seconds(20)
        /// The time after which a connection without a request is closed.
        ///
        /// The default is 60 s.
        public var idleConnectionLifetime = Duration.seconds(60)
        /// The maximum number of connections, without those of streams.
        ///
        /// Further requests wait. Every stream has a connection of its own. The default is 16.
        public var maximumConnections = 16

        /// The time after which a host is looked up again.
        var addressLifetime = EndpointTable.addressLifetime

        /// Creates the default configuration.
        public init() {}

        /// The configuration with values that can be used.
        var bounded: Configuration {
            var bounded = self
            bounded.connectTimeout = connectTimeout.bounded
            bounded.answerTimeout = answerTimeout.bounded
            bounded.deadPeerTimeout = deadPeerTimeout.bounded
            bounded.idleConnectionLifetime = idleConnectionLifetime.bounded
            bounded.addressLifetime = addressLifetime.bounded
            bounded.maximumConnections = max(1, maximumConnections)
            return bounded
        }
    }

    let endpoints: Set<EtcdEndpoint>
    private let loop: SocketLoop

    /// Creates a transport.
    ///
    /// It connects when the first request is sent.
    ///
    /// - Parameters:
    ///   - endpoints: The servers, all members of one cluster; the preferred one first.
    ///   - configuration: The limits and timeouts.
    public init(endpoints: [EtcdEndpoint], configuration: Configuration = Configuration()) {
        self.endpoints = Set(endpoints)
        loop = SocketLoop(endpoints, configuration)
    }

    /// Creates a transport from the URLs of servers.
    ///
    /// - Parameters:
    ///   - urls: The servers, as described by ``EtcdEndpoint/init(_:)``; the preferred one first.
    ///   - configuration: The limits and timeouts.
    /// - Throws: ``EtcdTransportError`` with ``EtcdTransportError/Code/invalidArgument`` if an address is invalid, or there is
    ///   none.
    public convenience init(_ urls: [String], configuration: Configuration = Configuration()) throws {
        guard !urls.isEmpty else {
            throw EtcdTransportError(.invalidArgument, mayHaveArrived: false, reason: "no server is named")
        }
        self.init(endpoints: try urls.map { try EtcdEndpoint($0) }, configuration: configuration)
    }

    deinit {
        loop.close()
    }

    /// Closes all connections.
    ///
    /// Requests that have not ended, and later ones, fail with ``EtcdTransportError/Code/closed``.
    public func close() {
        loop.close()
    }

    /// Sends a request, and returns the complete response.
    ///
    /// - Throws: ``EtcdTransportError``.
    public func send(_ request: EtcdRequest) async throws -> EtcdResponse {
        try check(request)
        let exchange = Exchange(request, isStream: false)
        try loop.post(.start(exchange))
        switch await next(of: exchange) {
        case .response(let response): return response
        case .failure(let error): throw error
        case .piece:
            throw EtcdTransportError(.malformedResponse, mayHaveArrived: true, reason: "the response has no end")
        }
    }

    /// Sends a request on the calling thread, which waits for the response.
    ///
    /// It is not sent to another server, and at most once, even if it is ``EtcdRequest/isIdempotent``. The caller must not be
    /// the thread of the sockets, or one that runs the tasks of replicas.
    ///
    /// - Returns: The result. If no connection is available, nothing was sent, and the next one that becomes idle will be.
    func sendBlocking(_ request: EtcdRequest) -> LentConnection.Outcome {
        do throws(EtcdTransportError) {
            try HTTPRequestText.check(request)
        } catch {
            return .failure(error)
        }
        return loop.sendBlocking(request)
    }

    /// Sends a request, and passes on the body of its response while it arrives.
    ///
    /// - Throws: ``EtcdTransportError``, or the error of the closure.
    public func stream(
        _ request: EtcdRequest,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws -> EtcdResponse {
        try check(request)
        let exchange = Exchange(request, isStream: true)
        try loop.post(.start(exchange))
        while true {
            switch await next(of: exchange) {
            case .response(let response): return response
            case .failure(let error): throw error
            case .piece(let bytes):
                do {
                    try await receive(bytes)
                } catch {
                    abandon(exchange)
                    throw error
                }
            }
        }
    }

    /// Prefers another server from now on.
    func avoidCurrentServer() { loop.postIfOpen(.avoidCurrentServer) }

    private func check(_ request: EtcdRequest) throws(EtcdTransportError) {
        try HTTPRequestText.check(request)
        guard !Task.isCancelled else {
            throw EtcdTransportError(.canceled, mayHaveArrived: false, reason: "the task was canceled")
        }
    }

    private func next(of exchange: Exchange) async -> Exchange.Event {
        await withTaskCancellationHandler {
            let (event, isPaused) = await exchange.next()
            if isPaused { loop.postIfOpen(.resumeReading(exchange)) }
            return event
        } onCancel: {
            abandon(exchange)
        }
    }

    private func abandon(_ exchange: Exchange) {
        exchange.fail(.canceled, "the task was canceled")
        loop.postIfOpen(.abandon(exchange))
    }
}
