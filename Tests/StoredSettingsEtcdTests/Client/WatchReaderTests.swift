// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettingsEtcd

@Suite("The reader of a watch")
struct WatchReaderTests {
    static let created =
        #"{"result":{"header":{"cluster_id":"18446744073709551615","revision":"5"},"created":true}}"# + "\n"
    static let put =
        #"{"result":{"header":{"revision":"6"},"events":[{"kv":{"key":"YQ==","create_revision":"6","mod_revision":"6","#
        + #""version":"1","value":"MQ=="}}]}}"# + "\n"
    static let deletion =
        #"{"result":{"header":{"revision":"7"},"events":[{"type":"DELETE","kv":{"key":"YQ==","mod_revision":"7"}}]}}"#
        + "\n"

    static func header(_ revision: Int64, cluster: UInt64 = 0) -> EtcdHeader {
        EtcdHeader(clusterID: cluster, memberID: 0, revision: revision, raftTerm: 0)
    }

    static let messages: [EtcdWatchMessage] = [
        .created(header(5, cluster: .max)),
        .events(
            [
                EtcdEvent(
                    isDeletion: false,
                    keyValue: EtcdKeyValue(key: [97], value: [49], createRevision: 6, modRevision: 6, version: 1)
                )
            ],
            header(6)
        ),
        .events(
            [
                EtcdEvent(
                    isDeletion: true,
                    keyValue: EtcdKeyValue(key: [97], value: [], createRevision: 0, modRevision: 7, version: 0)
                )
            ],
            header(7)
        ),
        .progress(header(9)),
    ]

    static func read(_ pieces: [String], limit: Int = 10_000) -> WatchReader.Output {
        var reader = WatchReader(limit: limit)
        var all = WatchReader.Output()
        for piece in pieces where all.end == nil {
            let output = reader.read(Array(piece.utf8))
            all.messages += output.messages
            all.end = output.end
            all.isAboutToken = output.isAboutToken
        }
        guard all.end == nil else { return all }
        let output = reader.finish()
        all.messages += output.messages
        all.end = output.end
        all.isAboutToken = output.isAboutToken
        return all
    }

    @Test("Messages are read, however they are divided into pieces")
    func pieces() {
        let text = Self.created + Self.put + "\n" + Self.deletion + #"{"result":{"header":{"revision":"9"}}}"#
        #expect(Self.read([text]).messages == Self.messages)
        #expect(Self.read([text]).end?.code == .watchEnded)
        #expect(Self.read(text.map { String($0) }).messages == Self.messages)
        for split in text.indices {
            #expect(Self.read([String(text[..<split]), String(text[split...])]).messages == Self.messages)
        }
    }

    @Test("The fragments of a message are joined, and limited")
    func fragments() {
        let fragment = Self.put.replacing(#""revision":"6"},"#, with: #""revision":"6"},"fragment":true,"#)
        let output = Self.read([Self.created, fragment, fragment, Self.put])
        #expect(output.messages.count == 2)
        guard case .events(let events, _) = output.messages.last else {
            Issue.record("the last message is \(output.messages.count > 1 ? "another one" : "missing")")
            return
        }
        #expect(events.count == 3)
        let many = Self.read([Self.created] + Array(repeating: fragment, count: 10), limit: 1_000)
        #expect(many.end?.code == .responseTooLarge)
        #expect(many.messages.count == 1)
    }

    @Test("A line that is longer than the limit is refused before its end has arrived")
    func longLine() {
        #expect(Self.read([Self.created, String(repeating: " ", count: 10_001)]).end?.code == .responseTooLarge)
        #expect(Self.read([Self.created, String(repeating: " ", count: 10_001) + "\n"]).end?.code == .responseTooLarge)
    }

    @Test(
        "A canceled watch ends with the reason",
        arguments: [
            (#""canceled":true,"compact_revision":"4""#, EtcdError.Code.compacted(4), false),
            (
                #""created":true,"canceled":true,"cancel_reason":"rpc error: code = PermissionDenied desc = etcdserver: permission denied""#,
                .permissionDenied, false
            ),
            (
                #""created":true,"canceled":true,"cancel_reason":"rpc error: code = Unauthenticated desc = etcdserver: invalid auth token""#,
                .authenticationFailed, true
            ),
            (#""canceled":true"#, .watchEnded, false),
            (
                #""canceled":true,"cancel_reason":"etcdserver: mvcc: required revision has been compacted""#,
                .compacted(nil), false
            ),
        ]
    )
    func canceled(_ members: String, _ code: EtcdError.Code, _ isAboutToken: Bool) {
        let output = Self.read([#"{"result":{"header":{"revision":"5"},\#(members)}}"# + "\n"])
        #expect(output.messages.isEmpty)
        #expect(output.end?.code == code)
        #expect(output.end?.mayHaveHappened == false)
        #expect(output.isAboutToken == isAboutToken)
    }

    @Test("An error in a response with status 200 ends the watch")
    func errorInStream() {
        let error =
            #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader","http_status":"Service Unavailable"}}"#
        let output = Self.read([Self.created + error + "\n" + Self.put])
        #expect(output.messages.count == 1)
        #expect(output.end?.code == .unavailable)
    }

    @Test(
        "A message that etcd does not send is malformed",
        arguments: [
            "x", "[]", "{}", #"{"result":1}"#, #"{"result":{}}"#, #"{"result":{"header":{"revision":5}}}"#,
            #"{"result":{"header":{"revision":"5x"}}}"#, #"{"result":{"header":{"revision":"+5"}}}"#,
            #"{"result":{"header":{"revision":"-5"}}}"#, #"{"result":{"header":{"revision":"9223372036854775808"}}}"#,
            #"{"result":{"header":{},"created":"true"}}"#, #"{"result":{"header":{},"created":true}}"#,
            #"{"result":{"header":{},"events":{}}}"#, #"{"result":{"header":{},"events":[1]}}"#,
            #"{"result":{"header":{},"events":[{}]}}"#,
            #"{"result":{"header":{},"events":[{"kv":{"key":"?","mod_revision":"1"}}]}}"#,
            #"{"result":{"header":{},"events":[{"kv":{"key":"YQ=="}}]}}"#,
            #"{"result":{"header":{},"events":[{"type":"MOVE","kv":{"key":"YQ==","mod_revision":"1"}}]}}"#,
            #"{"result":{"header":{},"header":{}}}"#, #"{"error":1}"#,
            String(repeating: "[", count: 100_000),
        ]
    )
    func malformed(_ message: String) {
        let output = Self.read([Self.created, message + "\n"], limit: 1_000_000)
        #expect(output.end?.code == .malformedResponse)
        #expect(output.messages == [Self.messages[0]])
    }

    @Test("A watch that begins without its creation is malformed")
    func withoutCreation() {
        #expect(Self.read([Self.put]).end?.code == .malformedResponse)
    }

    @Test("Unknown members and null are ignored")
    func unknownMembers() {
        let message =
            #"{"result":{"header":{"revision":"5","new":[1.5]},"created":true,"events":null,"canceled":null,"other":{"a":1}},"x":0}"#
        #expect(Self.read([message + "\n"]).messages == [.created(Self.header(5))])
    }

    @Test("The greatest revision is malformed, because none can follow it")
    func greatestRevision() {
        let greatest = "\(Int64.max)"
        for lines in [
            [Self.created.replacing("\"revision\":\"5\"", with: "\"revision\":\"\(greatest)\"")],
            [Self.created, Self.put.replacing("\"mod_revision\":\"6\"", with: "\"mod_revision\":\"\(greatest)\"")],
        ] {
            #expect(Self.read(lines).end?.code == .malformedResponse)
        }
    }
}
