// SPDX-License-Identifier: Apache-2.0

/// A request to etcd's JSON gateway, which an ``EtcdTransport`` sends with the method POST.
public struct EtcdRequest: Sendable {
    /// A header of a request.
    public struct Header: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value, which is a secret if the name is `Authorization`.
        public var value: String

        /// Creates a header.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The path, which begins with a slash.
    public var path: String
    /// The headers, except for those that describe the connection and the length of the body.
    public var headers: [Header]
    /// The body, which is JSON.
    public var body: [UInt8]
    /// Whether the request may be sent again when it is unknown if the server has executed it.
    public var isIdempotent: Bool
    /// The maximum time until the response is complete; for a stream, until its head has arrived.
    public var timeout: Duration
    /// The maximum time between two pieces of a stream.
    public var idleTimeout: Duration
    /// The maximum size of the body of the response, in bytes; a stream with status 200 is not limited.
    public var maximumResponseSize: Int
    /// Whether the built-in transport opens a connection for the request.
    ///
    /// What arrives first on a new connection is the answer to this request. On a used one, it could be a repetition of an
    /// earlier answer, if a proxy sends bytes twice.
    var needsNewConnection = false

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - path: The path, which begins with a slash.
    ///   - headers: The headers, except for those that describe the connection and the length of the body.
    ///   - body: The body.
    ///   - isIdempotent: Whether the request may be sent again when it is unknown if the server has executed it.
    ///   - timeout: The maximum time until the response is complete; for a stream, until its head has arrived.
    ///   - idleTimeout: The maximum time between two pieces of a stream.
    ///   - maximumResponseSize: The maximum size of the body of the response, in bytes.
    public init(
        path: String,
        headers: [Header] = [],
        body: [UInt8],
        isIdempotent: Bool = false,
        timeout: Duration = .seconds(10),
        idleTimeout: Duration = .seconds(900),
        maximumResponseSize: Int = 64 << 20
    ) {
        self.path = path
        self.headers = headers
        self.body = body
        self.isIdempotent = isIdempotent
        self.timeout = timeout
        self.idleTimeout = idleTimeout
        self.maximumResponseSize = maximumResponseSize
    }
}

extension EtcdRequest: CustomStringConvertible {
    /// The path and the size of the body, which may contain secrets.
    public var description: String { "POST \(path), \(body.count) bytes" }
}

/// The response to an ``EtcdRequest``.
public struct EtcdResponse: Sendable, Hashable {
    /// The HTTP status, for example 200.
    public var status: Int
    /// The body, without any encoding of the transfer.
    public var body: [UInt8]

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - body: The body, without any encoding of the transfer.
    public init(status: Int, body: [UInt8] = []) {
        self.status = status
        self.body = body
    }
}

extension EtcdResponse: CustomStringConvertible {
    /// The status and the size of the body, which may contain secrets.
    public var description: String { "status \(status), \(body.count) bytes" }
}
