// SPDX-License-Identifier: Apache-2.0

// Compiled by `.ci/fuzz gateway` together with the library and StoredSettingsEtcd, as one module.

/// Parses bytes as an HTTP response, whole and in pieces, and as every message of etcd's gateway.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzGateway(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // The fuzzer owns the bytes, which are valid until this function returns.
    let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
    let bytes = Array(input.dropFirst(2))
    let (isStream, seed) = ((input.first ?? 0) & 1 == 1, input.dropFirst().first ?? 0)
    let pieces = divide(bytes, seed)

    let response = parse([bytes[...]], isStream)
    expect(response == parse(pieces, isStream), "the pieces of a response are read differently")
    expect(response.body.count <= bytes.count, "a body has grown")
    decode(response.body)
    decode(bytes)

    let limit = 1_000
    let messages = watch([bytes[...]], limit)
    expect(messages == watch(pieces, limit), "the pieces of a watch are read differently")
    checkBase64(bytes)
    return 0
}

/// Divides bytes into pieces whose sizes depend on a seed.
private func divide(_ bytes: [UInt8], _ seed: UInt8) -> [ArraySlice<UInt8>] {
    var (rest, pieces, state) = (bytes[...], [ArraySlice<UInt8>](), UInt32(seed) &+ 1)
    while !rest.isEmpty {
        state = state &* 1_664_525 &+ 1_013_904_223
        let size = seed == 0 ? 1 : Int(state >> 24) % 40 + 1
        pieces.append(rest.prefix(size))
        rest = rest.dropFirst(size)
    }
    return pieces
}

private struct ParsedResponse: Equatable {
    var status: Int?
    var body: [UInt8] = []
    var isReusable = false
    var error: HTTPSyntaxError?
}

private func parse(_ pieces: [ArraySlice<UInt8>], _ isStream: Bool) -> ParsedResponse {
    var parser = HTTPResponseParser(limits: HTTPLimits(body: 500), isStream: isStream)
    var parsed = ParsedResponse()
    do {
        for piece in pieces where !parser.isComplete {
            let used = try parser.parse(piece, into: &parsed.body)
            expect(0...piece.count ~= used, "more bytes are used than there are")
            expect(used == piece.count || parser.isComplete, "bytes of an incomplete response are not used")
        }
        if !parser.isComplete { try parser.finish() }
        expect(parser.status != nil, "a complete response has no status")
    } catch {
        expect(!error.problem.isEmpty, "an error has no problem")
        parsed.error = error
        // What was read before the error depends on the pieces.
        parsed.body = []
    }
    parsed.status = parser.status
    parsed.isReusable = parser.isReusable
    expect(isStream && parsed.status == 200 || parsed.body.count <= 500, "a body exceeds its limit")
    return parsed
}

/// What a watch has read.
private struct WatchedMessages: Equatable {
    var messages: [EtcdWatchMessage] = []
    var end: EtcdError?
    var isAboutToken = false
}

private func watch(_ pieces: [ArraySlice<UInt8>], _ limit: Int) -> WatchedMessages {
    var reader = WatchReader(limit: limit)
    var watched = WatchedMessages()
    func add(_ output: WatchReader.Output) {
        watched.messages += output.messages
        (watched.end, watched.isAboutToken) = (output.end, output.isAboutToken)
    }
    for piece in pieces where watched.end == nil { add(reader.read(Array(piece))) }
    if watched.end == nil { add(reader.finish()) }
    expect(watched.end != nil, "a watch has ended without an error")
    return watched
}

/// Checks that bytes are the same after they were written and read.
private func checkBase64(_ bytes: [UInt8]) {
    let text = GatewayWriter.object { $0.write("a", base64: bytes) }
    do {
        expect(try GatewayObject(text).bytes("a") == bytes, "base64 does not restore the bytes")
    } catch {
        expect(false, "base64 that was written cannot be read")
    }
}

/// Checks that `GatewayJSON` accepts exactly the valid messages, except for names that etcd does not use.
private func compareReaders(_ bytes: [UInt8]) {
    let reference: [String: StoredValue]?
    do {
        reference = try bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in
            try JSONReader.readObject(bytes, maximumDepth: GatewayObject.maximumDepth)
        }
    } catch {
        reference = nil
    }
    let json = GatewayJSON(bytes, maximumDepth: GatewayObject.maximumDepth)
    let isObject = json?.values.first?.kind == .object
    expect(!isObject || reference != nil, "a message is accepted that is not valid JSON")
    let isPlain =
        bytes.allSatisfy { $0 < 0x80 && $0 != 0x5C } && bytes.count { $0 == 0x2C } < 64
        && bytes.split(separator: 0x22).allSatisfy { $0.count <= 128 }
    expect(isObject || reference == nil || !isPlain, "a valid message is refused")
}

/// Decodes bytes as every response, which must not trap.
private func decode(_ bytes: [UInt8]) {
    compareReaders(bytes)
    _ = EtcdError(EtcdResponse(status: 400, body: bytes)).description
    do throws(GatewayObject.Malformed) {
        let object = try GatewayObject(bytes)
        attempt { () throws(GatewayObject.Malformed) in _ = try EtcdRangeResult(object) }
        attempt { () throws(GatewayObject.Malformed) in _ = try EtcdStatus(object) }
        attempt { () throws(GatewayObject.Malformed) in _ = try EtcdEvent(object) }
        let key: [UInt8] = [1]
        let operations: [EtcdOperation] = [
            .put(key, []), .range(EtcdRangeRequest(EtcdKeyRange(key: key))), .delete(EtcdKeyRange(key: key)),
        ]
        for count in 0...operations.count {
            let branch = Array(operations.prefix(count))
            let transaction = EtcdTransaction(if: [], then: branch, else: branch)
            attempt { () throws(GatewayObject.Malformed) in
                let result = try EtcdTransactionResult(object, for: transaction)
                expect(result.operations.count == count, "a transaction has another number of results")
            }
        }
    } catch {
        expect(!error.reason.isEmpty, "an error has no reason")
    }
}

private func attempt(_ body: () throws(GatewayObject.Malformed) -> Void) {
    do throws(GatewayObject.Malformed) {
        try body()
    } catch {
        expect(!error.reason.isEmpty, "an error has no reason")
    }
}

/// Responses of etcd 3.4, as initial inputs.
@_cdecl("LLVMFuzzerInitialize")
public func seedGateway(
    _ argumentCount: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    let header = #""header":{"cluster_id":"10144879847569953045","member_id":"2","revision":"6","raft_term":"2"}"#
    let keyValue = #"{"key":"YQ==","create_revision":"2","mod_revision":"3","version":"2","value":"Mg=="}"#
    let range = #"{\#(header),"kvs":[\#(keyValue)],"more":true,"count":"2"}"#
    let transaction =
        #"{\#(header),"succeeded":true,"responses":[{"response_put":{\#(header)}},{"response_range":\#(range)},"#
        + #"{"response_delete_range":{\#(header),"deleted":"1"}}]}"#
    let error = #"{"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14}"#
    let created = #"{"result":{\#(header),"created":true}}"# + "\n"
    let events =
        #"{"result":{\#(header),"fragment":true,"events":[{"kv":\#(keyValue)},{"type":"DELETE","kv":\#(keyValue)}]}}"#
        + "\n"
    let canceled =
        #"{"result":{\#(header),"canceled":true,"compact_revision":"4","cancel_reason":"permission denied"}}"# + "\n"
    let failed = #"{"error":{"grpc_code":16,"http_code":401,"message":"invalid auth token"}}"# + "\n"
    let status = #"{\#(header),"version":"3.4.23","dbSize":"20480","leader":"1"}"#
    func chunk(_ text: String) -> String { "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n" }
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    writeSeeds(
        [
            "\0\0HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(range.utf8.count)\r\n\r\n\(range)",
            "\0\u{1}HTTP/1.1 400 Bad Request\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk(error))0\r\nX: y\r\n\r\n",
            "\u{1}\u{2}\(chunked)\(chunk(created))\(chunk(events))\(chunk(canceled))0\r\n\r\n",
            "\u{1}\u{3}HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nConnection: close\r\n\r\nx",
            "\0\0\(transaction)", "\0\0\(status)", "\0\0\(range)", "\0\u{4}\(created)\(events)\(canceled)",
            "\0\u{5}\(created)\(failed)", "\0\0AAECAw==", "\0\0\(error)",
        ]
        .map { Array($0.utf8) }
    )
    return 0
}
