// SPDX-License-Identifier: Apache-2.0

/// The bytes of an HTTP/1.1 request.
enum HTTPRequestText {
    /// Returns the bytes of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - host: The value of the header `Host`.
    /// - Returns: The head and the body.
    static func bytes(of request: EtcdRequest, host: String) -> [UInt8] {
        var head = "POST \(request.path) HTTP/1.1\r\nHost: \(host)\r\nContent-Type: application/json\r\n"
        for header in request.headers { head += "\(header.name): \(header.value)\r\n" }
        head += "Content-Length: \(request.body.count)\r\n\r\n"
        var bytes: [UInt8] = []
        bytes.reserveCapacity(head.utf8.count + request.body.count)
        bytes.append(contentsOf: head.utf8)
        bytes.append(contentsOf: request.body)
        return bytes
    }

    /// Throws if a path or a header could be taken for something else, such as the end of the head.
    static func check(_ request: EtcdRequest) throws(EtcdTransportError) {
        let isPath = request.path.hasPrefix("/") && request.path.utf8.allSatisfy { 0x21...0x7E ~= $0 }
        guard isPath else { throw invalid("the path of a request does not begin with '/', or contains a space") }
        for header in request.headers {
            guard !header.name.isEmpty, header.name.utf8.allSatisfy(HTTPResponseHead.isTokenByte) else {
                throw invalid("the name of a header is not valid")
            }
            guard header.value.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
                throw invalid("the value of a header contains a character that is not printable")
            }
            let name = header.name.lowercased()
            guard !["host", "content-length", "content-type", "transfer-encoding", "connection"].contains(name) else {
                throw invalid("a header of a request describes the connection or the body")
            }
        }
    }

    private static func invalid(_ reason: String) -> EtcdTransportError {
        EtcdTransportError(.invalidArgument, mayHaveArrived: false, reason: reason)
    }
}
