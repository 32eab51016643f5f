// SPDX-License-Identifier: Apache-2.0

/// The tokens and comments of JSON, and the white space between them.
struct TextTokens {
    private(set) var tokens: [String] = []
    /// The white space before each token, and behind the last one.
    private(set) var spaces: [String] = []

    init(_ bytes: [UInt8]) {
        var position = 0
        while true {
            var end = position
            while end < bytes.count, Self.isSpace(bytes[end]) { end += 1 }
            spaces.append(String(decoding: bytes[position..<end], as: UTF8.self))
            guard end < bytes.count else { return }
            position = Self.endOfToken(at: end, in: bytes)
            tokens.append(String(decoding: bytes[end..<position], as: UTF8.self))
        }
    }

    private static func endOfToken(at start: Int, in bytes: [UInt8]) -> Int {
        var end = start + 1
        switch bytes[start] {
        case UInt8(ascii: "\""):
            while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
                end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            return min(end + 1, bytes.count)
        case UInt8(ascii: "/") where end < bytes.count && bytes[end] == UInt8(ascii: "/"):
            while end < bytes.count, bytes[end] != UInt8(ascii: "\n"), bytes[end] != UInt8(ascii: "\r") { end += 1 }
            return end
        case UInt8(ascii: "/"):
            end += 3
            while end < bytes.count, bytes[end - 2] != UInt8(ascii: "*") || bytes[end - 1] != UInt8(ascii: "/") {
                end += 1
            }
            return min(end, bytes.count)
        default:
            guard !isMark(bytes[start]) else { return end }
            while end < bytes.count, !isSpace(bytes[end]), !isMark(bytes[end]) { end += 1 }
            return end
        }
    }

    /// Whether a byte is white space, or part of a byte order mark, which occurs only before the first token.
    private static func isSpace(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF: true
        default: false
        }
    }

    private static func isMark(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","),
            UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "\""):
            true
        default: false
        }
    }
}
