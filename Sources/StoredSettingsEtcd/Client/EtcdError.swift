// SPDX-License-Identifier: Apache-2.0

/// A failed request to etcd.
///
/// It never contains a key, a value or a password.
package struct EtcdError: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        /// No server could be reached, or the server that answered has no leader or shuts down.
        case unavailable
        case timedOut
        /// The task was canceled.
        case canceled
        /// The revision has been compacted. The number is the oldest revision that still exists, if etcd has sent it.
        case compacted(Int64?)
        /// The revision is greater than that of the cluster: it is not the cluster, or not the state, that it was.
        case futureRevision
        case permissionDenied
        /// The user or the password is wrong, or etcd requires a user and there is none.
        case authenticationFailed
        /// A transaction has more than ``EtcdLimits/operations`` operations.
        case tooManyOperations
        case requestTooLarge
        case responseTooLarge
        /// The database of the server has reached its quota.
        case noSpace
        /// The response is not what etcd sends.
        case malformedResponse
        /// The server has ended a watch without a reason that is listed here.
        case watchEnded
        /// The servers have other data than those that are known of the suite, and no person has accepted them.
        case otherCluster
        /// Another error of etcd, with its gRPC code.
        case rejected(Int)
        /// The transport is closed.
        case closed
    }

    package var code: Code
    /// Whether the server may have executed the request all the same.
    ///
    /// `false` is certain.
    package var mayHaveHappened: Bool
    /// The cause, one sentence without a period.
    package var reason: String

    package init(_ code: Code, mayHaveHappened: Bool = false, _ reason: String) {
        self.code = code
        self.mayHaveHappened = mayHaveHappened
        self.reason = reason
    }
}

extension EtcdError {
    /// Creates the error for an error that a transport has thrown.
    init(_ error: any Error) {
        if let error = error as? EtcdError {
            self = error
        } else if let error = error as? EtcdTransportError {
            let code: Code =
                switch error.code {
                case .timedOut: .timedOut
                case .canceled: .canceled
                case .malformedResponse: .malformedResponse
                case .responseTooLarge: .responseTooLarge
                case .closed: .closed
                default: .unavailable
                }
            self.init(code, mayHaveHappened: error.mayHaveArrived, error.reason)
        } else if let error = error as? GatewayObject.Malformed {
            self.init(.malformedResponse, mayHaveHappened: true, error.reason)
        } else if error is CancellationError {
            self.init(.canceled, mayHaveHappened: true, "the task was canceled")
        } else {
            // The description of another transport's error could contain anything.
            self.init(.unavailable, mayHaveHappened: true, "the transport has failed with \(type(of: error))")
        }
    }

    /// Creates the error for a response whose status is not 200.
    init(_ response: EtcdResponse) {
        do throws(GatewayObject.Malformed) {
            let object = try GatewayObject(response.body)
            let (code, text) = (try object.smallInteger("code"), try object.string("message"))
            // A proxy can answer with JSON, too. The codes of gRPC are those of etcd.
            guard 1...16 ~= code else { throw GatewayObject.Malformed("the code is not one of gRPC") }
            let message = text.isEmpty ? try object.string("error") : text
            self.init(grpcCode: code, message: message)
            if response.status >= 500, !Self.isWithoutLeader(message) { mayHaveHappened = true }
        } catch {
            // The response is not one of etcd's gateway, but of a proxy, or of another server.
            let isPassing = [502, 503, 504].contains(response.status)
            self.init(
                isPassing ? .unavailable : .malformedResponse,
                mayHaveHappened: response.status >= 500,
                "the server has answered with status \(response.status) instead of an error of etcd 3.4 or later"
            )
        }
    }

    /// Creates the error for an error of etcd.
    ///
    /// - Parameters:
    ///   - code: The gRPC code.
    ///   - message: The message of etcd, which contains neither keys nor values.
    init(grpcCode code: Int, message: String) {
        let has = { (part: String) in message.contains(part) }
        let kind: Code
        switch code {
        case 16: kind = .authenticationFailed
        case 7: kind = .permissionDenied
        case 3 where has("authentication failed") || has("user name is empty"): kind = .authenticationFailed
        case 3 where has("too many operations"): kind = .tooManyOperations
        case 3 where has("too large"), 8 where has("larger than max"): kind = .requestTooLarge
        case 8 where has("space exceeded"): kind = .noSpace
        case 8 where has("too many requests"): kind = .unavailable
        case 11 where has("compacted"): kind = .compacted(nil)
        case 11 where has("future revision"): kind = .futureRevision
        case 4: kind = .timedOut
        case 14: kind = .unavailable
        default: kind = .rejected(code)
        }
        // Canceled, unknown, deadline exceeded, internal, unavailable: the request may have been proposed before. A request that
        // exceeds the quota when it is executed is answered with an error, too. Every other code means that etcd has refused it.
        let mayHaveHappened = [1, 2, 4, 13, 14].contains(code) && !Self.isWithoutLeader(message) || kind == .noSpace
        self.init(kind, mayHaveHappened: mayHaveHappened, "etcd has refused the request: \(Self.printable(message))")
    }

    /// Whether a member of etcd has refused the request before it proposed anything.
    private static func isWithoutLeader(_ message: String) -> Bool { message.contains("no leader") }

    /// Whether the request was refused because of its token, so that a new token helps.
    static func isAboutToken(grpcCode code: Int, message: String) -> Bool {
        code == 16 || message.contains("invalid auth token") || message.contains("user name is empty")
            || message.contains("revision of auth store is old")
    }

    /// At most 200 printable ASCII characters of a message.
    static func printable(_ message: String) -> String {
        String(decoding: message.utf8.prefix(200).map { 0x20...0x7E ~= $0 ? $0 : 0x3F }, as: UTF8.self)
    }
}

extension EtcdError: CustomStringConvertible {
    package var description: String {
        "\(reason). \(mayHaveHappened ? "The request may have been executed." : "The request was not executed.")"
    }
}
