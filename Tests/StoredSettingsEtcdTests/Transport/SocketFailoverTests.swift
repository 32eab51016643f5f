// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("The built-in transport: servers that do not answer", .deadlockLimit)
struct SocketFailoverTests {
    static func transport(_ urls: [String], answerTimeout: Duration = .milliseconds(50)) throws -> SocketTransport {
        var configuration = SocketTransportTests.configuration
        configuration.answerTimeout = answerTimeout
        return try SocketTransport(urls, configuration: configuration)
    }

    @Test("An idempotent request is sent to the next server when the first one does not answer, as are later ones")
    func idempotent() async throws {
        let hanging = try ScriptedServer { $1.waitForEnd() }
        let working = try ScriptedServer { $1.respond("{}") }
        let transport = try Self.transport([hanging.url, working.url])
        #expect(try await transport.send(SocketTransportTests.request(isIdempotent: true)).status == 200)
        #expect(try await transport.send(SocketTransportTests.request()).status == 200)
        #expect(working.requests.count == 2)
        await eventually("the connection is closed") { hanging.openConnections == 0 }
    }

    @Test("A request that is not idempotent is sent to one server, whose answer it waits for")
    func notIdempotent() async throws {
        let hanging = try ScriptedServer { $1.waitForEnd() }
        let working = try ScriptedServer { $1.respond("{}") }
        let transport = try Self.transport([hanging.url, working.url], answerTimeout: .zero)
        let request = SocketTransportTests.request(timeout: .milliseconds(50))
        let error = await SocketTransportTests.error { _ = try await transport.send(request) }
        #expect(error?.code == .timedOut)
        #expect(working.requests.isEmpty)
    }

    @Test("The only server has all of the time of a request")
    func onlyServer() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        let transport = try Self.transport([server.url], answerTimeout: .zero)
        #expect(try await transport.send(SocketTransportTests.request(isIdempotent: true)).status == 200)
        #expect(server.requests.count == 1)
    }

    @Test("A slow server is asked again, and has all of the rest of the time, if no other one answers")
    func slowServer() async throws {
        // The threads of the server may see the requests in another order than that of their connections.
        let slow = try ScriptedServer { request, answer in
            request.connection == 1 ? answer.waitForEnd() : answer.respond("{}")
        }
        let closed = "http://127.0.0.1:\(try SocketTransportTests.closedPort())"
        let transport = try Self.transport([slow.url, closed], answerTimeout: .milliseconds(1))
        #expect(try await transport.send(SocketTransportTests.request(isIdempotent: true)).status == 200)
    }

    @Test("A request that needs a new connection uses none that had a request, also at the limit of connections")
    func newConnection() async throws {
        let server = try ScriptedServer { $1.respond($0.body) }
        let transport = try SocketTransport([server.url], configuration: SocketTransportTests.singleConnection)
        var request = SocketTransportTests.request()
        request.needsNewConnection = true
        _ = try await transport.send(SocketTransportTests.request())
        for _ in 1...2 { _ = try await transport.send(request) }
        _ = try await transport.send(SocketTransportTests.request())
        #expect(server.requests.map(\.connection) == [1, 2, 3, 3])
    }

    @Test("A list of servers that is empty is refused")
    func noServers() {
        let error = #expect(throws: EtcdTransportError.self) { _ = try SocketTransport([]) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.reason.contains("no server") == true)
    }

    @Test("Closing a connection ends it for the server, also if a forked child has a copy of it")
    func copiedConnection() throws {
        let (server, client) = try SocketCalls.makePair()
        let copy = dup(client.descriptor)
        defer { close(copy) }
        let exchange = Exchange(EtcdRequest(path: "/", body: []), isStream: false)
        let connection = Connection(client, endpoint: 0, connectingUntil: .now, PendingExchange(exchange))
        connection.close()
        var buffer: [UInt8] = [0]
        #expect(try SocketCalls.receive(into: &buffer, server.descriptor) == 0)
    }
}
