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

    @Test("Requests in a row use one connection")
    func keepAlive() async throws {
        let server = try ScriptedServer { $1.respond("{\"echo\": \($0.body.utf8.count)}") }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        for count in 1...20 {
            let response = try await transport.send(Self.request(String(repeating: "x", count: count)))
            #expect(response == EtcdResponse(status: 200, body: Array("{\"echo\": \(count)}".utf8)))
        }
        #expect(server.acceptedConnections == 1)
        #expect(server.requests.allSatisfy { $0.path == "/test" && $0.headers["content-type"] == "application/json" })
    }

    @Test("Concurrent requests receive their own responses, over a limited number of connections")
    func concurrency() async throws {
        let server = try ScriptedServer { $1.respond($0.body) }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let response = try await transport.send(Self.request("\(number)"))
                    return response.body == Array("\(number)".utf8)
                }
            }
            for try await isOwn in group { #expect(isOwn) }
        }
        #expect(server.acceptedConnections <= 16)
    }

    @Test("A large request and a large response are complete")
    func large() async throws {
        let server = try ScriptedServer { $1.respond($0.body) }
        defer { server.stop() }
        let body = String(repeating: "0123456789abcdef", count: 200_000)
        let response = try await Self.transport([server.url]).send(Self.request(body))
        #expect(response.body.count == body.utf8.count && response.body.elementsEqual(body.utf8))
    }

    @Test("A response that is larger than the limit is an error")
    func responseTooLarge() async throws {
        let server = try ScriptedServer { $1.respond($0.body) }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        var request = Self.request(String(repeating: "x", count: 101))
        request.maximumResponseSize = 100
        let error = await Self.error { _ = try await transport.send(request) }
        #expect(error?.code == .responseTooLarge)
        #expect(error?.mayHaveArrived == true)
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
        defer { server.stop() }
        let name = "http://no-such-host.invalid:1"
        let error = await Self.error { _ = try await Self.transport([name]).send(Self.request()) }
        #expect(error?.code == .unreachable)
        let response = try await Self.transport([name, server.url]).send(Self.request())
        #expect(response.status == 200)
    }

    @Test("A name is looked up")
    func knownHost() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        defer { server.stop() }
        // The name may also have an IPv6 address, at which nothing listens.
        let response = try await Self.transport(["http://localhost:\(server.port)"]).send(Self.request())
        #expect(response.status == 200)
    }

    @Test("The next server is used when the first one cannot be connected, and is used again")
    func failover() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        defer { server.stop() }
        let transport = try Self.transport(["http://127.0.0.1:\(Self.closedPort())", server.url])
        for _ in 0..<5 { #expect(try await transport.send(Self.request()).status == 200) }
        #expect(server.acceptedConnections == 1)
    }

    @Test("After a status of 500 or more, the next request uses another server")
    func failoverAfterStatus() async throws {
        let failing = try ScriptedServer { $1.respond("{}", status: 503) }
        let working = try ScriptedServer { $1.respond("{}") }
        defer {
            failing.stop()
            working.stop()
        }
        let transport = try Self.transport([failing.url, working.url])
        #expect(try await transport.send(Self.request()).status == 503)
        #expect(try await transport.send(Self.request()).status == 200)
    }

    @Test("A request whose connection is lost is not sent again, unless it is idempotent")
    func lostConnection() async throws {
        let answers = Mutex(0)
        let server = try ScriptedServer { _, answer in
            let number = answers.withLock { count in
                count += 1
                return count
            }
            number % 2 == 1 ? answer.close() : answer.respond("{}")
        }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        let error = await Self.error { _ = try await transport.send(Self.request()) }
        #expect(error?.code == .connectionLost)
        #expect(error?.mayHaveArrived == true)
        #expect(server.requests.count == 1)
        answers.withLock { $0 = 0 }
        #expect(try await transport.send(Self.request(isIdempotent: true)).status == 200)
        #expect(server.requests.count == 3)
    }

    @Test("An idempotent request is not repeated forever")
    func repetitionsEnd() async throws {
        let server = try ScriptedServer { $1.close() }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        let error = await Self.error { _ = try await transport.send(Self.request(isIdempotent: true)) }
        #expect(error?.code == .connectionLost)
        #expect(2...4 ~= server.requests.count)
    }

    @Test("A connection that the server has closed while it was idle does not disturb the next request")
    func closedWhileIdle() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        for _ in 0..<20 {
            #expect(try await transport.send(Self.request()).status == 200)
            server.dropConnections()
            await eventually("the server has ended the connection") { server.openConnections == 0 }
        }
        #expect(server.requests.count == 20)
    }

    @Test("A truncated or malformed response is an error with an unknown outcome", arguments: ["12345", "x"])
    func malformed(_ length: String) async throws {
        let server = try ScriptedServer { _, answer in
            answer.send("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n{}")
            answer.close()
        }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        let error = await Self.error { _ = try await transport.send(Self.request()) }
        #expect(error?.code == (length == "x" ? .malformedResponse : .connectionLost))
        #expect(error?.mayHaveArrived == true)
    }

    @Test("Bytes after a response end the connection and are not taken for the next response")
    func excess() async throws {
        let server = try ScriptedServer { request, answer in
            // At once: bytes that arrive after the next request was sent cannot be told from its response.
            answer.send(
                "HTTP/1.1 200 OK\r\nContent-Length: \(request.body.utf8.count)\r\n\r\n\(request.body)"
                    + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
            )
        }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        for number in 0..<20 {
            do {
                let response = try await transport.send(Self.request("\(number)"))
                #expect(response.body == Array("\(number)".utf8))
            } catch let error as EtcdTransportError {
                #expect(error.code == .malformedResponse)
            }
        }
    }

    @Test("A server that does not answer in time is an error with an unknown outcome")
    func timeout() async throws {
        let server = try ScriptedServer { $1.waitForEnd() }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        let request = Self.request(timeout: .milliseconds(50))
        let error = await Self.error { _ = try await transport.send(request) }
        #expect(error?.code == .timedOut)
        // A slow machine may have needed the time before the request was sent.
        if error?.mayHaveArrived == false { #expect(server.requests.isEmpty) }
        await eventually("the connection is closed") { server.openConnections == 0 }
    }

    @Test("Canceling the task ends a request at once, and closes its connection")
    func cancellation() async throws {
        let server = try ScriptedServer { $1.waitForEnd() }
        defer { server.stop() }
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
        defer { server.stop() }
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

    @Test("Closing the transport ends its requests, and later ones are refused")
    func close() async throws {
        let server = try ScriptedServer { $1.waitForEnd() }
        defer { server.stop() }
        let transport = try Self.transport([server.url])
        let task = Task { try await transport.send(Self.request()) }
        await eventually("the request has arrived") { server.requests.count == 1 }
        transport.close()
        let error = await Self.error { _ = try await task.value }
        #expect(error?.code == .closed)
        #expect(error?.mayHaveArrived == true)
        let later = await Self.error { _ = try await transport.send(Self.request()) }
        #expect(later?.code == .closed)
        #expect(later?.mayHaveArrived == false)
    }

    @Test("A transport that is released closes its connections")
    func release() async throws {
        let server = try ScriptedServer { $1.respond("{}") }
        defer { server.stop() }
        var transport: SocketTransport? = try Self.transport([server.url])
        _ = try await transport?.send(Self.request())
        #expect(server.openConnections == 1)
        transport = nil
        await eventually("the connection is closed") { server.openConnections == 0 }
    }
}
