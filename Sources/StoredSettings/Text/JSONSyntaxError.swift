// SPDX-License-Identifier: Apache-2.0

/// Where a text is not the JSON that it should be, and why.
///
/// The problem names nothing from the text but a structural character, so it can be logged whatever the text holds.
package struct JSONSyntaxError: Error, Sendable, Hashable {
    /// How many bytes stand before the place, a byte order mark included.
    package let offset: Int
    /// The line, counted from one, where LF, CR LF and CR each end one.
    package let line: Int
    /// The column, counted from one in Unicode scalars, of which a leading byte order mark is none.
    package let column: Int
    /// What is wrong, in one sentence without a full stop.
    package let problem: String
}

extension JSONSyntaxError {
    /// Creates an error, counting the lines and columns before it.
    ///
    /// It walks the text from its start, which is done once for a text that is not read after all.
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

/// The bytes that mean something in JSON.
///
/// Computed and inlined, so that a comparison is one instruction and waits for no initialiser.
enum JSONByte {
    @inline(__always) static var tab: UInt8 { 0x09 }
    @inline(__always) static var lineFeed: UInt8 { 0x0A }
    @inline(__always) static var carriageReturn: UInt8 { 0x0D }
    @inline(__always) static var space: UInt8 { 0x20 }
    @inline(__always) static var quote: UInt8 { 0x22 }
    @inline(__always) static var plus: UInt8 { 0x2B }
    @inline(__always) static var comma: UInt8 { 0x2C }
    @inline(__always) static var minus: UInt8 { 0x2D }
    @inline(__always) static var point: UInt8 { 0x2E }
    @inline(__always) static var zero: UInt8 { 0x30 }
    @inline(__always) static var nine: UInt8 { 0x39 }
    @inline(__always) static var colon: UInt8 { 0x3A }
    @inline(__always) static var leftBracket: UInt8 { 0x5B }
    @inline(__always) static var backslash: UInt8 { 0x5C }
    @inline(__always) static var rightBracket: UInt8 { 0x5D }
    @inline(__always) static var leftBrace: UInt8 { 0x7B }
    @inline(__always) static var rightBrace: UInt8 { 0x7D }
}
