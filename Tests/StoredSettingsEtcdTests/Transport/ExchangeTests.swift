// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettingsEtcd

@Suite("An exchange")
struct ExchangeTests {
    static func error(_ exchange: Exchange) async -> EtcdTransportError? {
        guard case (.failure(let error), _) = await exchange.next() else { return nil }
        return error
    }

    @Test("An exchange that was canceled as not sent is not sent afterwards")
    func canceledFirst() async {
        let exchange = Exchange(EtcdRequest(path: "/", body: []), isStream: false)
        exchange.fail(.canceled, "canceled")
        #expect(await Self.error(exchange)?.mayHaveArrived == false)
        #expect(exchange.beginSending() == nil)
    }

    @Test("A repetition of which nothing was sent does not make the first attempt certain")
    func repetition() async {
        let exchange = Exchange(EtcdRequest(path: "/", body: [], isIdempotent: true), isStream: false)
        // The first attempt is sent and lost. Nothing of the second one can be sent.
        #expect(exchange.beginSending() == false)
        #expect(exchange.beginSending() == true)
        exchange.undoSending(true)
        exchange.fail(.unreachable, "unreachable")
        #expect(await Self.error(exchange)?.mayHaveArrived == true)
    }

    @Test("The first end of an exchange counts, and bytes after it are dropped")
    func firstEnd() async {
        let exchange = Exchange(EtcdRequest(path: "/", body: []), isStream: true)
        exchange.finish(EtcdResponse(status: 200))
        exchange.fail(.timedOut, "late")
        #expect(exchange.receive([1]))
        guard case (.response(let response), isPaused: false) = await exchange.next() else {
            Issue.record("the response was replaced")
            return
        }
        #expect(response.status == 200)
    }
}
