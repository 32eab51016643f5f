// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StoredValue {
    /// This value in the form in which it is read back from JSON, which has no dates, bytes, infinities or NaN: those
    /// are strings there.
    package var storedAsJSON: StoredValue {
        switch self {
        case .null, .bool, .integer, .string: self
        case .double(let value): value.isFinite ? self : .string(value.storedText)
        case .date(let value): .string(DateText.text(for: value))
        case .data(let value): .string(value.base64EncodedString())
        case .array(let values): .array(values.map(\.storedAsJSON))
        case .dictionary(let values): .dictionary(values.mapValues(\.storedAsJSON))
        }
    }

    /// Whether the value certainly has the same form in JSON.
    var isStoredAsItself: Bool {
        switch self {
        case .null, .bool, .integer, .string: true
        case .double(let value): value.isFinite
        case .date, .data, .array, .dictionary: false
        }
    }
}

extension JSONWriter {
    /// Writes a value that contains no others and is in a form that JSON has.
    mutating func writeLeaf(_ value: StoredValue) {
        switch value {
        case .null: text.append(contentsOf: "null".utf8)
        case .bool(let value): text.append(contentsOf: (value ? "true" : "false").utf8)
        // Most integers are small, whose digits are found much faster.
        case .integer(let value):
            text.append(contentsOf: (Int64(exactly: value)?.description ?? value.description).utf8)
        // The shortest text that reads back as the same bits. It always has a point or an exponent.
        case .double(let value) where value.isFinite: text.append(contentsOf: value.description.utf8)
        case .string(let value): write(value)
        case .double, .date, .data: writeLeaf(value.storedAsJSON)
        case .array, .dictionary: break
        }
    }

    /// Writes a string in its quotation marks, with no more escapes than JSON requires.
    mutating func write(_ string: String) {
        text.append(JSONByte.quote)
        var string = string
        // The pointer is used inside the closure only, and within its own bounds.
        string.withUTF8 { bytes in
            var written = 0
            for index in 0..<bytes.count {
                let byte = bytes[index]
                guard byte < 0x20 || byte == JSONByte.quote || byte == JSONByte.backslash else { continue }
                text.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[written..<index]))
                writeEscape(of: byte)
                written = index + 1
            }
            text.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[written...]))
        }
        text.append(JSONByte.quote)
    }

    private mutating func writeEscape(of byte: UInt8) {
        text.append(JSONByte.backslash)
        switch byte {
        case JSONByte.quote, JSONByte.backslash: text.append(byte)
        case 0x08: text.append(0x62)  // b
        case JSONByte.tab: text.append(0x74)  // t
        case JSONByte.lineFeed: text.append(0x6E)  // n
        case 0x0C: text.append(0x66)  // f
        case JSONByte.carriageReturn: text.append(0x72)  // r
        default:
            let digits = String(byte, radix: 16, uppercase: true)
            text.append(contentsOf: (byte < 0x10 ? "u000" : "u00").utf8)
            text.append(contentsOf: digits.utf8)
        }
    }
}
