// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import StoredSettingsEtcd
import Synchronization
import TestSupport
import Testing

@Suite("Streams of the built-in transport", .deadlockLimit)
struct SocketStreamTests {
    static func request(path: String = "/stream", isIdempotent: Bool = true) -> EtcdRequest {
        EtcdRequest(path: path, body: [], isIdempotent: isIdempotent, timeout: noTimeout)
    }

    @Test("The connection of a stream that has ended is used again")
    func reuse() async throws {
        let server = try ScriptedServer { _, answer in
            answer.beginStream()
            answer.sendChunk("x")
            answer.endStream()
        }
        let transport = try SocketTransportTests.transport([server.url])
        for _ in 0..<5 { _ = try await transport.stream(Self.request()) { _ in } }
        #expect(server.acceptedConnections == 1)
    }

    @Test("A request does not wait for streams, however many there are")
    func manyStreams() async throws {
        let server = try ScriptedServer { request, answer in
            guard request.path == "/stream" else { return answer.respond("x") }
            answer.beginStream()
            answer.waitForEnd()
        }
        var configuration = SocketTransportTests.configuration
        configuration.maximumConnections = 2
        let transport = try SocketTransport([server.url], configuration: configuration)
        let streams = (1...4).map { _ in Task { try await transport.stream(Self.request()) { _ in } } }
        await eventually("the streams have begun") { server.requests.count == 4 }
        let response = try await transport.send(EtcdRequest(path: "/test", body: [], timeout: noTimeout))
        #expect(response.body == Array("x".utf8))
        for stream in streams { stream.cancel() }
    }

    @Test("A status other than 200 is returned with its body, which is not passed on")
    func status() async throws {
        let server = try ScriptedServer { $1.respond("{\"error\": 1}", status: 400) }
        let response = try await SocketTransportTests.transport([server.url])
            .stream(Self.request()) { _ in
                Issue.record("a piece was passed on")
            }
        #expect(response == EtcdResponse(status: 400, body: Array("{\"error\": 1}".utf8)))
    }

    @Test("A stream whose connection is lost fails, and is not begun again after its first piece")
    func lostConnection() async throws {
        let server = try ScriptedServer { _, answer in
            answer.beginStream()
            answer.sendChunk("x")
            answer.close()
        }
        let error = await #expect(throws: EtcdTransportError.self) {
            _ = try await SocketTransportTests.transport([server.url]).stream(Self.request()) { _ in }
        }
        #expect(error?.code == .connectionLost)
        #expect(server.requests.count == 1)
    }

    @Test("A stream that is silent for too long times out")
    func idleTimeout() async throws {
        let server = try ScriptedServer { _, answer in
            answer.beginStream()
            answer.sendChunk("x")
            answer.waitForEnd()
        }
        var request = Self.request()
        request.idleTimeout = .milliseconds(50)
        let error = await #expect(throws: EtcdTransportError.self) {
            _ = try await SocketTransportTests.transport([server.url]).stream(request) { _ in }
        }
        #expect(error?.code == .timedOut)
    }

    @Test("A slow receiver makes the server wait, and receives everything in order")
    func backpressure() async throws {
        let chunk = String(repeating: "0123456789abcdef", count: 4_096)
        let sent = Mutex(0)
        // A client of another test may look for its server, which had the same port, and would receive without waiting.
        let path = "/slow/\(UUID().uuidString)"
        let server = try ScriptedServer { request, answer in
            guard request.path == path else { return answer.close() }
            answer.beginStream()
            for _ in 0..<512 {
                guard answer.sendChunk(chunk) else { return }
                sent.withLock { $0 += 1 }
            }
            answer.endStream()
        }
        let gate = Gate()
        let count = Mutex(0)
        let isOrdered = Mutex(true)
        let transport = try SocketTransportTests.transport([server.url])
        let task = Task {
            try await transport.stream(Self.request(path: path)) { piece in
                await gate.wait()
                let start = count.withLock { count in
                    defer { count += piece.count }
                    return count
                }
                let digits = Array("0123456789abcdef".utf8)
                for (offset, index) in stride(from: piece.startIndex, to: piece.endIndex, by: 1_021).enumerated()
                where piece[index] != digits[(start + offset * 1_021) % 16] {
                    isOrdered.withLock { $0 = false }
                }
            }
        }
        // 32 MB do not fit in the buffers of the sockets and of the transport.
        var (last, repetitions) = (0, 0)
        await eventually("the server waits") {
            let now = sent.withLock { $0 }
            repetitions = now == last && now > 4 ? repetitions + 1 : 0
            last = now
            return repetitions > 50
        }
        #expect(sent.withLock { $0 } < 512)
        gate.open()
        _ = try await task.value
        #expect(count.withLock { $0 } == 512 * chunk.utf8.count)
        #expect(isOrdered.withLock { $0 })
    }
}
