// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The address of a socket as the system represents it.
struct SocketAddress: Hashable, Sendable {
    let family: CInt
    private let bytes: [UInt8]

    /// The maximum length of the path of a Unix socket, in bytes, with room for a terminating NUL.
    static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// Creates the address of a Unix socket.
    ///
    /// - Parameter path: A path of at most ``longestPath`` bytes.
    init(unixPath path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { buffer in
            // The copy ends before the last byte, which stays 0.
            buffer.copyBytes(from: Array(path.utf8.prefix(Self.longestPath)))
        }
        family = AF_UNIX
        bytes = withUnsafeBytes(of: address) { Array($0) }
    }

    private init?(_ information: addrinfo) {
        guard let address = information.ai_addr, information.ai_addrlen > 0 else { return nil }
        family = information.ai_family
        // The system has allocated this many bytes at the address.
        bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(information.ai_addrlen)))
    }

    /// Calls a closure with the address, which is valid only during the call.
    func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        // A copy with the alignment that every address may need.
        var storage = sockaddr_storage()
        return withUnsafeMutableBytes(of: &storage) { buffer in
            buffer.copyBytes(from: bytes.prefix(buffer.count))
            guard let start = buffer.baseAddress else { return -1 }
            return body(UnsafePointer(start.assumingMemoryBound(to: sockaddr.self)), socklen_t(bytes.count))
        }
    }

    /// The addresses of a host.
    enum Lookup: Sendable {
        case addresses([SocketAddress])
        /// The reason of the failure, which does not contain the name.
        case failure(String)
    }

    /// Looks up a host.
    ///
    /// Waits for name servers unless the host is an address.
    ///
    /// - Parameters:
    ///   - host: A name or an address.
    ///   - port: The port.
    ///   - isNumeric: Whether the lookup fails for a name, so that it never waits.
    /// - Returns: The addresses, or the reason why there are none.
    static func lookUp(_ host: String, port: UInt16, isNumeric: Bool) -> Lookup {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        hints.ai_flags = AI_NUMERICSERV | (isNumeric ? AI_NUMERICHOST : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &list)
        guard result == 0, let first = list else {
            return .failure(gai_strerror(result).map { String(cString: $0) } ?? "error \(result)")
        }
        // The list is freed below; the addresses are copies.
        defer { freeaddrinfo(first) }
        var addresses: [SocketAddress] = []
        var next: UnsafeMutablePointer<addrinfo>? = first
        while let entry = next, addresses.count < mostAddresses {
            if let address = SocketAddress(entry.pointee), !addresses.contains(address) { addresses.append(address) }
            next = entry.pointee.ai_next
        }
        return addresses.isEmpty ? .failure("the host has no address") : .addresses(addresses)
    }

    /// The maximum number of addresses of a host that are used.
    private static let mostAddresses = 8
}
