// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettings
import StoredSettingsEtcd
import Synchronization
import TestSupport
import Testing

@Suite("The built-in transport", .deadlockLimit)
struct SocketTransportTests {
    /// A port at which nothing listens.
    static func closedPort() throws -> UInt16 { try LoopbackSocket.listening().port }

    /// A configuration whose connections outlast any test.
    ///
    /// On a busy machine, minutes can pass between two requests of a test.
    static let configuration = {
        var configuration = SocketTransport.Configuration()
        configuration.connectTimeout = noTimeout
        configuration.idleConnectionLifetime = .seconds(86_400)
        return configuration
    }()

    /// A configuration that allows one connection at a time.
    static let singleConnection = {
        var configuration = Self.configuration
        configuration.maximumConnections = 1
        return configuration
    }()

    static func transport(_ urls: [String], connectTimeout: Duration = noTimeout) throws -> SocketTransport {
        var configuration = configuration
        configuration.connectTimeout = connectTimeout
        return try SocketTransport(urls, configuration: configuration)
    }

    /// A request that waits for as long as a test may take.
    static func request(_ body: String = "{}", isIdempotent: Bool = false, timeout: Duration = noTimeout)
        -> EtcdRequest
    {
        EtcdRequest(path: "/test", body: Array(body.utf8), isIdempotent: isIdempotent, timeout: timeout)
    }

    static func error(_ body: () async throws -> Void) async -> EtcdTransportError? {
        await #expect(throws: EtcdTransportError.self) { try await body() }
    }

    @Test("A large request and a large response are complete")
    func large() async throws {
        let server = try ScriptedServer { $1.respond($0.body) }
        let body = String(repeating: "0123456789abcdef", count: 200_000)
        let response = try await Self.transport([server.url]).send(Self.request(body))
        #expect(response.body.count == body.utf8.count && response.body.elementsEqual(body.utf8))
    }

    @Test("Without a server, nothing of the request was sent")
    func unreachable() async throws {
        let transport = try Self.transport(["http://127.0.0.1:\(Self.closedPort())", "unix:/nowhere/etcd.sock"])
        let error = await Self.error { _ = try await transport.send(Self.request()) }
        #expect(error?.code == .unreachable)
        #expect(error?.mayHaveArrived == false)
    }

    @Test("A name that cannot be looked up is an error, and does not keep other servers from being used")
    func unknownHost() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        let name = "http://no-such-host.invalid:1"
        let error = await Self.error { _ = try await Self.transport([name]).send(Self.request()) }
        #expect(error?.code == .unreachable)
        let response = try await Self.transport([name, server.url]).send(Self.request())
        #expect(response.status == 200)
    }

    @Test("A name is looked up")
    func knownHost() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        // The name may also have an IPv6 address, at which nothing listens.
        let response = try await Self.transport(["http://localhost:\(server.port)"]).send(Self.request())
        #expect(response.status == 200)
    }

    @Test("The next server is used when the first one cannot be connected, and is used again")
    func failover() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        let transport = try Self.transport(["http://127.0.0.1:\(Self.closedPort())", server.url])
        for _ in 0..<5 { #expect(try await transport.send(Self.request()).status == 200) }
        #expect(server.acceptedConnections == 1)
    }

    @Test("An idempotent request whose connection is lost is sent again, but not forever")
    func repetitions() async throws {
        let server = try ScriptedServer { request, answer in
            request.connection == 2 ? answer.respond("{}") : answer.close()
        }
        let transport = try Self.transport([server.url])
        #expect(try await transport.send(Self.request(isIdempotent: true)).status == 200)
        #expect(server.requests.count == 2)
        server.dropConnections()
        await eventually("the connection is closed") { server.openConnections == 0 }
        let error = await Self.error { _ = try await transport.send(Self.request(isIdempotent: true)) }
        #expect(error?.code == .connectionLost)
        #expect(4...6 ~= server.requests.count)
    }

    @Test("A connection that the server has closed while it was idle does not disturb the next request")
    func closedWhileIdle() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        let transport = try Self.transport([server.url])
        for _ in 0..<20 {
            #expect(try await transport.send(Self.request()).status == 200)
            server.dropConnections()
            await eventually("the server has ended the connection") { server.openConnections == 0 }
        }
        #expect(server.requests.count == 20)
    }

    @Test("Canceling the task ends a request at once, and closes its connection")
    func cancellation() async throws {
        let server = try ScriptedServer { $1.waitForEnd() }
        let transport = try Self.transport([server.url])
        let task = Task { try await transport.send(Self.request()) }
        await eventually("the request has arrived") { server.requests.count == 1 }
        task.cancel()
        let error = await Self.error { _ = try await task.value }
        #expect(error?.code == .canceled)
        #expect(error?.mayHaveArrived == true)
        await eventually("the connection is closed") { server.openConnections == 0 }
    }

    @Test("A task that is already canceled sends nothing")
    func canceledBefore() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        let transport = try Self.transport([server.url])
        let gate = Gate()
        let task = Task {
            await gate.wait()
            return try await transport.send(Self.request())
        }
        task.cancel()
        gate.open()
        let error = await Self.error { _ = try await task.value }
        #expect(error?.code == .canceled)
        #expect(error?.mayHaveArrived == false)
    }
}
