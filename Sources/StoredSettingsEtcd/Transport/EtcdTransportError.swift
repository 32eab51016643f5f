// SPDX-License-Identifier: Apache-2.0

/// A request that received no usable response.
///
/// It never contains a part of a request or a response.
public struct EtcdTransportError: Error, Hashable, Sendable {
    /// A kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        private init(_ description: String) {
            self.description = description
        }

        /// No server could be connected.
        public static let unreachable = Code("unreachable")
        /// The connection ended before the response was complete.
        public static let connectionLost = Code("connectionLost")
        /// A timeout has passed.
        public static let timedOut = Code("timedOut")
        /// The response is not valid HTTP, or exceeds a limit other than the size of its body.
        public static let malformedResponse = Code("malformedResponse")
        /// The body of the response exceeds ``EtcdRequest/maximumResponseSize``.
        public static let responseTooLarge = Code("responseTooLarge")
        /// The task was canceled.
        public static let canceled = Code("canceled")
        /// The transport is closed, or belongs to the process from which this one was forked.
        public static let closed = Code("closed")
        /// The address of a server, the path or a header of a request is invalid, or there is no server.
        public static let invalidArgument = Code("invalidArgument")
    }

    /// The kind of failure.
    public var code: Code
    /// Whether the server may have received the request, and may have executed it.
    ///
    /// `false` is certain: nothing of the request was sent.
    public var mayHaveArrived: Bool
    /// The cause, one sentence without a period.
    public var reason: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - mayHaveArrived: Whether the server may have received the request.
    ///   - reason: The cause, one sentence without a period and without a part of the request or the response.
    public init(_ code: Code, mayHaveArrived: Bool, reason: String) {
        self.code = code
        self.mayHaveArrived = mayHaveArrived
        self.reason = reason
    }
}

extension EtcdTransportError: CustomStringConvertible {
    /// The cause, the consequence and what to do.
    public var description: String {
        let consequence =
            mayHaveArrived ? "The server may have executed the request." : "Nothing of the request was sent."
        return "\(reason). \(consequence) \(fix)"
    }

    private var fix: String {
        switch code {
        case .unreachable: "Check the addresses of the servers, and that one of them runs."
        case .connectionLost:
            "Repeat the request if that is safe; check the server and the network if it happens again."
        case .timedOut: "Repeat the request if that is safe; check the load of the server, or increase the timeout."
        case .malformedResponse:
            "Check that the address is that of an etcd server, and that no proxy changes responses."
        case .responseTooLarge: "Request less at a time, or increase the maximum size of a response."
        case .closed: "Create a new transport."
        case .invalidArgument: "Correct the addresses, the path or the header."
        default: "Repeat the request if that is safe."
        }
    }
}
