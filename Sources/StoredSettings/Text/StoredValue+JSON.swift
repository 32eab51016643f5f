// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StoredValue {
    /// This value as it is read back from JSON.
    ///
    /// JSON has no dates, bytes, infinities or NaN, so those become strings.
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

    /// Whether the value has the same form in JSON; `false` also for arrays and dictionaries, which are not examined.
    var isStoredAsItself: Bool {
        switch self {
        case .null, .bool, .integer, .string: true
        case .double(let value): value.isFinite
        case .date, .data, .array, .dictionary: false
        }
    }
}

extension JSONWriter {
    /// Writes a value that is not an array or a dictionary.
    mutating func writeLeaf(_ value: StoredValue) {
        switch value {
        case .null: text.append(contentsOf: "null".utf8)
        case .bool(let value): text.append(contentsOf: (value ? "true" : "false").utf8)
        // Most integers are small, and formatting an `Int64` is much faster.
        case .integer(let value):
            text.append(contentsOf: (Int64(exactly: value)?.description ?? value.description).utf8)
        // The shortest string that is read back as the same bits. It always has a point or an exponent.
        case .double(let value) where value.isFinite: text.append(contentsOf: value.description.utf8)
        case .string(let value): write(value)
        case .double, .date, .data: writeLeaf(value.storedAsJSON)
        case .array, .dictionary: break
        }
    }

    /// Writes a string in quotation marks, with only the escapes that JSON requires.
    mutating func write(_ string: String) {
        text.append(JSONByte.quote)
        var string = string
        // The pointer is used only inside the closure and within its bounds.
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
