// SPDX-License-Identifier: Apache-2.0

/// The address of an etcd server without TLS.
///
/// ```swift
/// let endpoints = try ["http://10.0.0.1:2379", "http://[fd00::2]:2379", "unix:/run/etcd.sock"].map(EtcdEndpoint.init)
/// ```
public struct EtcdEndpoint: Hashable, Sendable {
    enum Address: Hashable, Sendable {
        case tcp(host: String, port: UInt16)
        case unix(path: String)
    }

    let address: Address
    /// The value of the header `Host`, which every request has.
    let host: String

    /// Creates an endpoint from a URL.
    ///
    /// - Parameter url: `http://HOST:PORT`, where an IPv6 address is in square brackets and the port is 2379 if it is
    ///   omitted; or `unix:PATH` with an absolute path.
    /// - Throws: ``EtcdTransportError`` with ``EtcdTransportError/Code/invalidArgument``.
    public init(_ url: String) throws(EtcdTransportError) {
        address = try Self.address(of: url)
        host =
            switch address {
            case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            case .unix: "localhost"
            }
    }

    private static func address(of url: String) throws(EtcdTransportError) -> Address {
        if url.hasPrefix("unix:") {
            var path = Substring(url.dropFirst("unix:".count))
            if path.hasPrefix("//") { path = path.dropFirst(2) }
            guard path.hasPrefix("/"), !path.utf8.contains(0), path.utf8.count <= SocketAddress.longestPath else {
                throw invalid("the path of a Unix socket must be absolute and short")
            }
            return .unix(path: String(path))
        }
        guard !url.hasPrefix("https:") else {
            throw invalid("the built-in transport has no TLS; use a local proxy, or an EtcdTransport of your own")
        }
        guard url.hasPrefix("http://") else { throw invalid("an address begins with 'http://' or 'unix:'") }
        var rest = url.dropFirst("http://".count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        let host: Substring
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { throw invalid("an IPv6 address ends with ']'") }
            host = rest[rest.index(after: rest.startIndex)..<end]
            rest = rest[rest.index(after: end)...]
        } else {
            host = rest.prefix { $0 != ":" }
            rest = rest.dropFirst(host.count)
        }
        guard !host.isEmpty, host.utf8.count <= 255, host.utf8.allSatisfy(isValidInHost) else {
            throw invalid("the host is empty or contains a character that no host has")
        }
        guard !rest.isEmpty else { return .tcp(host: String(host), port: 2_379) }
        guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()), port > 0 else {
            throw invalid("the port is not between 1 and 65535")
        }
        return .tcp(host: String(host), port: port)
    }

    /// Letters, digits and the punctuation of names and addresses, including the zone of an IPv6 address.
    private static func isValidInHost(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A: true
        default: "-._%".utf8.contains(byte)
        }
    }

    private static func invalid(_ reason: String) -> EtcdTransportError {
        EtcdTransportError(
            .invalidArgument,
            mayHaveArrived: false,
            reason: "the address of a server is invalid: \(reason)"
        )
    }
}

extension EtcdEndpoint: CustomStringConvertible {
    /// The URL.
    public var description: String {
        switch address {
        case .tcp: "http://\(host)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
