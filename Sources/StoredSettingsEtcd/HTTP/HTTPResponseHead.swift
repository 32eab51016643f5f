// SPDX-License-Identifier: Apache-2.0

/// The limits of an HTTP response, in bytes unless stated otherwise.
package struct HTTPLimits: Sendable, Hashable {
    /// The length of the status line.
    package var statusLine = 1_024
    /// The length of a header or a trailer.
    package var headerLine = 8_192
    /// The number of headers and trailers, including those of interim responses.
    package var headerCount = 128
    /// The length of all headers and trailers together.
    package var headerSize = 65_536
    /// The length of the line with the size of a chunk.
    package var chunkLine = 256
    /// The number of interim responses, such as 100 Continue.
    package var interimResponses = 8
    /// The size of the body.
    package var body: Int

    /// Creates limits.
    ///
    /// - Parameter body: The maximum size of a body, in bytes.
    package init(body: Int = 64 << 20) {
        self.body = body
    }
}

/// A response that is not valid HTTP, or exceeds a limit.
package enum HTTPSyntaxError: Error, Hashable, Sendable {
    /// The connection ended before the response did.
    case truncated
    case lineTooLong
    case headerTooLarge
    case bodyTooLarge
    /// Another problem, one sentence without a period.
    case invalid(String)

    /// The problem, one sentence without a period.
    package var problem: String {
        switch self {
        case .truncated: "the connection ended before the response was complete"
        case .lineTooLong: "a line of the response is too long"
        case .headerTooLarge: "the headers of the response are too large"
        case .bodyTooLarge: "the body of the response is too large"
        case .invalid(let problem): "the response is not valid HTTP: \(problem)"
        }
    }
}

/// The parts of a response's head that determine its body.
struct HTTPResponseHead: Sendable {
    var status = 0
    var length: Int?
    var isChunked = false
    /// Whether the connection can be used for another request.
    var isPersistent = false
    private var isVersion1 = false

    init() {}

    /// Creates the head of a response from its status line.
    init(statusLine line: [UInt8]) throws(HTTPSyntaxError) {
        // "HTTP/1.1 200", and a space before the reason, if there is one.
        guard line.count >= 12, line.starts(with: "HTTP/1.".utf8), line[8] == 0x20 else {
            throw .invalid("the status line is not that of HTTP/1")
        }
        guard line[7] == 0x30 || line[7] == 0x31 else { throw .invalid("the version is neither HTTP/1.0 nor HTTP/1.1") }
        guard line.count == 12 || line[12] == 0x20 else { throw .invalid("the status has more than three digits") }
        for digit in line[9..<12] {
            guard 0x30...0x39 ~= digit else { throw .invalid("the status is not a number") }
            status = status * 10 + Int(digit - 0x30)
        }
        guard 100...599 ~= status else { throw .invalid("the status is not between 100 and 599") }
        isVersion1 = line[7] == 0x31
        isPersistent = isVersion1
    }

    /// The headers that are read.
    private enum Field: String, CaseIterable {
        case contentLength = "content-length"
        case transferEncoding = "transfer-encoding"
        case contentEncoding = "content-encoding"
        case connection

        static let lengthsOfNames = allCases.map(\.rawValue.utf8.count)
    }

    /// Adds a header.
    mutating func add(_ line: [UInt8]) throws(HTTPSyntaxError) {
        let colon = try Self.endOfName(line)
        // The names of most other headers differ in length, so those headers are not decoded.
        guard Field.lengthsOfNames.contains(colon) else { return }
        let (name, value) = Self.split(line, at: colon)
        switch Field(rawValue: name) {
        case .contentLength:
            guard 1...15 ~= value.utf8.count, value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let length = Int(value)
            else {
                throw .invalid("the content length is not a number")
            }
            guard self.length == nil || self.length == length else { throw .invalid("there are two content lengths") }
            self.length = length
        case .transferEncoding:
            guard isVersion1, !isChunked, value == "chunked" else { throw .invalid("the transfer encoding is unknown") }
            isChunked = true
        case .contentEncoding:
            guard value == "identity" else { throw .invalid("the content is encoded, which was not requested") }
        case .connection:
            let options = value.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
            if options.contains("close") { isPersistent = false }
        case nil: break
        }
    }

    /// Returns the index of the colon after the name of a header.
    ///
    /// - Throws: ``HTTPSyntaxError`` if the name is not valid.
    static func endOfName(_ line: [UInt8]) throws(HTTPSyntaxError) -> Int {
        guard let colon = line.firstIndex(of: 0x3A), colon > 0 else { throw .invalid("a header has no name") }
        guard line[..<colon].allSatisfy(isTokenByte) else {
            throw .invalid("the name of a header contains an invalid character")
        }
        return colon
    }

    /// Returns the name and the value of a header in small letters.
    private static func split(_ line: [UInt8], at colon: Int) -> (name: String, value: String) {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var value = line[(colon + 1)...].drop(while: isSpace)
        while let last = value.last, isSpace(last) { value.removeLast() }
        return (
            String(decoding: line[..<colon], as: UTF8.self).lowercased(),
            String(decoding: value, as: UTF8.self).lowercased()
        )
    }

    /// Whether a byte may be part of a token (RFC 9110).
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        // ! # $ % & ' * + - . ^ _ ` | ~
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }
}
