// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The thread of a ``SocketTransport``: waits for its sockets, and for commands of other threads.
final class SocketLoop: Sendable {
    enum Command: Sendable {
        case start(Exchange)
        /// The exchange has ended, so that its connection must be closed.
        case abandon(Exchange)
        /// Prefer another server.
        case avoidCurrentServer
        /// The task of a stream has received everything.
        case resumeReading(Exchange)
        /// A blocking caller reports a failure, or the return of the lent connection.
        case lent(LentConnection.Event)
        /// The host of a server was looked up.
        case lookedUp(Int, SocketAddress.Lookup)
    }

    private struct State {
        var commands: [Command] = []
        /// The socket that the thread waits for, and the one that wakes it; `nil` before it has started.
        var pair: (waiting: FileHandle, waking: FileHandle)?
        var isWoken = false
        var isClosed = false
    }

    private let endpoints: [EtcdEndpoint]
    private let configuration: SocketTransport.Configuration
    private let lent: LentConnection
    private let state = Locked(State())
    private let forks = Forks.count

    init(_ endpoints: [EtcdEndpoint], _ configuration: SocketTransport.Configuration) {
        self.endpoints = endpoints
        self.configuration = configuration.bounded
        lent = LentConnection(lifetime: configuration.bounded.idleConnectionLifetime)
    }

    /// Sends a command to the thread, which is started by the first one.
    ///
    /// - Throws: ``EtcdTransportError`` when the loop is closed, or the system refuses to start a thread.
    func post(_ command: Command) throws(EtcdTransportError) {
        // A forked child has no copy of the thread, and shares the connections with its parent.
        guard Forks.count == forks else {
            throw Self.closed("the transport belongs to the process that this one was forked from")
        }
        try state.withLock { (state) throws(EtcdTransportError) in
            guard !state.isClosed else { throw Self.closed("the transport is closed") }
            if state.pair == nil { try start(&state) }
            state.commands.append(command)
            if !state.isWoken {
                state.isWoken = true
                wake(state)
            }
        }
    }

    /// Sends a command that has no effect on a loop that is closed.
    func postIfOpen(_ command: Command) {
        do {
            try post(command)
        } catch {
            // Closing has ended all exchanges.
        }
    }

    /// Sends a request on the calling thread, which waits for the response, if a connection is lent.
    func sendBlocking(_ request: EtcdRequest) -> LentConnection.Outcome {
        // The connection of a forked child is that of its parent.
        guard Forks.count == forks else { return .unavailable }
        return lent.send(request) { postIfOpen(.lent($0)) }
    }

    /// Ends all exchanges and the thread.
    func close() {
        // A thread of the parent may have held the lock at the fork, and would never release it in the child.
        guard Forks.count == forks else { return }
        state.withLock { state in
            state.isClosed = true
            wake(state)
        }
        lent.close()
    }

    /// Wakes the thread.
    ///
    /// If the program has closed the socket, the system has woken the thread.
    private func wake(_ state: State) {
        if let pair = state.pair { SocketCalls.wake(pair.waking.descriptor) }
    }

    private static func closed(_ reason: String) -> EtcdTransportError {
        EtcdTransportError(.closed, mayHaveArrived: false, reason: reason)
    }

    private func start(_ state: inout State) throws(EtcdTransportError) {
        do {
            state.pair = try SocketCalls.makePair()
            try BackgroundThread.start(SystemCalls()) { [self] in run() }
        } catch {
            state.pair = nil
            let reason =
                (error as? SocketCalls.Failure)?.reason ?? (error as? SystemError)?.reason ?? "an unknown error"
            throw EtcdTransportError(
                .unreachable,
                mayHaveArrived: false,
                reason: "the thread of the connections cannot be started: \(reason)"
            )
        }
    }

    // MARK: - The thread

    private func run() {
        let dispatcher = SocketDispatcher(endpoints, configuration, lent) { [self] index, host, port in
            lookUp(index, host, port)
        }
        var buffer = [UInt8](repeating: 0, count: 64)
        while true {
            let (commands, isClosed, waiting) = state.withLock { state in
                state.isWoken = false
                replaceClosedPair(&state)
                defer { state.commands = [] }
                return (state.commands, state.isClosed, state.pair?.waiting)
            }
            for command in commands { dispatcher.perform(command) }
            guard !isClosed else { return dispatcher.end() }
            dispatcher.continueExchanges()

            let descriptor = waiting?.descriptor ?? -1
            if descriptor < 0 { SystemCalls.sleep(seconds: 0.01) }
            var interests = dispatcher.interests + [SocketCalls.Interest(descriptor: descriptor, isReading: true)]
            SocketCalls.wait(for: &interests, timeout: dispatcher.timeUntilDeadline)
            if interests.removeLast().isReadable {
                do {
                    _ = try SocketCalls.receive(into: &buffer, waiting?.descriptor ?? -1)
                } catch {
                    // Nothing has arrived.
                }
            }
            dispatcher.handle(interests)
        }
    }

    /// Replaces the sockets that wake the thread if the program has closed them.
    private func replaceClosedPair(_ state: inout State) {
        guard let pair = state.pair, !pair.waiting.isOpen || !pair.waking.isOpen else { return }
        do {
            state.pair = try SocketCalls.makePair()
        } catch {
            // No descriptor is available. The thread tries again soon.
        }
    }

    /// Looks up a host on a thread of its own, because that may wait for name servers.
    ///
    /// At most one lookup of each server runs at a time.
    private func lookUp(_ index: Int, _ host: String, _ port: UInt16) {
        do {
            try BackgroundThread.start(SystemCalls()) { [self] in
                report(index, SocketAddress.lookUp(host, port: port, isNumeric: false))
            }
        } catch {
            report(index, .failure(error.reason))
        }
    }

    private func report(_ index: Int, _ result: SocketAddress.Lookup) {
        postIfOpen(.lookedUp(index, result))
    }
}
