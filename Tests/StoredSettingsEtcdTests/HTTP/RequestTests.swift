// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettingsEtcd

@Suite("Requests and the addresses of servers")
struct RequestTests {
    @Test("A request has a length, and the headers of the caller")
    func bytes() {
        let request = EtcdRequest(
            path: "/v3/kv/range",
            headers: [.init("Authorization", "x.1")],
            body: Array("{}".utf8)
        )
        let text = String(decoding: HTTPRequestText.bytes(of: request, host: "[::1]:2379"), as: UTF8.self)
        #expect(
            text == "POST /v3/kv/range HTTP/1.1\r\nHost: [::1]:2379\r\nContent-Type: application/json\r\n"
                + "Authorization: x.1\r\nContent-Length: 2\r\n\r\n{}"
        )
    }

    @Test(
        "A path or a header that could end the head is refused before anything is sent",
        arguments: [
            EtcdRequest(path: "v3", body: []),
            EtcdRequest(path: "/v3 HTTP/1.1\r\nX: y", body: []),
            EtcdRequest(path: "/ä", body: []),
            EtcdRequest(path: "/", headers: [.init("A:b", "c")], body: []),
            EtcdRequest(path: "/", headers: [.init("", "c")], body: []),
            EtcdRequest(path: "/", headers: [.init("A", "b\r\nC: d")], body: []),
            EtcdRequest(path: "/", headers: [.init("content-length", "0")], body: []),
        ]
    )
    func injection(_ request: EtcdRequest) async throws {
        let transport = try SocketTransport(["http://127.0.0.1:1"])
        let error = await #expect(throws: EtcdTransportError.self) { _ = try await transport.send(request) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.mayHaveArrived == false)
    }

    @Test(
        "An address is read",
        arguments: [
            ("http://10.0.0.1:2379", "http://10.0.0.1:2379"), ("http://etcd.example/", "http://etcd.example:2379"),
            ("http://[fd00::2]:80", "http://[fd00::2]:80"), ("http://[::1]", "http://[::1]:2379"),
            ("unix:/run/etcd.sock", "unix:/run/etcd.sock"), ("unix:///run/etcd:0", "unix:/run/etcd:0"),
        ]
    )
    func endpoint(_ url: String, _ description: String) throws {
        #expect(try EtcdEndpoint(url).description == description)
    }

    @Test(
        "An invalid address is refused",
        arguments: [
            "", "10.0.0.1:2379", "https://10.0.0.1:2379", "http://", "http://:80", "http://a:0", "http://a:65536",
            "http://a:b",
            "http://a:-1", "http://a/b", "http://a b", "http://user@a", "http://[::1", "http://[::1]x", "unix:",
            "unix:a",
            "unix://a", "unix:/\(String(repeating: "a", count: 200))",
        ]
    )
    func invalidEndpoint(_ url: String) {
        let error = #expect(throws: EtcdTransportError.self) { _ = try EtcdEndpoint(url) }
        #expect(error?.code == .invalidArgument)
    }

    @Test("Descriptions contain neither headers nor bodies")
    func descriptions() {
        let request = EtcdRequest(path: "/v3", headers: [.init("Authorization", "token")], body: Array("password".utf8))
        #expect("\(request)" == "POST /v3, 8 bytes")
        #expect("\(EtcdResponse(status: 200, body: [1, 2]))" == "status 200, 2 bytes")
        #expect("\(EtcdCredentials(user: "root", password: "secret"))" == "EtcdCredentials")
    }

    @Test("A failed server is avoided for a while that doubles, and a working one is used again")
    func order() throws {
        var table = EndpointTable(try ["http://a", "http://b", "http://c"].map { try EtcdEndpoint($0) })
        let start = ContinuousClock.now
        #expect(table.order(start) == [0, 1, 2])
        table.didFail(0, start)
        #expect(table.order(start) == [1, 2, 0])
        table.didSucceed(2)
        #expect(table.order(start) == [2, 1, 0])
        // The avoidance is over.
        #expect(table.order(start + .seconds(1)) == [2, 0, 1])
        table.didFail(2, start)
        table.didFail(1, start)
        table.didFail(0, start)
        // All are used, the one whose avoidance ends first at the front: one has failed twice.
        #expect(table.order(start).last == 0)
        for _ in 0..<100 { table.didFail(0, start) }
        #expect(table.order(start + EndpointTable.longestAvoidance).contains(0))
        #expect(table.order(start + EndpointTable.longestAvoidance).first == 1)
    }

    @Test("Addresses that have expired are used until the lookup that they begin has ended")
    func expiredAddresses() throws {
        var table = EndpointTable([try EtcdEndpoint("http://etcd.invalid:2379")])
        let (old, new) = (SocketAddress(unixPath: "/old"), SocketAddress(unixPath: "/new"))
        let start = ContinuousClock.now
        var lookups = [table.beginLookup(of: 0, start)?.host, table.beginLookup(of: 0, start)?.host]
        #expect(lookups == ["etcd.invalid", nil])
        #expect(table.addresses(of: 0, start) == .unknown)
        table.didLookUp(0, .addresses([old]), start)
        lookups = [table.beginLookup(of: 0, start)?.host]
        #expect(lookups == [nil])
        #expect(table.addresses(of: 0, start) == .known([old]))

        let end = start + EndpointTable.addressLifetime
        lookups = [table.beginLookup(of: 0, end)?.host, table.beginLookup(of: 0, end)?.host]
        #expect(lookups == ["etcd.invalid", nil])
        #expect(table.addresses(of: 0, end) == .expired([old]))
        table.didLookUp(0, .addresses([new]), end)
        #expect(table.addresses(of: 0, end) == .known([new]))
        // A failure extends the use of the addresses.
        let later = end + EndpointTable.addressLifetime
        lookups = [table.beginLookup(of: 0, later)?.host]
        table.didLookUp(0, .failure("no answer"), later)
        #expect(table.addresses(of: 0, later) == .known([new]))
    }
}
