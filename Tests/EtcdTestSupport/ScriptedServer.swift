// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization
import TestSupport

/// An HTTP server on the loopback interface whose answers a test determines byte by byte.
///
/// Every connection has a thread of its own, which runs the closure of the test for every request. The server ends with the test.
package final class ScriptedServer: Sendable {
    /// A request that was received.
    package struct Request: Sendable {
        package var path: String
        package var headers: [String: String]
        package var body: String
        /// The number of the connection, from 1.
        package var connection: Int
    }

    /// What the closure does with the connection of a request.
    package struct Answer: Sendable {
        private let socket: LoopbackSocket

        init(_ socket: LoopbackSocket) {
            self.socket = socket
        }

        /// Sends bytes.
        @discardableResult
        package func send(_ text: String) -> Bool { socket.write(text.utf8) }

        /// Sends a response with a length.
        package func respond(_ body: String, status: Int = 200) {
            send("HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }

        /// Begins a response in chunks.
        package func beginStream() {
            send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        }

        @discardableResult
        package func sendChunk(_ text: String) -> Bool {
            send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
        }

        package func endStream() {
            send("0\r\n\r\n")
        }

        /// Ends the connection.
        package func close() {
            socket.shutDown()
        }

        /// Waits until the client ends the connection.
        package func waitForEnd() {
            while !socket.read().isEmpty {}
        }
    }

    private struct State {
        var requests: [Request] = []
        var connections: [Int: LoopbackSocket] = [:]
        var lastConnection = 0
    }

    private let listener: LoopbackSocket
    private let state = Mutex(State())
    private let answer: @Sendable (Request, Answer) -> Void

    /// Creates a server.
    ///
    /// - Parameter answer: A closure that answers a request.
    /// - Throws: An error when there is no free port.
    package init(_ answer: @escaping @Sendable (Request, Answer) -> Void) throws {
        self.answer = answer
        listener = try LoopbackSocket.listening()
        Thread.detachNewThread { [self] in accept() }
        Teardown.add { [self] in
            listener.shutDown()
            dropConnections()
        }
    }

    package var port: UInt16 { listener.port }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// All requests that were received completely.
    package var requests: [Request] { state.withLock { $0.requests } }

    package var acceptedConnections: Int { state.withLock { $0.lastConnection } }

    package var openConnections: Int { state.withLock { $0.connections.count } }

    package func dropConnections() {
        for socket in state.withLock({ Array($0.connections.values) }) { socket.shutDown() }
    }

    private func accept() {
        while let socket = listener.accept() {
            let number = state.withLock { state in
                state.lastConnection += 1
                state.connections[state.lastConnection] = socket
                return state.lastConnection
            }
            Thread.detachNewThread { [self] in
                serve(socket, number)
                state.withLock { $0.connections[number] = nil }
            }
        }
    }

    /// The beginnings of the paths that members of etcd request from each other.
    ///
    /// A member that another test has killed may have had the port of this server.
    private static let pathsOfMembers = ["/members", "/raft", "/version"]

    private func serve(_ socket: LoopbackSocket, _ number: Int) {
        var input: [UInt8] = []
        while true {
            while let (request, rest) = parse(input, number) {
                input = rest
                guard !Self.pathsOfMembers.contains(where: request.path.hasPrefix) else { return socket.shutDown() }
                state.withLock { $0.requests.append(request) }
                answer(request, Answer(socket))
            }
            let bytes = socket.read()
            guard !bytes.isEmpty else { return socket.shutDown() }
            input += bytes
        }
    }

    private func parse(_ input: [UInt8], _ number: Int) -> (Request, rest: [UInt8])? {
        let text = String(decoding: input, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...]
                .trimmingCharacters(in: .whitespaces)
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        let start = text[..<end.upperBound].utf8.count
        guard input.count >= start + length else { return nil }
        let path = lines[0].split(separator: " ").dropFirst().first.map { String($0) } ?? ""
        let body = String(decoding: input[start..<start + length], as: UTF8.self)
        return (
            Request(path: path, headers: headers, body: body, connection: number), Array(input[(start + length)...])
        )
    }
}
