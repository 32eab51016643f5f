// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

extension LentConnection.Outcome {
    var isUnavailable: Bool { if case .unavailable = self { true } else { false } }

    var response: EtcdResponse? { if case .response(let response) = self { response } else { nil } }
}

@Suite("Requests of tasks and of blocking callers", .deadlockLimit)
struct LentConnectionTests {
    /// What sends a request and waits for its answer.
    enum Caller: CaseIterable {
        case task
        case thread
    }

    /// Sends a request, by default as a set does.
    static func send(
        _ transport: SocketTransport,
        _ body: String = "{}",
        timeout: Duration = noTimeout,
        by caller: Caller = .thread
    ) async throws -> EtcdResponse {
        var request = SocketTransportTests.request(body, timeout: timeout)
        request.maximumResponseSize = 1_000
        guard caller == .thread else { return try await transport.send(request) }
        switch transport.sendBlocking(request) {
        case .response(let response): return response
        case .failure(let error): throw error
        case .unavailable: return try await transport.send(request)
        }
    }

    private struct NoAddress: Error {}

    /// Lends a new connection to a server.
    static func lend(_ connection: LentConnection, to server: ScriptedServer) throws {
        guard case .addresses(let addresses) = SocketAddress.lookUp("127.0.0.1", port: server.port, isNumeric: true)
        else {
            throw NoAddress()
        }
        let socket = try SocketCalls.connect(addresses[0], deadPeerTimeout: .seconds(20))
        var interests = [SocketCalls.Interest(descriptor: socket.descriptor, isWriting: true)]
        SocketCalls.wait(for: &interests, timeout: nil)
        #expect(connection.send(SocketTransportTests.request()) { _ in }.isUnavailable)
        let exchange = Exchange(SocketTransportTests.request(), isStream: false)
        let lent = Connection(socket, endpoint: 0, connectingUntil: .now, PendingExchange(exchange))
        _ = lent.finish()
        #expect(connection.lend(lent, to: try EtcdEndpoint(server.url)))
    }

    @Test("Requests in a row use one connection, which no other request uses")
    func oneConnection() async throws {
        let server = try ScriptedServer { $1.respond($0.body) }
        let transport = try SocketTransportTests.transport([server.url])
        for number in 1...20 {
            #expect(try await Self.send(transport, "\(number)").body == Array("\(number)".utf8))
        }
        #expect(server.acceptedConnections == 1)
        _ = try await transport.send(SocketTransportTests.request())
        #expect(server.acceptedConnections == 2)
        #expect(try await Self.send(transport).status == 200)
        #expect(server.requests.map(\.connection).suffix(2) == [2, 1])
    }

    @Test("A request whose answer is lost may have arrived, and is not sent again", arguments: Caller.allCases)
    func lostAnswer(caller: Caller) async throws {
        let server = try ScriptedServer { request, answer in
            if request.body == "lost" { answer.close() } else { answer.respond("{}") }
        }
        let transport = try SocketTransportTests.transport([server.url])
        _ = try await Self.send(transport, by: caller)
        let error = await SocketTransportTests.error { _ = try await Self.send(transport, "lost", by: caller) }
        #expect(error?.code == .connectionLost)
        #expect(error?.mayHaveArrived == true)
        #expect(try await Self.send(transport, "next", by: caller).status == 200)
        #expect(server.requests.map(\.body) == ["{}", "lost", "next"])
    }

    @Test(
        "After a lost answer, and after a status of 500 or more, the next request uses another server",
        arguments: Caller.allCases,
        [0, 503]
    )
    func failover(caller: Caller, status: Int) async throws {
        let failing = try ScriptedServer { request, answer in
            if request.body == "{}" { return answer.respond("{}") }
            if status == 0 { answer.close() } else { answer.respond("{}", status: status) }
        }
        let other = try ScriptedServer { $1.respond("{}") }
        let transport = try SocketTransportTests.transport([failing.url, other.url])
        _ = try await Self.send(transport, by: caller)
        if status == 0 {
            let error = await SocketTransportTests.error { _ = try await Self.send(transport, "fail", by: caller) }
            #expect(error?.code == .connectionLost)
        } else {
            #expect(try await Self.send(transport, "fail", by: caller).status == status)
        }
        #expect(try await Self.send(transport, by: caller).status == 200)
        #expect(failing.requests.count == 2)
        #expect(other.requests.count == 1)
    }

    @Test(
        "A late, malformed, truncated or large response is an error, and the request may have arrived",
        arguments: Caller.allCases,
        [
            ("silent", EtcdTransportError.Code.timedOut), ("malformed", .malformedResponse),
            ("length", .malformedResponse), ("excess", .malformedResponse), ("truncated", .connectionLost),
            ("large", .responseTooLarge),
        ]
    )
    func unusableAnswer(caller: Caller, answer: (name: String, code: EtcdTransportError.Code)) async throws {
        let server = try ScriptedServer { request, answer in
            switch request.body {
            case "silent": answer.waitForEnd()
            case "malformed": answer.send("HTTP/2 200\r\n\r\n")
            case "length": answer.send("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}")
            case "excess": answer.send("HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n{}{")
            case "truncated":
                answer.send("HTTP/1.1 200 OK\r\nContent-Length: 123\r\n\r\n{}")
                answer.close()
            case "large": answer.respond(String(repeating: "x", count: 1_001))
            default: answer.respond("{}")
            }
        }
        let transport = try SocketTransportTests.transport([server.url])
        #expect(try await Self.send(transport, by: caller).status == 200)
        let timeout = answer.code == .timedOut ? Duration.milliseconds(50) : noTimeout
        let error = await SocketTransportTests.error {
            _ = try await Self.send(transport, answer.name, timeout: timeout, by: caller)
        }
        #expect(error?.code == answer.code)
        if answer.code == .timedOut, error?.mayHaveArrived == false {
            // A slow machine may have needed the time before the request was sent.
            #expect(!server.requests.contains { $0.body == answer.name })
        } else {
            #expect(error?.mayHaveArrived == true)
        }
        await eventually("the connection is closed") { server.openConnections == 0 }
    }

    @Test("Closing the transport ends its requests, and later ones are refused", arguments: Caller.allCases)
    func closing(caller: Caller) async throws {
        let current = Mutex<SocketTransport?>(nil)
        let server = try ScriptedServer { request, answer in
            guard request.body == "close" else { return answer.respond("{}") }
            current.withLock { $0 }?.close()
            answer.waitForEnd()
        }
        let transport = try SocketTransportTests.transport([server.url])
        current.withLock { $0 = transport }
        _ = try await Self.send(transport, by: caller)
        let error = await SocketTransportTests.error { _ = try await Self.send(transport, "close", by: caller) }
        #expect(error?.code == .closed)
        #expect(error?.mayHaveArrived == true)
        let later = await SocketTransportTests.error { _ = try await Self.send(transport, by: caller) }
        #expect(later?.code == .closed)
        #expect(later?.mayHaveArrived == false)
    }

    @Test("A server that another request has found silent is not used by a blocking caller")
    func silentServer() async throws {
        let isSilent = Mutex(false)
        let silent = try ScriptedServer { _, answer in
            if isSilent.withLock({ $0 }) { answer.waitForEnd() } else { answer.respond("{}") }
        }
        let other = try ScriptedServer { $1.respond("{}") }
        var configuration = SocketTransportTests.configuration
        configuration.answerTimeout = .milliseconds(20)
        let transport = try SocketTransport([silent.url, other.url], configuration: configuration)
        _ = try await Self.send(transport)
        isSilent.withLock { $0 = true }
        _ = try await transport.send(SocketTransportTests.request(isIdempotent: true))
        #expect(try await Self.send(transport, "set", timeout: .seconds(60)).status == 200)
        #expect(other.requests.last?.body == "set")
        #expect(!silent.requests.contains { $0.body == "set" })
    }

    @Test("A lent connection that the server has closed is replaced by the next one")
    func replacement() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        let transport = try SocketTransportTests.transport([server.url])
        _ = try await Self.send(transport)
        server.dropConnections()
        await eventually("the connection is not closed") { server.openConnections == 0 }
        // Nothing was sent.
        #expect(transport.sendBlocking(SocketTransportTests.request()).isUnavailable)
        _ = try await transport.send(SocketTransportTests.request())
        #expect(transport.sendBlocking(SocketTransportTests.request()).response != nil)
        #expect(server.requests.map(\.connection) == [1, 2, 2])
    }

    @Test("An idle connection is closed after its lifetime")
    func lifetime() async throws {
        let server = try ScriptedServer { $1.respond($0.body) }
        var configuration = SocketTransportTests.configuration
        configuration.idleConnectionLifetime = .milliseconds(20)
        let transport = try SocketTransport([server.url], configuration: configuration)
        _ = try await Self.send(transport)
        await eventually("the connection is not closed") { server.openConnections == 0 }
        #expect(try await Self.send(transport).status == 200)
    }

    @Test("Blocking callers at the same time receive their own responses")
    func concurrency() async throws {
        let server = try ScriptedServer { $1.respond($0.body) }
        let transport = try SocketTransportTests.transport([server.url])
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    try await Self.send(transport, "\(number)").body == Array("\(number)".utf8)
                }
            }
            for try await isOwn in group { #expect(isOwn) }
        }
        #expect(server.acceptedConnections <= 16)
    }
}
