// SPDX-License-Identifier: Apache-2.0

/// The error for invalid JSON, with its position.
///
/// The problem quotes nothing from the input except structural characters, so it can be logged even if the input is
/// secret.
package struct JSONSyntaxError: Error, Sendable, Hashable {
    /// The number of bytes before the position, including a byte order mark.
    package let offset: Int
    /// The line, counted from one; LF, CR LF and CR each end a line.
    package let line: Int
    /// The column, counted from one in Unicode scalars, without a leading byte order mark.
    package let column: Int
    /// The problem, in one sentence without a period.
    package let problem: String
}

extension JSONSyntaxError {
    /// Creates an error, and counts the lines and columns before it.
    ///
    /// The count starts at the beginning of the input, which happens at most once per parse.
    init(_ problem: String, at offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
        var line = 1
        var column = 1
        var previous: UInt8 = 0
        let first = bytes.startsWithByteOrderMark ? 3 : 0
        for byte in bytes.prefix(offset).dropFirst(first) {
            if byte == JSONByte.carriageReturn || byte == JSONByte.lineFeed && previous != JSONByte.carriageReturn {
                line += 1
                column = 1
            } else if byte != JSONByte.lineFeed, byte & 0b1100_0000 != 0b1000_0000 {
                column += 1
            }
            previous = byte
        }
        self.offset = offset
        self.line = line
        self.column = column
        self.problem = problem
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the bytes begin with U+FEFF in UTF-8.
    var startsWithByteOrderMark: Bool {
        count >= 3 && self[0] == 0xEF && self[1] == 0xBB && self[2] == 0xBF
    }
}

/// The bytes that have a meaning in JSON.
///
/// The properties are computed and inlined, so that a comparison is one instruction and needs no lazy initialization.
enum JSONByte {
    @inline(__always) static var tab: UInt8 { 0x09 }
    @inline(__always) static var lineFeed: UInt8 { 0x0A }
    @inline(__always) static var carriageReturn: UInt8 { 0x0D }
    @inline(__always) static var space: UInt8 { 0x20 }
    @inline(__always) static var quote: UInt8 { 0x22 }
    @inline(__always) static var plus: UInt8 { 0x2B }
    @inline(__always) static var asterisk: UInt8 { 0x2A }
    @inline(__always) static var comma: UInt8 { 0x2C }
    @inline(__always) static var minus: UInt8 { 0x2D }
    @inline(__always) static var point: UInt8 { 0x2E }
    @inline(__always) static var solidus: UInt8 { 0x2F }
    @inline(__always) static var zero: UInt8 { 0x30 }
    @inline(__always) static var nine: UInt8 { 0x39 }
    @inline(__always) static var colon: UInt8 { 0x3A }
    @inline(__always) static var leftBracket: UInt8 { 0x5B }
    @inline(__always) static var backslash: UInt8 { 0x5C }
    @inline(__always) static var rightBracket: UInt8 { 0x5D }
    @inline(__always) static var leftBrace: UInt8 { 0x7B }
    @inline(__always) static var rightBrace: UInt8 { 0x7D }
}
