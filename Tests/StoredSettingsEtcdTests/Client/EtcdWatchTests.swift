// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettings
import StoredSettingsEtcd
import Synchronization
import TestSupport
import Testing

@Suite("Watches, with scripted answers", .deadlockLimit)
struct EtcdWatchTests {
    @Test("A watch asks for progress, fragments and a leader, and passes on its messages")
    func watch() async throws {
        let server = try ScriptedServer { _, answer in
            answer.beginStream()
            // The bounds of chunks are not those of lines.
            answer.sendChunk(String((WatchReaderTests.created + WatchReaderTests.put).prefix(100)))
            answer.sendChunk(String((WatchReaderTests.created + WatchReaderTests.put).dropFirst(100)))
            answer.endStream()
        }
        let messages = Mutex<[EtcdWatchMessage]>([])
        let client = try EtcdClientTests.client(server)
        let error = await EtcdClientTests.error {
            try await client.watch(EtcdKeyRange(prefix: [97]), from: 6) { message in
                messages.withLock { $0.append(message) }
            }
        }
        #expect(error?.code == .watchEnded)
        #expect(messages.withLock { $0 } == Array(WatchReaderTests.messages.prefix(2)))
        #expect(
            server.requests.first?.body
                == #"{"create_request":{"fragment":true,"key":"YQ==","range_end":"Yg==","progress_notify":true,"start_revision":"6"}}"#
        )
        #expect(server.requests.first?.headers["grpc-metadata-hasleader"] == "true")
    }

    @Test("Canceling the task ends a watch at once")
    func cancellation() async throws {
        let server = try ScriptedServer { _, answer in
            answer.beginStream()
            answer.sendChunk(WatchReaderTests.created)
            answer.waitForEnd()
        }
        let client = try EtcdClientTests.client(server)
        let isCreated = Mutex(false)
        let task = Task {
            try await client.watch(EtcdKeyRange(key: [97]), from: 6) { _ in isCreated.withLock { $0 = true } }
        }
        await eventually("the watch is created") { isCreated.withLock { $0 } }
        task.cancel()
        let error = await EtcdClientTests.error { try await task.value }
        #expect(error?.code == .canceled)
        await eventually("the connection is closed") { server.openConnections == 0 }
    }

    @Test("A watch that is refused because of its token is begun again once, with a new one")
    func token() async throws {
        let refusal =
            #"{"result":{"header":{},"watch_id":"-1","created":true,"canceled":true,"cancel_reason":"rpc error: "#
            + #"code = Unauthenticated desc = etcdserver: invalid auth token"}}"# + "\n"
        let tokens = Mutex(0)
        let server = try ScriptedServer { request, answer in
            guard request.path != "/v3/auth/authenticate" else {
                let number = tokens.withLock { count in
                    count += 1
                    return count
                }
                return answer.respond(#"{"token":"t.\#(number)"}"#)
            }
            answer.beginStream()
            if request.headers["authorization"] == "t.2" { answer.sendChunk(WatchReaderTests.created) }
            answer.sendChunk(refusal)
            answer.waitForEnd()
        }
        let client = try EtcdClientTests.client(server) { EtcdCredentials(user: "u", password: "p") }
        let created = Mutex(0)
        let error = await EtcdClientTests.error {
            try await client.watch(EtcdKeyRange(key: [97]), from: 6) { _ in created.withLock { $0 += 1 } }
        }
        #expect(error?.code == .authenticationFailed)
        #expect(created.withLock { $0 } == 1)
        #expect(tokens.withLock { $0 } == 2)
    }
}
