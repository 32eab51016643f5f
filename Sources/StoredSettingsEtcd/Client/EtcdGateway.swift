// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// Sends messages to etcd's gateway, with a token if etcd requires one.
struct EtcdGateway: Sendable {
    let transport: any EtcdTransport
    /// The transport, if it can wait on the calling thread.
    private let sockets: SocketTransport?
    let authenticator: EtcdAuthenticator?
    private let configuration: EtcdClient.Configuration

    /// The time for reading the user and the password before a token is requested.
    private static let readingLimit = Duration.seconds(1)

    init(
        _ transport: any EtcdTransport,
        _ configuration: EtcdClient.Configuration,
        _ credentials: (@Sendable () async throws -> EtcdCredentials)?,
        _ executor: (any TaskExecutor)? = nil
    ) {
        self.transport = transport
        sockets = transport as? SocketTransport
        self.configuration = configuration
        authenticator = credentials.map { credentials in
            EtcdAuthenticator(executor: executor, limit: configuration.timeout + Self.readingLimit) {
                try await Self.requestToken(transport, configuration, credentials)
            }
        }
    }

    func avoidCurrentServer() { sockets?.avoidCurrentServer() }

    func request(_ path: String, _ body: [UInt8], isIdempotent: Bool) -> EtcdRequest {
        Self.request(path, body, isIdempotent: isIdempotent, configuration)
    }

    private static func request(
        _ path: String,
        _ body: [UInt8],
        isIdempotent: Bool,
        _ configuration: EtcdClient.Configuration
    ) -> EtcdRequest {
        EtcdRequest(
            path: path,
            body: body,
            isIdempotent: isIdempotent,
            timeout: configuration.timeout,
            maximumResponseSize: configuration.limits.responseSize
        )
    }

    func authorized(_ request: EtcdRequest, _ token: String?) -> EtcdRequest {
        var request = request
        if let token, !token.isEmpty { request.headers.append(.init("Authorization", token)) }
        return request
    }

    /// Sends a message, and returns the decoded response.
    ///
    /// If etcd refuses the token, the message is sent once more with a new one.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - body: The message as JSON.
    ///   - isReadOnly: Whether the request changes nothing.
    ///   - isIdempotent: Whether the request may be sent again when it is unknown if etcd has executed it.
    ///   - needsNewConnection: Whether the answer must not be that to an earlier request.
    ///   - decode: A closure that decodes the response.
    /// - Returns: The decoded response.
    /// - Throws: ``EtcdError``.
    func send<Response>(
        _ path: String,
        _ body: [UInt8],
        isReadOnly: Bool = true,
        isIdempotent: Bool = true,
        needsNewConnection: Bool = false,
        _ decode: (GatewayObject) throws(GatewayObject.Malformed) -> Response
    ) async throws(EtcdError) -> Response {
        var request = self.request(path, body, isIdempotent: isIdempotent)
        request.needsNewConnection = needsNewConnection
        do throws(EtcdError) {
            let token = try await authenticator?.token()
            var response = try await send(request, token)
            if let authenticator, Self.isAboutToken(response) {
                // etcd has refused the request before executing it, so it may be sent again.
                let newToken = try await authenticator.token(insteadOf: token)
                response = try await send(request, newToken)
            }
            return try Self.decode(response, decode)
        } catch {
            var error = error
            if isReadOnly { error.mayHaveHappened = false }
            throw error
        }
    }

    /// Sends a message on the calling thread, which waits for the response, and returns the decoded response.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - body: The message as JSON.
    ///   - decode: A closure that decodes the response.
    /// - Returns: The decoded response; `nil` if etcd has not executed the request, because there is no connection that the
    ///   thread can use, or because a token must be requested first.
    /// - Throws: ``EtcdError``.
    func sendBlocking<Response>(
        _ path: String,
        _ body: [UInt8],
        _ decode: (GatewayObject) throws(GatewayObject.Malformed) -> Response
    ) throws(EtcdError) -> Response? {
        guard let sockets else { return nil }
        let token = authenticator?.current
        guard authenticator == nil || token != nil else { return nil }
        switch sockets.sendBlocking(authorized(request(path, body, isIdempotent: false), token)) {
        case .unavailable: return nil
        case .failure(let error): throw failure(error, token)
        case .response(let response):
            if let authenticator, let token, Self.isAboutToken(response) {
                authenticator.discard(token)
                return nil
            }
            return try Self.decode(response, decode)
        }
    }

    private static func decode<Response>(
        _ response: EtcdResponse,
        _ decode: (GatewayObject) throws(GatewayObject.Malformed) -> Response
    ) throws(EtcdError) -> Response {
        guard response.status == 200 else { throw EtcdError(response) }
        do throws(GatewayObject.Malformed) {
            return try decode(GatewayObject(response.body))
        } catch {
            throw EtcdError(error)
        }
    }

    private func send(_ request: EtcdRequest, _ token: String?) async throws(EtcdError) -> EtcdResponse {
        do {
            return try await transport.send(authorized(request, token))
        } catch {
            throw failure(error, token)
        }
    }

    private func failure(_ error: any Error, _ token: String?) -> EtcdError {
        let error = EtcdError(error)
        // An etcd that was restored from a backup does not answer a request with a token of its lost future.
        if error.code == .timedOut, let token { authenticator?.discard(token) }
        return error
    }

    /// Whether etcd has refused a request because of its token.
    static func isAboutToken(_ response: EtcdResponse) -> Bool {
        guard response.status != 200 else { return false }
        do throws(GatewayObject.Malformed) {
            let object = try GatewayObject(response.body)
            return EtcdError.isAboutToken(
                grpcCode: try object.smallInteger("code"),
                message: try object.string("message")
            )
        } catch {
            return false
        }
    }

    private static func requestToken(
        _ transport: any EtcdTransport,
        _ configuration: EtcdClient.Configuration,
        _ readCredentials: @Sendable () async throws -> EtcdCredentials
    ) async throws -> String {
        let credentials: EtcdCredentials
        do {
            credentials = try await readCredentials()
        } catch let error as EtcdError {
            throw error
        } catch {
            throw EtcdError(.authenticationFailed, "the user and the password cannot be read: \(type(of: error))")
        }
        let message: [String: StoredValue] = [
            "name": .string(credentials.user), "password": .string(credentials.password),
        ]
        let body = try JSONWriter.compactText(of: .dictionary(message))
        let request = request("/v3/auth/authenticate", body, isIdempotent: true, configuration)
        do {
            let response = try await transport.send(request)
            guard response.status == 200 else {
                let error = EtcdError(response)
                // etcd without users needs no token.
                if error.code == .rejected(9), error.reason.contains("authentication is not enabled") { return "" }
                throw error
            }
            let token = try GatewayObject(response.body).string("token")
            // Another byte could not be sent in a header, and the token would never be replaced.
            guard !token.isEmpty, token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
                throw EtcdError(.malformedResponse, "etcd has sent an empty token, or one that is not printable")
            }
            return token
        } catch {
            var error = EtcdError(error)
            // Requesting a token changes nothing.
            error.mayHaveHappened = false
            throw error
        }
    }
}
