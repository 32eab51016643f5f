// SPDX-License-Identifier: Apache-2.0

/// The connection to etcd: sends HTTP requests to its JSON gateway.
///
/// ``SocketTransport`` is the built-in transport. It speaks HTTP without TLS. For TLS and client certificates, either run a
/// local proxy such as stunnel or envoy, or implement this protocol over a client that supports them. With
/// AsyncHTTPClient, a transport is:
///
/// ```swift
/// import AsyncHTTPClient
/// import NIOCore
/// import NIOHTTP1
/// import StoredSettingsEtcd
///
/// struct SecureTransport: EtcdTransport {
///     /// A client whose `tlsConfiguration` has the certificates, and whose `timeout.read` exceeds 15 minutes.
///     let client: HTTPClient
///     /// For example `https://etcd.example.com:2379`.
///     let server: String
///
///     func send(_ request: EtcdRequest) async throws -> EtcdResponse {
///         let response = try await client.execute(message(request), timeout: TimeAmount(request.timeout))
///         return try await collect(response, request)
///     }
///
///     func stream(
///         _ request: EtcdRequest,
///         receive: @escaping @Sendable ([UInt8]) async throws -> Void
///     ) async throws -> EtcdResponse {
///         // A deadline would end the stream; `timeout.read` limits every wait for its next piece.
///         let response = try await client.execute(message(request), deadline: .distantFuture)
///         guard response.status == .ok else { return try await collect(response, request) }
///         for try await piece in response.body { try await receive(Array(piece.readableBytesView)) }
///         return EtcdResponse(status: 200)
///     }
///
///     private func message(_ request: EtcdRequest) -> HTTPClientRequest {
///         var message = HTTPClientRequest(url: server + request.path)
///         message.method = .POST
///         for header in request.headers { message.headers.add(name: header.name, value: header.value) }
///         message.body = .bytes(request.body)
///         return message
///     }
///
///     private func collect(_ response: HTTPClientResponse, _ request: EtcdRequest) async throws -> EtcdResponse {
///         do {
///             let body = try await response.body.collect(upTo: request.maximumResponseSize)
///             return EtcdResponse(status: Int(response.status.code), body: Array(body.readableBytesView))
///         } catch is NIOTooManyBytesError {
///             throw EtcdTransportError(.responseTooLarge, mayHaveArrived: true, reason: "the response is too large")
///         }
///     }
/// }
/// ```
///
/// ## Requirements
///
/// - A request whose ``EtcdRequest/isIdempotent`` is `false` is never sent twice, unless nothing of it was sent the first
///   time.
/// - A method that throws ``EtcdTransportError`` reports with ``EtcdTransportError/mayHaveArrived`` whether the server may
///   have executed the request. After any other error, the library assumes that it may have.
/// - Canceling the task ends a call at once.
/// - A call blocks no thread of Swift concurrency. Any number of calls may run at the same time.
public protocol EtcdTransport: Sendable {
    /// Sends a request with the method POST, and returns the complete response.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response, whatever its status.
    /// - Throws: ``EtcdTransportError``, or another error after which the server may have executed the request.
    func send(_ request: EtcdRequest) async throws -> EtcdResponse

    /// Sends a request with the method POST, and passes on the body of its response while it arrives.
    ///
    /// The method returns when the server ends the response. It ends early when the task is canceled, and when the closure
    /// throws; the connection of the request is closed then. The next piece is passed when the closure has returned, so that
    /// a slow receiver slows down the server instead of using more and more memory.
    ///
    /// ``EtcdRequest/timeout`` is for the time until the head of the response arrives.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - receive: A closure that receives the pieces of the body of a response with status 200, in order. Their bounds have
    ///     no meaning.
    /// - Returns: The response. Its body is empty if the closure has received it, and complete if the status is not 200.
    /// - Throws: ``EtcdTransportError``, the error of the closure, or another error after which the server may have executed
    ///   the request.
    func stream(
        _ request: EtcdRequest,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws -> EtcdResponse
}
