// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import Synchronization

/// A blocking TCP socket on the loopback interface.
///
/// Its descriptor is closed when the last reference is released, so that no other thread can use it by mistake.
package final class LoopbackSocket: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        init(_ call: String) {
            description = "\(call): \(String(cString: strerror(errno)))"
        }
    }

    private let descriptor: CInt

    init(_ descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    private static func make() throws -> LoopbackSocket {
        let descriptor = socket(AF_INET, CLibrary.streamSocket | CLibrary.closesOnExecution, 0)
        guard descriptor >= 0 else { throw Failure("socket") }
        return LoopbackSocket(descriptor)
    }

    private static func withAddress<Result>(
        _ port: UInt16,
        _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
    ) -> (Result, port: UInt16) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafeMutablePointer(to: &address) { address in
            // An IPv4 address is a socket address.
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return (result, UInt16(bigEndian: address.sin_port))
    }

    // MARK: - Connecting

    /// The ports of servers of tests.
    ///
    /// With the default settings, the system assigns none of them to another socket. So a port that a test has released is not soon used by another
    /// server, which would receive what is sent to the first one.
    private static let ports: Range<UInt16> = 10_000..<32_768

    /// The number of attempts, with a random beginning, because several test processes may run at the same time.
    private static let attempts = Atomic(Int.random(in: 0..<ports.count))

    /// Creates a socket that listens on a free port, whose number follows that of the last one.
    package static func listening() throws -> LoopbackSocket {
        for _ in ports {
            let number = attempts.wrappingAdd(1, ordering: .relaxed).newValue
            if let socket = try listening(on: ports.lowerBound + UInt16(number % ports.count)) { return socket }
        }
        throw Failure("bind")
    }

    /// - Returns: The socket; `nil` if another one has the port.
    private static func listening(on port: UInt16) throws -> LoopbackSocket? {
        let socket = try make()
        var isReused: CInt = 1
        setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<CInt>.size))
        let result = withAddress(port) { bind(socket.descriptor, $0, $1) }.0
        // Two sockets that are bound at the same time: the first one that listens has the port.
        if result == 0, listen(socket.descriptor, 64) == 0 { return socket }
        guard errno == EADDRINUSE else { throw Failure(result == 0 ? "listen" : "bind") }
        return nil
    }

    package static func connected(to port: UInt16) throws -> LoopbackSocket {
        let socket = try make()
        guard withAddress(port, { connect(socket.descriptor, $0, $1) }).0 == 0 else { throw Failure("connect") }
        socket.sendAtOnce()
        return socket
    }

    /// Waits for a connection.
    ///
    /// - Returns: The connection; `nil` when the socket was shut down.
    package func accept() -> LoopbackSocket? {
        let number = Foundation.accept(descriptor, nil, nil)
        guard number >= 0 else { return nil }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        let socket = LoopbackSocket(number)
        socket.sendAtOnce()
        return socket
    }

    /// The local port.
    package var port: UInt16 {
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return
            Self.withAddress(0) { address, _ in
                var length = size
                return getsockname(descriptor, address, &length)
            }
            .port
    }

    private func sendAtOnce() {
        var isOn: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<CInt>.size))
    }

    // MARK: - Input and output

    /// Waits for bytes.
    ///
    /// - Returns: The bytes; none at the end of the connection.
    package func read(atMost limit: Int = 65_536) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var result = -1
            repeat { result = recv(descriptor, buffer.baseAddress, limit, 0) } while result < 0 && errno == EINTR
            count = max(0, result)
        }
    }

    /// Waits until bytes are sent.
    ///
    /// - Returns: Whether all were sent.
    @discardableResult
    package func write(_ bytes: some Collection<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        #if os(Linux)
        let flags = CInt(MSG_NOSIGNAL)
        #else
        let flags: CInt = 0
        #endif
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }
            guard count > 0 || count < 0 && errno == EINTR else { return false }
            rest = rest.dropFirst(max(0, count))
        }
        return true
    }

    /// Ends the connection, and every call that waits for it.
    package func shutDown() {
        shutdown(descriptor, CInt(SHUT_RDWR))
    }

    /// Makes the peer receive a reset when the socket is closed, and ends every call that waits for input.
    package func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        shutdown(descriptor, CInt(SHUT_RD))
    }
}
