// SPDX-License-Identifier: Apache-2.0

/// The state machine that parses one HTTP/1.1 response, in pieces of any size.
///
/// It does no input or output. It is strict: where two readers could disagree about the end of a response, it throws. Every
/// length and count is limited by ``HTTPLimits``.
package struct HTTPResponseParser: Sendable {
    private enum State {
        case statusLine
        case header
        /// A body with a length, of which this many bytes remain.
        case fixedBody(Int)
        /// A body that ends with the connection.
        case bodyUntilEnd
        case chunkSize
        case chunk(Int)
        /// The line break after a chunk.
        case chunkEnd
        case trailer
        case complete
    }

    private let limits: HTTPLimits
    private let isStream: Bool
    private var state = State.statusLine
    /// The beginning of a line whose end has not arrived.
    private var line: [UInt8] = []
    private var headerCount = 0
    private var headerSize = 0
    private var interimResponses = 0
    private var bodySize = 0
    private var head = HTTPResponseHead()
    /// The status of the response, once its head is complete.
    package private(set) var status: Int?

    /// Creates a parser for one response.
    ///
    /// - Parameters:
    ///   - limits: The limits.
    ///   - isStream: Whether the body of a response with status 200 may have any size.
    package init(limits: HTTPLimits = HTTPLimits(), isStream: Bool = false) {
        self.limits = limits
        self.isStream = isStream
    }

    /// Whether the response is complete.
    package var isComplete: Bool {
        if case .complete = state { true } else { false }
    }

    /// Whether no byte of the response has arrived.
    package var isEmpty: Bool {
        if case .statusLine = state { line.isEmpty && interimResponses == 0 } else { false }
    }

    /// Whether the connection can be used again after the complete response.
    package var isReusable: Bool { isComplete && head.isPersistent }

    /// Whether the body has any size.
    package var isUnlimited: Bool { isStream && status == 200 }

    /// Parses the next bytes.
    ///
    /// - Parameters:
    ///   - input: The bytes.
    ///   - body: The array to which the bytes of the body are appended.
    /// - Returns: The number of bytes that belong to the response: all, unless it is complete.
    /// - Throws: ``HTTPSyntaxError``. The parser must not be used afterwards.
    package mutating func parse(
        _ input: ArraySlice<UInt8>,
        into body: inout [UInt8]
    ) throws(HTTPSyntaxError) -> Int {
        var rest = input
        while !rest.isEmpty, !isComplete {
            switch state {
            case .fixedBody(let remaining):
                let count = try take(from: &rest, atMost: remaining, into: &body)
                state = count == remaining ? .complete : .fixedBody(remaining - count)
            case .bodyUntilEnd:
                _ = try take(from: &rest, atMost: .max, into: &body)
            case .chunk(let remaining):
                let count = try take(from: &rest, atMost: remaining, into: &body)
                state = count == remaining ? .chunkEnd : .chunk(remaining - count)
            case .statusLine, .header, .chunkSize, .chunkEnd, .trailer, .complete:
                guard let line = try takeLine(from: &rest) else { break }
                try parseLine(line)
            }
        }
        return input.count - rest.count
    }

    /// Handles the end of the connection.
    ///
    /// - Throws: ``HTTPSyntaxError`` if the response is not complete.
    package mutating func finish() throws(HTTPSyntaxError) {
        if case .bodyUntilEnd = state { state = .complete }
        guard isComplete else { throw .truncated }
    }

    private mutating func take(
        from rest: inout ArraySlice<UInt8>,
        atMost limit: Int,
        into body: inout [UInt8]
    ) throws(HTTPSyntaxError) -> Int {
        let piece = rest.prefix(limit)
        try count(piece.count)
        body.append(contentsOf: piece)
        rest = rest.dropFirst(piece.count)
        return piece.count
    }

    private mutating func count(_ bytes: Int) throws(HTTPSyntaxError) {
        guard !isUnlimited else { return }
        bodySize += bytes
        guard bodySize <= limits.body else { throw .bodyTooLarge }
    }

    // MARK: - Lines

    /// Returns the next line without its line break; `nil` if its end has not arrived.
    private mutating func takeLine(from rest: inout ArraySlice<UInt8>) throws(HTTPSyntaxError) -> [UInt8]? {
        let end = rest.firstIndex(of: 0x0A)
        let piece = end.map { rest[rest.startIndex..<$0] } ?? rest
        guard line.count + piece.count <= longestLine else { throw .lineTooLong }
        line.append(contentsOf: piece)
        guard let end else {
            rest = rest[rest.endIndex...]
            return nil
        }
        rest = rest[(end + 1)...]
        guard line.popLast() == 0x0D else { throw .invalid("a line does not end with CR LF") }
        let whole = line
        line = []
        // A control character in a line is a sign of a damaged or hostile stream. A tab is white space.
        guard whole.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw .invalid("a line contains a control character")
        }
        return whole
    }

    /// The maximum length of the current line, with its carriage return.
    private var longestLine: Int {
        switch state {
        case .statusLine: limits.statusLine
        case .chunkSize: limits.chunkLine
        case .chunkEnd: 1
        default: limits.headerLine
        }
    }

    private mutating func parseLine(_ line: [UInt8]) throws(HTTPSyntaxError) {
        switch state {
        case .statusLine:
            head = try HTTPResponseHead(statusLine: line)
            state = .header
        case .header where line.isEmpty: try beginBody()
        case .trailer where line.isEmpty: state = .complete
        case .header, .trailer:
            headerCount += 1
            headerSize += line.count
            guard headerCount <= limits.headerCount, headerSize <= limits.headerSize else { throw .headerTooLarge }
            if case .header = state { try head.add(line) } else { _ = try HTTPResponseHead.endOfName(line) }
        case .chunkSize:
            let size = try Self.chunkSize(line)
            guard isUnlimited || size <= limits.body - bodySize else { throw .bodyTooLarge }
            state = size == 0 ? .trailer : .chunk(size)
        case .chunkEnd:
            guard line.isEmpty else { throw .invalid("a chunk is longer than its size") }
            state = .chunkSize
        case .fixedBody, .bodyUntilEnd, .chunk, .complete: break
        }
    }

    private mutating func beginBody() throws(HTTPSyntaxError) {
        guard head.status >= 200 else {
            interimResponses += 1
            guard interimResponses <= limits.interimResponses else {
                throw .invalid("there are too many interim responses")
            }
            guard head.status != 101 else { throw .invalid("the server changes to another protocol") }
            state = .statusLine
            return
        }
        status = head.status
        switch (head.status, head.isChunked, head.length) {
        case (204, _, _), (304, _, _): state = .complete
        case (_, true, nil): state = .chunkSize
        case (_, true, .some): throw .invalid("the length of the body is given twice")
        case (_, false, let length?):
            guard isUnlimited || length <= limits.body else { throw .bodyTooLarge }
            state = length == 0 ? .complete : .fixedBody(length)
        case (_, false, nil):
            head.isPersistent = false
            state = .bodyUntilEnd
        }
    }

    /// The size of a chunk, from a line that may have extensions after a semicolon.
    private static func chunkSize(_ line: [UInt8]) throws(HTTPSyntaxError) -> Int {
        let digits = line.prefix { $0 != 0x3B && $0 != 0x20 && $0 != 0x09 }
        let extensions = line[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
        // 8 digits are 4 GiB, more than any chunk has.
        guard 1...8 ~= digits.count, extensions.first ?? 0x3B == 0x3B else {
            throw .invalid("a chunk has no valid size")
        }
        var size = 0
        for digit in digits {
            switch digit {
            case 0x30...0x39: size = size << 4 | Int(digit - 0x30)
            case 0x41...0x46: size = size << 4 | Int(digit - 0x41 + 10)
            case 0x61...0x66: size = size << 4 | Int(digit - 0x61 + 10)
            default: throw .invalid("a chunk has no valid size")
            }
        }
        return size
    }
}
