// SPDX-License-Identifier: Apache-2.0

import StoredSettings

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The system calls of sockets, each wrapped once.
///
/// No call waits, except for ``wait(for:timeout:)``. No call raises `SIGPIPE`. All descriptors are closed when another
/// program is executed.
enum SocketCalls {
    /// The error number of a call that has failed.
    struct Failure: Error, Hashable {
        let number: CInt

        /// Whether the call would have waited.
        var isWait: Bool { number == EAGAIN || number == EWOULDBLOCK || number == EINTR }

        /// The system's description.
        var reason: String { String(cString: strerror(number)) }
    }

    /// Creates a socket, and starts to connect it.
    ///
    /// - Parameters:
    ///   - address: The address of the server.
    ///   - deadPeerTimeout: The time after which a connection to a peer that does not answer ends.
    /// - Returns: The socket.
    /// - Throws: ``Failure`` when the attempt fails at once.
    static func connect(_ address: SocketAddress, deadPeerTimeout: Duration) throws(Failure) -> FileHandle {
        #if canImport(Glibc)
        let kind = CInt(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        #if canImport(Darwin)
        let descriptor = SystemCalls.newDescriptor { socket(address.family, kind, 0) }
        #else
        let descriptor = SystemCalls.newDescriptor {
            socket(address.family, kind | closesOnExecution | doesNotBlock, 0)
        }
        #endif
        guard descriptor >= 0 else { throw Failure(number: errno) }
        let handle = FileHandle(descriptor: descriptor, path: "socket")
        #if canImport(Darwin)
        prepare(descriptor)
        set(descriptor, SOL_SOCKET, SO_NOSIGPIPE, 1)
        #endif
        if address.family != AF_UNIX { detectDeadPeers(descriptor, deadPeerTimeout) }
        let result = address.withAddress { start, length in
            #if canImport(Glibc)
            Glibc.connect(descriptor, start, length)
            #elseif canImport(Musl)
            Musl.connect(descriptor, start, length)
            #else
            Darwin.connect(descriptor, start, length)
            #endif
        }
        // A connect that is interrupted continues, like one that would wait.
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else {
            throw Failure(number: errno)
        }
        return handle
    }

    #if !canImport(Darwin)
    #if canImport(Glibc)
    private static let closesOnExecution = CInt(SOCK_CLOEXEC.rawValue)
    private static let doesNotBlock = CInt(SOCK_NONBLOCK.rawValue)
    #else
    private static let closesOnExecution = SOCK_CLOEXEC
    private static let doesNotBlock = SOCK_NONBLOCK
    #endif
    #endif

    /// Sends small requests at once, and probes an idle connection.
    private static func detectDeadPeers(_ descriptor: CInt, _ timeout: Duration) {
        let seconds = CInt(min(max(timeout.components.seconds, 3), 3_600))
        let tcp = CInt(IPPROTO_TCP)
        set(descriptor, tcp, TCP_NODELAY, 1)
        set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        set(descriptor, tcp, TCP_KEEPINTVL, max(1, seconds / 4))
        set(descriptor, tcp, TCP_KEEPCNT, 3)
        #if canImport(Darwin)
        set(descriptor, tcp, TCP_KEEPALIVE, max(1, seconds / 4))
        // A connection with data that is not acknowledged is not probed.
        set(descriptor, tcp, TCP_RXT_CONNDROPTIME, seconds)
        #else
        set(descriptor, tcp, TCP_KEEPIDLE, max(1, seconds / 4))
        // A connection with data that is not acknowledged is not probed.
        set(descriptor, tcp, TCP_USER_TIMEOUT, seconds * 1_000)
        #endif
    }

    /// Sets an option.
    ///
    /// A failure is ignored: the options only make the detection of a dead peer faster.
    private static func set(_ descriptor: CInt, _ level: CInt, _ option: CInt, _ value: CInt) {
        var value = value
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Returns the failure of a connection attempt that has ended.
    static func connectionFailure(_ descriptor: CInt) -> Failure? {
        var number: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length) == 0 else { return Failure(number: errno) }
        return number == 0 ? nil : Failure(number: number)
    }

    /// Sends bytes.
    ///
    /// - Returns: The number of bytes that were sent.
    static func send(_ bytes: ArraySlice<UInt8>, _ descriptor: CInt) throws(Failure) -> Int {
        #if canImport(Darwin)
        let flags: CInt = 0
        #else
        let flags = CInt(MSG_NOSIGNAL)
        #endif
        let count = bytes.withUnsafeBytes { buffer in
            #if canImport(Glibc)
            Glibc.send(descriptor, buffer.baseAddress, buffer.count, flags)
            #elseif canImport(Musl)
            Musl.send(descriptor, buffer.baseAddress, buffer.count, flags)
            #else
            Darwin.send(descriptor, buffer.baseAddress, buffer.count, flags)
            #endif
        }
        guard count >= 0 else { throw Failure(number: errno) }
        return count
    }

    /// Receives bytes into a buffer.
    ///
    /// - Returns: The number of bytes; 0 at the end of the connection.
    static func receive(into buffer: inout [UInt8], _ descriptor: CInt) throws(Failure) -> Int {
        let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw Failure(number: errno) }
        return count
    }

    /// Creates two connected sockets: a thread that waits for one of them is woken by a byte.
    static func makePair() throws(Failure) -> (waiting: FileHandle, waking: FileHandle) {
        var ends: [CInt] = [-1, -1]
        #if canImport(Darwin)
        let kind = SOCK_STREAM
        #elseif canImport(Glibc)
        let kind = CInt(SOCK_STREAM.rawValue) | closesOnExecution | doesNotBlock
        #else
        let kind = SOCK_STREAM | closesOnExecution | doesNotBlock
        #endif
        SystemCalls.openStandardStreams()
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Failure(number: errno) }
        let handles = ends.map { FileHandle(descriptor: SystemCalls.aboveStandardStreams($0), path: "socket") }
        #if canImport(Darwin)
        for handle in handles {
            prepare(handle.descriptor)
            set(handle.descriptor, SOL_SOCKET, SO_NOSIGPIPE, 1)
        }
        #endif
        return (handles[0], handles[1])
    }

    #if canImport(Darwin)
    private static func prepare(_ descriptor: CInt) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }
    #endif

    /// Sends one byte.
    ///
    /// A socket that is full wakes its reader anyway.
    static func wake(_ descriptor: CInt) {
        do {
            _ = try send([1], descriptor)
        } catch {
            // It is full.
        }
    }

    /// Ends a connection, also for copies of its descriptor.
    static func shutDown(_ descriptor: CInt) {
        #if canImport(Glibc)
        _ = shutdown(descriptor, CInt(SHUT_RDWR))
        #else
        _ = shutdown(descriptor, SHUT_RDWR)
        #endif
    }

    /// A descriptor and the events to wait for; after the wait, the events that have occurred.
    struct Interest {
        var descriptor: CInt
        var isReading = false
        var isWriting = false
        var isReadable = false
        var isWritable = false
        var hasEnded = false

        fileprivate var isAwaited: Bool { isReading || isWriting }
    }

    /// Waits for an event of any descriptor.
    ///
    /// - Parameters:
    ///   - interests: The descriptors. A negative one has ended: the program has closed it.
    ///   - timeout: The maximum time; `nil` for no limit.
    static func wait(for interests: inout [Interest], timeout: Duration?) {
        var requests = interests.map { interest in
            let events = (interest.isReading ? POLLIN : 0) | (interest.isWriting ? POLLOUT : 0)
            let descriptor = interest.isAwaited ? interest.descriptor : -1
            return pollfd(fd: descriptor, events: Int16(events), revents: 0)
        }
        let hasClosed = interests.contains { $0.isAwaited && $0.descriptor < 0 }
        let timeout = hasClosed ? .zero : timeout
        // Rounded up, so that a timeout that has not passed does not cause a busy loop.
        let milliseconds = timeout.map { CInt(min(max(.zero, $0) / .milliseconds(1) + 1, 3_600_000)) } ?? -1
        let count = poll(&requests, nfds_t(requests.count), milliseconds)
        // The call fails when it is interrupted. Then nothing has occurred.
        guard count > 0 || hasClosed else { return }
        for (index, request) in requests.enumerated() {
            let events = CInt(request.revents)
            interests[index].isReadable = events & CInt(POLLIN) != 0
            interests[index].isWritable = events & CInt(POLLOUT) != 0
            interests[index].hasEnded =
                events & CInt(POLLHUP | POLLERR | POLLNVAL) != 0
                || interests[index].isAwaited && interests[index].descriptor < 0
        }
    }
}
