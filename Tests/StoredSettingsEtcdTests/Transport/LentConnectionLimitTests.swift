// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("The connection of blocking callers at the limit of connections", .deadlockLimit)
struct LentConnectionLimitTests {
    private static func dispatcher(_ endpoints: [EtcdEndpoint], _ lent: LentConnection) -> SocketDispatcher {
        SocketDispatcher(endpoints, SocketTransportTests.singleConnection, lent) { _, _, _ in }
    }

    @Test("At the limit, another request uses the lent connection while it is idle")
    func limit() async throws {
        let server = try ScriptedServer { $1.respond($0.body) }
        let transport = try SocketTransport([server.url], configuration: SocketTransportTests.singleConnection)
        for _ in 1...3 {
            _ = try await LentConnectionTests.send(transport)
            _ = try await transport.send(SocketTransportTests.request())
        }
        #expect(server.acceptedConnections == 1)
    }

    @Test(
        "A request that waits for the lent connection gets it when its caller has the response, before the next caller"
    )
    func waitingRequest() throws {
        let lent = LentConnection(lifetime: .seconds(86_400))
        let waiting = Exchange(SocketTransportTests.request("waiting"), isStream: false)
        let whileInUse = Mutex<(@Sendable () -> Void)?>(nil)
        let server = try ScriptedServer { request, answer in
            if request.body == "first" { whileInUse.withLock { $0?() } }
            answer.respond("{}")
        }
        let dispatcher = Self.dispatcher([try EtcdEndpoint(server.url)], lent)
        defer { dispatcher.end() }
        try LentConnectionTests.lend(lent, to: server)
        // The thread of the sockets, while the connection is in use: the thread of the test waits then.
        nonisolated(unsafe) let other = dispatcher
        whileInUse.withLock { body in
            body = {
                other.perform(.start(waiting))
                other.continueExchanges()
            }
        }
        var events: [LentConnection.Event] = []
        _ = lent.send(SocketTransportTests.request("first")) { events.append($0) }
        #expect(events.count == 1)
        #expect(dispatcher.interests.isEmpty)
        #expect(lent.send(SocketTransportTests.request("second")) { _ in }.isUnavailable)
        for event in events { dispatcher.perform(.lent(event)) }
        dispatcher.continueExchanges()
        #expect(dispatcher.interests.count == 1)
        #expect(lent.count == 0)
    }
}
