// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("The client of the gateway, with scripted answers", .deadlockLimit)
struct EtcdClientTests {
    static let header = #""header":{"cluster_id":"1","member_id":"2","revision":"7","raft_term":"3"}"#

    static func client(
        _ server: ScriptedServer,
        credentials: (@Sendable () async throws -> EtcdCredentials)? = nil,
        change: (inout EtcdClient.Configuration) -> Void = { _ in }
    ) throws -> EtcdClient {
        var configuration = EtcdClient.Configuration()
        configuration.timeout = noTimeout
        change(&configuration)
        let transport = try SocketTransportTests.transport([server.url])
        return EtcdClient(transport, configuration: configuration, credentials: credentials)
    }

    static func error(_ body: () async throws -> Void) async -> EtcdError? {
        await #expect(throws: EtcdError.self) { try await body() }
    }

    static let write = EtcdTransaction(
        if: [EtcdCompare([97], .equal, .modRevision(0))],
        then: [.put([97], [1]), .delete(EtcdKeyRange(key: [98]))],
        else: [.range(EtcdRangeRequest(EtcdKeyRange(key: [97])))]
    )

    @Test("Requests have the form that the gateway expects")
    func requests() async throws {
        let server = try ScriptedServer { $1.respond("{\(Self.header)}") }
        let client = try Self.client(server)
        var range = EtcdRangeRequest(
            EtcdKeyRange(prefix: Array("a/".utf8)),
            revision: 5,
            limit: 10,
            isSerializable: true
        )
        range.isKeysOnly = true
        _ = try await client.range(range)
        _ = await Self.error { _ = try await client.execute(Self.write) }
        #expect(server.requests.map(\.path) == ["/v3/kv/range", "/v3/kv/txn"])
        #expect(
            server.requests.map(\.body) == [
                #"{"key":"YS8=","range_end":"YTA=","keys_only":true,"limit":"10","revision":"5","serializable":true}"#,
                #"{"compare":[{"key":"YQ==","result":"EQUAL","target":"MOD","mod_revision":"0"}],"#
                    + #""failure":[{"request_range":{"key":"YQ=="}}],"#
                    + #""success":[{"request_put":{"key":"YQ==","value":"AQ=="}},{"request_delete_range":{"key":"Yg=="}}]}"#,
            ]
        )
    }

    @Test("The end of a prefix is the first key after it")
    func prefix() {
        #expect(EtcdKeyRange(prefix: [1, 0xFF, 0xFF]) == EtcdKeyRange(from: [1, 0xFF, 0xFF], to: [2]))
        #expect(EtcdKeyRange(prefix: [0xFF]) == EtcdKeyRange(from: [0xFF], to: [0]))
        #expect(EtcdKeyRange(prefix: []) == EtcdKeyRange(from: [0], to: [0]))
    }

    @Test(
        "A response that etcd does not send is malformed, and its transaction may have been executed",
        arguments: [
            "", "x", "[]", "{}", #"{"header":[]}"#, "{\(header),\"succeeded\":1}", "{\(header),\"succeeded\":true}",
            "{\(header),\"succeeded\":true,\"responses\":[{\"response_put\":{}}]}",
            "{\(header),\"succeeded\":true,\"responses\":[{\"response_put\":{}},{\"response_put\":{}}]}",
            "{\(header),\"succeeded\":true,\"responses\":[{\"response_put\":{}},{\"response_delete_range\":{\"deleted\":1}}]}",
            "{\(header),\"responses\":[{\"response_range\":{\(header),\"kvs\":[{\"key\":\"YQ\"}]}}]}",
            String(repeating: "{\"a\":", count: 10_000),
        ]
    )
    func malformed(_ body: String) async throws {
        let server = try ScriptedServer { $1.respond(body) }
        let error = await Self.error { _ = try await Self.client(server).execute(Self.write) }
        #expect(error?.code == .malformedResponse)
        #expect(error?.mayHaveHappened == true)
    }

    @Test(
        "An error of etcd has its code, and says whether the request may have been executed",
        arguments: [
            (400, 3, "etcdserver: too many operations in txn request", EtcdError.Code.tooManyOperations, false),
            (400, 3, "etcdserver: request is too large", .requestTooLarge, false),
            (429, 8, "grpc: received message larger than max (2172872 vs. 2097152)", .requestTooLarge, false),
            (429, 8, "etcdserver: mvcc: database space exceeded", .noSpace, true),
            (429, 8, "etcdserver: too many requests", .unavailable, false),
            (403, 7, "etcdserver: permission denied", .permissionDenied, false),
            (400, 11, "etcdserver: mvcc: required revision has been compacted", .compacted(nil), false),
            (400, 11, "etcdserver: mvcc: required revision is a future revision", .futureRevision, false),
            (503, 14, "etcdserver: request timed out", .unavailable, true),
            (503, 14, "etcdserver: no leader", .unavailable, false),
            (504, 4, "context deadline exceeded", .timedOut, true),
            (500, 2, "raft proposal dropped", .rejected(2), true),
            (400, 3, "etcdserver: duplicate key given in txn request", .rejected(3), false),
            (503, 3, "etcdserver: duplicate key given in txn request", .rejected(3), true),
        ]
    )
    func errors(_ status: Int, _ code: Int, _ message: String, _ expected: EtcdError.Code, _ mayHaveHappened: Bool)
        async throws
    {
        let server = try ScriptedServer {
            $1.respond(#"{"error":"\#(message)","message":"\#(message)","code":\#(code)}"#, status: status)
        }
        let error = await Self.error { _ = try await Self.client(server).execute(Self.write) }
        #expect(error?.code == expected)
        #expect(error?.mayHaveHappened == mayHaveHappened)
    }

    @Test(
        "An answer that is not of etcd is unavailable or malformed, and a status from 500 means that it may be executed",
        arguments: [
            (404, "<html>", false), (503, "<html>", true), (504, #"{"message":"the upstream is timing out"}"#, true),
            (503, #"{"code":503,"message":"no leader"}"#, true), (502, #"{"code":"14"}"#, true),
            (429, #"{"message":"too many requests"}"#, false), (403, #"{"code":403}"#, false),
        ]
    )
    func foreignAnswer(_ status: Int, _ body: String, _ isUnavailable: Bool) async throws {
        let server = try ScriptedServer { $1.respond(body, status: status) }
        let error = await Self.error { _ = try await Self.client(server).execute(Self.write) }
        #expect(error?.code == (isUnavailable ? .unavailable : .malformedResponse))
        #expect(error?.mayHaveHappened == isUnavailable)
    }

    @Test("A page that is too large is requested again with fewer keys, and all pages are of one revision")
    func pages() async throws {
        let server = try ScriptedServer { request, answer in
            guard let limit = request.body.firstMatch(of: /"limit":"(\d+)"/).flatMap({ Int($0.1) }) else {
                return answer.close()
            }
            guard limit <= 2 else { return answer.respond(String(repeating: " ", count: 5_000)) }
            let isFirst = request.body.contains(#""key":"YQ==""#)
            let keys = isFirst ? ["YWE=", "YWI="] : ["YWM="]
            let entries = keys.map { #"{"key":"\#($0)","mod_revision":"3"}"# }.joined(separator: ",")
            answer.respond(#"{\#(Self.header),"kvs":[\#(entries)],"more":\#(isFirst),"count":"3"}"#)
        }
        let client = try Self.client(
            server,
            change: { configuration in
                configuration.limits.responseSize = 4_000
                configuration.pageSize = 8
            }
        )
        let contents = try await client.contents(of: EtcdKeyRange(prefix: [97]))
        #expect(contents.keyValues.map(\.key) == [[97, 97], [97, 98], [97, 99]])
        #expect(contents.header.revision == 7 && !contents.hasMore)
        #expect(server.requests.count == 4)
        #expect(server.requests.last?.body.contains(#""revision":"7""#) == true)
    }

    @Test(
        "Keys that are not in the range, or not in order, are refused",
        arguments: [["Yg=="], ["YA=="], ["YWI=", "YWE="], ["YWE=", "YWE="]]
    )
    func foreignKeys(_ keys: [String]) async throws {
        let server = try ScriptedServer { _, answer in
            let entries = keys.map { #"{"key":"\#($0)","mod_revision":"3"}"# }.joined(separator: ",")
            answer.respond(#"{\#(Self.header),"kvs":[\#(entries)]}"#)
        }
        let client = try Self.client(server)
        let error = await Self.error { _ = try await client.contents(of: EtcdKeyRange(prefix: [97])) }
        #expect(error?.code == .malformedResponse)
    }

    @Test("The size of all pages of a range is limited")
    func endlessRange() async throws {
        let count = Mutex<UInt32>(0)
        let server = try ScriptedServer { _, answer in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let key = Data([97] + Array(String(1_000_000 + number).utf8)).base64EncodedString()
            answer.respond(#"{\#(Self.header),"kvs":[{"key":"\#(key)","mod_revision":"3"}],"more":true}"#)
        }
        let client = try Self.client(server, change: { $0.limits.contentsSize = 100 })
        let error = await Self.error { _ = try await client.contents(of: EtcdKeyRange(prefix: [97])) }
        #expect(error?.code == .responseTooLarge)
    }

    // MARK: - Tokens

    static let invalidToken = #"{"error":"x","message":"etcdserver: invalid auth token","code":16}"#

    @Test("A token is requested once, and again once after etcd has refused it")
    func token() async throws {
        let tokens = Mutex(0)
        let server = try ScriptedServer { request, answer in
            if request.path == "/v3/auth/authenticate" {
                let number = tokens.withLock { count in
                    count += 1
                    return count
                }
                answer.respond(#"{\#(Self.header),"token":"t.\#(number)"}"#)
            } else if request.headers["authorization"] == "t.\(tokens.withLock { $0 })" {
                answer.respond("{\(Self.header)}")
            } else {
                answer.respond(Self.invalidToken, status: 401)
            }
        }
        let client = try Self.client(server) { EtcdCredentials(user: "u", password: "p") }
        // All of them wait for one token.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await client.status() } }
            try await group.waitForAll()
        }
        #expect(tokens.withLock { $0 } == 1)
        // The token has become invalid, as after a restart of etcd.
        tokens.withLock { $0 = 5 }
        _ = try await client.status()
        #expect(tokens.withLock { $0 } == 6)
    }

    @Test("A transaction on the calling thread is not executed without a connection and a token that etcd accepts")
    func blockingToken() async throws {
        let valid = Mutex(1)
        let server = try ScriptedServer { request, answer in
            let token = "t.\(valid.withLock { $0 })"
            if request.path == "/v3/auth/authenticate" {
                answer.respond(#"{\#(Self.header),"token":"\#(token)"}"#)
            } else if request.headers["authorization"] == token {
                answer.respond("{\(Self.header)}")
            } else {
                answer.respond(Self.invalidToken, status: 401)
            }
        }
        let client = try Self.client(server) { EtcdCredentials(user: "u", password: "p") }
        let transaction = EtcdTransaction(if: [], then: [])
        #expect(try client.executeBlocking(transaction) == nil)
        #expect(server.requests.isEmpty)
        // A token is requested by the first one, and a connection is lent by the second one.
        for _ in 1...2 {
            _ = try await client.execute(transaction)
            if server.requests.count == 2 { #expect(try client.executeBlocking(transaction) == nil) }
        }
        #expect(try client.executeBlocking(transaction)?.header.revision == 7)
        valid.withLock { $0 = 2 }
        let count = server.requests.count
        #expect(try client.executeBlocking(transaction) == nil)
        _ = try await client.execute(transaction)
        // The refused one, a new token, and the repetition.
        #expect(server.requests.count == count + 3)
        #expect(try client.executeBlocking(transaction)?.header.revision == 7)
    }

    @Test("A token that cannot be sent in a header is refused, and requested again")
    func unprintableToken() async throws {
        let server = try ScriptedServer { request, answer in
            let isToken = request.path == "/v3/auth/authenticate"
            isToken ? answer.respond(#"{"token":"t\u0001"}"#) : answer.respond("{\(Self.header)}")
        }
        let client = try Self.client(server) { EtcdCredentials(user: "u", password: "p") }
        for _ in 1...2 {
            let error = await Self.error { _ = try await client.status() }
            #expect(error?.code == .malformedResponse && error?.mayHaveHappened == false)
        }
        #expect(server.requests.count == 2)
    }

    @Test("A request whose new token is refused, too, fails")
    func refusedTwice() async throws {
        let server = try ScriptedServer { request, answer in
            let isToken = request.path == "/v3/auth/authenticate"
            isToken ? answer.respond(#"{"token":"t.1"}"#) : answer.respond(Self.invalidToken, status: 401)
        }
        let client = try Self.client(server) { EtcdCredentials(user: "u", password: "p") }
        let error = await Self.error { _ = try await client.execute(Self.write) }
        #expect(error?.code == .authenticationFailed && error?.mayHaveHappened == false)
        #expect(server.requests.count == 4)
    }

    @Test("A request whose task is canceled stops waiting for a token, which the others receive")
    func canceledToken() async throws {
        let gate = BlockingGate()
        let server = try ScriptedServer { request, answer in
            guard request.path == "/v3/auth/authenticate" else { return answer.respond("{\(Self.header)}") }
            gate.wait()
            answer.respond(#"{"token":"t.1"}"#)
        }
        defer { gate.open() }
        let client = try Self.client(server) { EtcdCredentials(user: "u", password: "p") }
        let (first, second) = (Task { try await client.status() }, Task { try await client.status() })
        await eventually("the token is requested") { server.requests.count == 1 }
        first.cancel()
        let error = await Self.error { _ = try await first.value }
        #expect(error?.code == .canceled && error?.mayHaveHappened == false)
        gate.open()
        #expect(try await second.value.header.revision == 7)
    }

    @Test("A token is replaced if etcd does not answer requests with it, as after a restored backup")
    func unansweredToken() async throws {
        let tokens = Mutex(0)
        let server = try ScriptedServer { request, answer in
            if request.path == "/v3/auth/authenticate" {
                let number = tokens.withLock { count in
                    count += 1
                    return count
                }
                answer.respond(#"{\#(Self.header),"token":"t.\#(number)"}"#)
            } else if request.headers["authorization"] == "t.1" {
                answer.waitForEnd()
            } else {
                answer.respond("{\(Self.header)}")
            }
        }
        let client = try Self.client(
            server,
            credentials: { EtcdCredentials(user: "u", password: "p") },
            change: { $0.timeout = .milliseconds(100) }
        )
        await eventually("a request is answered") { (try? await client.status()) != nil }
        #expect(tokens.withLock { $0 } > 1)
    }

    @Test("Credentials that cannot be read are an error without their contents")
    func unreadableCredentials() async throws {
        struct Unreadable: Error { var password = "secret" }
        let server = try ScriptedServer { $1.close() }
        let client = try Self.client(server) { throw Unreadable() }
        let error = await Self.error { _ = try await client.status() }
        #expect(error?.code == .authenticationFailed)
        #expect(error?.description.contains("secret") == false)
        #expect(server.requests.isEmpty)
    }
}
