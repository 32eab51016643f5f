// SPDX-License-Identifier: Apache-2.0

import StoredSettingsEtcd
import Testing

@Suite("The parser of HTTP responses")
struct HTTPResponseParserTests {
    /// What a parser has read.
    struct Outcome: Equatable {
        var status: Int?
        var body = ""
        var isComplete = false
        var isReusable = false
        /// The number of bytes that belong to the response.
        var used = 0
        var error: HTTPSyntaxError?
    }

    /// A response, and what is read from it.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var text: String
        var body = ""
        var status = 200
        var isReusable = true
        /// The number of bytes after the response.
        var excess = 0
        var endsWithConnection = false
    }

    /// Parses pieces, and the end of the connection if the response is not complete before.
    static func parse(
        _ pieces: [ArraySlice<UInt8>],
        _ limits: HTTPLimits = HTTPLimits(),
        isStream: Bool = false
    ) -> Outcome {
        var parser = HTTPResponseParser(limits: limits, isStream: isStream)
        var outcome = Outcome()
        var body: [UInt8] = []
        do {
            for piece in pieces where !parser.isComplete { outcome.used += try parser.parse(piece, into: &body) }
            if !parser.isComplete { try parser.finish() }
        } catch {
            outcome.error = error
        }
        outcome.status = parser.status
        outcome.isComplete = parser.isComplete
        outcome.isReusable = parser.isReusable
        outcome.body = String(decoding: body, as: UTF8.self)
        return outcome
    }

    static let valid: [Case] = [
        Case(
            testDescription: "with a length",
            text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            body: "hello"
        ),
        Case(testDescription: "without a reason", text: "HTTP/1.1 200\r\ncontent-length:0\r\n\r\n"),
        Case(
            testDescription: "in chunks",
            text:
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0A;name=\"x\"\r\n, my world\r\n0\r\n\r\n",
            body: "hello, my world"
        ),
        Case(
            testDescription: "in chunks with trailers, as errors of the gateway are",
            text: "HTTP/1.1 400 Bad Request\r\nTrailer: Grpc-Trailer\r\nTransfer-Encoding: CHUNKED\r\n\r\n"
                + "2\r\n{}\r\n0\r\nGrpc-Trailer: x\r\n\r\n",
            body: "{}",
            status: 400
        ),
        Case(
            testDescription: "that closes the connection",
            text: "HTTP/1.1 200 OK\r\nConnection: keep-alive, Close\r\nContent-Length: 1\r\n\r\nx",
            body: "x",
            isReusable: false
        ),
        Case(
            testDescription: "that ends with the connection",
            text: "HTTP/1.0 200 OK\r\n\r\nuntil the end",
            body: "until the end",
            isReusable: false,
            endsWithConnection: true
        ),
        Case(
            testDescription: "of HTTP/1.0 with a length",
            text: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
            body: "x",
            isReusable: false
        ),
        Case(testDescription: "without content", text: "HTTP/1.1 204 No Content\r\n\r\n", status: 204),
        Case(
            testDescription: "after an interim response",
            text: "HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            body: "x"
        ),
        Case(
            testDescription: "with the same length twice",
            text: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            body: "x"
        ),
        Case(
            testDescription: "followed by other bytes",
            text: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP",
            body: "x",
            excess: 4
        ),
    ]

    @Test("A response is read, however it is divided into pieces", arguments: valid)
    func validResponse(_ response: Case) {
        let bytes = Array(response.text.utf8)
        let expected = Outcome(
            status: response.status,
            body: response.body,
            isComplete: true,
            isReusable: response.isReusable,
            used: bytes.count - response.excess
        )
        #expect(Self.parse([bytes[...]]) == expected)
        #expect(Self.parse(bytes.indices.map { bytes[$0...$0] }) == expected)
        for split in bytes.indices { #expect(Self.parse([bytes[..<split], bytes[split...]]) == expected) }
    }

    @Test("A response that is cut off anywhere is not complete", arguments: valid)
    func truncatedResponse(_ response: Case) {
        let bytes = Array(response.text.utf8.dropLast(response.excess))
        let head = response.text.prefix { $0 != "\r\n" }.utf8.count
        for count in 0..<bytes.count {
            let outcome = Self.parse([bytes[..<count]])
            // A body without a length may end anywhere.
            guard response.endsWithConnection, outcome.status != nil else {
                #expect(outcome.error == .truncated, "after \(count) bytes")
                continue
            }
            #expect(outcome.isComplete && !outcome.isReusable && count > head)
        }
    }

    static let malformed: [String] = [
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 +20 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 600 OK\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\n",
        "HTTP/1.1 200 OK\r\nA: x\ry\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: x\0y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: x\r\n continued: y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 2\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n000000001\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno trailer\r\n\r\n",
        String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 9),
    ]

    @Test("A malformed response is refused, however it is divided into pieces", arguments: malformed.indices)
    func malformedResponse(_ index: Int) {
        let text = Self.malformed[index]
        let bytes = Array(text.utf8)
        let error = Self.parse([bytes[...]]).error
        #expect(error != nil && error != .truncated, "\(text.debugDescription)")
        for split in bytes.indices { #expect(Self.parse([bytes[..<split], bytes[split...]]).error == error) }
    }

    /// The beginning of a response that exceeds a limit.
    struct Excess: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var text: String
        var error: HTTPSyntaxError

        init(_ testDescription: String, _ text: String, _ error: HTTPSyntaxError) {
            (self.testDescription, self.text, self.error) = (testDescription, text, error)
        }
    }

    static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    static func x(_ count: Int) -> String { String(repeating: "x", count: count) }

    static func lines(_ line: String, _ count: Int) -> String { String(repeating: line + "\r\n", count: count) }

    @Test(
        "A response that exceeds a limit is refused",
        arguments: [
            Excess("the status line", "HTTP/1.1 200 \(x(1_012))\r\n", .lineTooLong),
            Excess("a header", "HTTP/1.1 200 OK\r\nA: \(x(8_190))\r\n", .lineTooLong),
            Excess("the number of headers", "HTTP/1.1 200 OK\r\n" + lines("A: x", 129), .headerTooLarge),
            Excess("all headers", "HTTP/1.1 200 OK\r\n" + lines("A: \(x(8_000))", 9), .headerTooLarge),
            Excess("the length of the body", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", .bodyTooLarge),
            Excess("the chunks together", "\(chunked)6\r\nxxxxxx\r\n5\r\n", .bodyTooLarge),
            Excess("the size of a chunk", "\(chunked)FFFFFFFF\r\n", .bodyTooLarge),
            Excess("a body without a length", "HTTP/1.0 200 OK\r\n\r\n\(x(11))", .bodyTooLarge),
            Excess("the extensions of a chunk", "\(chunked)1;\(x(254))\r\n", .lineTooLong),
            Excess("the number of trailers", "\(chunked)0\r\n" + lines("A: x", 128), .headerTooLarge),
        ]
    )
    func limits(_ response: Excess) {
        let bytes = Array(response.text.utf8)
        #expect(Self.parse([bytes[...]], HTTPLimits(body: 10)).error == response.error)
        #expect(Self.parse(bytes.indices.map { bytes[$0...$0] }, HTTPLimits(body: 10)).error == response.error)
    }

    @Test("The body of a stream has any size, unless the status is an error")
    func stream() {
        let chunks = String(repeating: "5\r\nhello\r\n", count: 100) + "0\r\n\r\n"
        let head = "\r\nTransfer-Encoding: chunked\r\n\r\n"
        let limits = HTTPLimits(body: 10)
        let success = Self.parse([Array("HTTP/1.1 200 OK\(head)\(chunks)".utf8)[...]], limits, isStream: true)
        #expect(success.body.utf8.count == 500 && success.isReusable)
        let failure = Self.parse([Array("HTTP/1.1 500 X\(head)\(chunks)".utf8)[...]], limits, isStream: true)
        #expect(failure.error == .bodyTooLarge)
    }
}
