// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization
import TestSupport

/// A TCP proxy on the loopback interface that disturbs its connections as a test demands.
///
/// It uses threads of its own, and ends with the test. Changed faults apply to open connections, too.
package final class FaultyProxy: Sendable {
    package enum Direction: Sendable, CaseIterable {
        case toServer
        case toClient
    }

    /// What the proxy does to one direction.
    package struct Faults: Sendable {
        /// The time for which each piece is held back.
        package var delay = 0.0
        /// The maximum size of a piece.
        package var pieceSize = 65_536
        /// Whether bytes are held back until this is `false` again.
        package var isPaused = false
        /// The number of further bytes after which the connection that sends them is ended.
        package var bytesUntilEnd: Int?
        /// The number of further pieces that are sent twice.
        package var duplicates = 0

        package init() {}
    }

    private struct State {
        var toServer = Faults()
        var toClient = Faults()
        var refusesConnections = false
        var isResetting = false
        var connections: [Int: (client: LoopbackSocket, server: LoopbackSocket)] = [:]
        var lastConnection = 0
        var isStopped = false
    }

    private let target: UInt16
    private let listener: LoopbackSocket
    /// Protects `state`, and is signaled when it changes.
    private let condition = NSCondition()
    /// Unchecked: accessed only while `condition` is locked.
    nonisolated(unsafe) private var state = State()

    /// Creates a proxy.
    ///
    /// - Parameter target: The port of the server.
    /// - Throws: An error when there is no free port.
    package init(to target: UInt16) throws {
        self.target = target
        listener = try LoopbackSocket.listening()
        Thread.detachNewThread { [self] in accept() }
        Teardown.add { [self] in
            withState { $0.isStopped = true }
            listener.shutDown()
            dropConnections()
        }
    }

    /// The port of the proxy.
    package var port: UInt16 { listener.port }

    package var url: String { "http://127.0.0.1:\(port)" }

    // MARK: - Control

    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return body(&state)
    }

    /// Changes the faults of a direction.
    package func change(_ direction: Direction, _ body: (inout Faults) -> Void) {
        withState { state in
            switch direction {
            case .toServer: body(&state.toServer)
            case .toClient: body(&state.toClient)
            }
        }
    }

    /// Ends all faults, also for open connections.
    package func heal() {
        withState { state in
            (state.toServer, state.toClient) = (Faults(), Faults())
            (state.refusesConnections, state.isResetting) = (false, false)
        }
    }

    /// Ends all connections.
    ///
    /// - Parameter isReset: Whether the peers receive a reset.
    package func dropConnections(reset isReset: Bool = false) {
        let sockets = withState { $0.connections.values.flatMap { [$0.client, $0.server] } }
        for socket in sockets { isReset ? socket.reset() : socket.shutDown() }
    }

    /// Whether new connections are ended at once.
    package func refuseConnections(_ isRefusing: Bool = true) {
        withState { $0.refusesConnections = isRefusing }
    }

    /// The number of open connections.
    package var connectionCount: Int { withState { $0.connections.count } }

    // MARK: - Threads

    private func accept() {
        while let client = listener.accept() {
            let isRefused = withState { $0.isStopped || $0.refusesConnections }
            guard !isRefused, let server = connect(target) else {
                client.shutDown()
                continue
            }
            let number = withState { state in
                state.lastConnection += 1
                state.connections[state.lastConnection] = (client, server)
                return state.lastConnection
            }
            let remaining = Mutex(2)
            let end: @Sendable () -> Void = { [self] in
                let isLast = remaining.withLock { count in
                    count -= 1
                    return count == 0
                }
                if isLast { withState { $0.connections[number] = nil } }
            }
            Thread.detachNewThread { [self] in
                pass(.toServer, from: client, to: server)
                end()
            }
            Thread.detachNewThread { [self] in
                pass(.toClient, from: server, to: client)
                end()
            }
        }
    }

    private func connect(_ port: UInt16) -> LoopbackSocket? {
        do {
            return try LoopbackSocket.connected(to: port)
        } catch {
            return nil
        }
    }

    private func pass(_ direction: Direction, from source: LoopbackSocket, to sink: LoopbackSocket) {
        while true {
            let faults = faults(direction)
            let bytes = source.read(atMost: max(1, faults.pieceSize))
            guard !bytes.isEmpty else { break }
            guard let (pieces, isLast) = disturb(bytes, direction) else { break }
            for piece in pieces where !sink.write(piece) {
                source.shutDown()
                return
            }
            if isLast {
                source.shutDown()
                break
            }
        }
        // Ending both directions at once keeps the peers from waiting for each other.
        sink.shutDown()
    }

    private func faults(_ direction: Direction) -> Faults {
        withState { direction == .toServer ? $0.toServer : $0.toClient }
    }

    /// Applies the faults to a piece.
    ///
    /// - Returns: The pieces to send, and whether the connection ends after them; `nil` when the proxy was stopped.
    private func disturb(_ bytes: [UInt8], _ direction: Direction) -> ([[UInt8]], isLast: Bool)? {
        let delay = faults(direction).delay
        // The delay is the fault.
        if delay > 0 { Thread.sleep(forTimeInterval: delay) }
        condition.lock()
        defer { condition.unlock() }
        while (direction == .toServer ? state.toServer : state.toClient).isPaused, !state.isStopped { condition.wait() }
        guard !state.isStopped else { return nil }
        var faults = direction == .toServer ? state.toServer : state.toClient
        defer { if direction == .toServer { state.toServer = faults } else { state.toClient = faults } }
        if let remaining = faults.bytesUntilEnd {
            guard remaining > bytes.count else {
                faults.bytesUntilEnd = nil
                return ([Array(bytes.prefix(remaining))], true)
            }
            faults.bytesUntilEnd = remaining - bytes.count
        }
        guard faults.duplicates > 0 else { return ([bytes], false) }
        faults.duplicates -= 1
        return ([bytes, bytes], false)
    }
}
