// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Etcd.md, "Requests have a writer of their own".

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Writes a message to etcd's gateway as JSON.
///
/// The names are those of the gateway, and the values are base64, numbers and words, so nothing has to be escaped. The members
/// are written in the order of the calls, directly into the body of the request.
struct GatewayWriter {
    private(set) var bytes: [UInt8] = []
    /// Whether the next member or element is the first one of its object or array.
    private var isFirst = true
    /// The base64 of the first values: a commit writes the name of its head four times.
    private var encoded: [(value: [UInt8], text: String)] = []
    /// The number of values that are remembered: the name of the head is the third one of a commit.
    private static let mostEncoded = 4

    /// Returns the text of an object.
    ///
    /// - Parameter writeMembers: A closure that writes its members.
    /// - Returns: The text.
    static func object(_ writeMembers: (inout GatewayWriter) -> Void) -> [UInt8] {
        var text = GatewayWriter()
        text.bytes.reserveCapacity(2_048)
        text.writeObject(writeMembers)
        return text.bytes
    }

    // MARK: - Members

    mutating func write(_ name: StaticString, base64 value: [UInt8]) {
        writeName(name)
        bytes.append(Self.quote)
        bytes.append(contentsOf: base64(of: value).utf8)
        bytes.append(Self.quote)
    }

    private mutating func base64(of value: [UInt8]) -> String {
        if let known = encoded.first(where: { $0.value == value }) { return known.text }
        let text = Data(value).base64EncodedString()
        if encoded.count < Self.mostEncoded { encoded.append((value, text)) }
        return text
    }

    /// Writes an integer of 64 bits, which is a string.
    mutating func write(_ name: StaticString, _ value: Int64) {
        write(name, "\(value)")
    }

    /// Writes a word, which has no character that must be escaped.
    mutating func write(_ name: StaticString, _ word: String) {
        writeName(name)
        bytes.append(Self.quote)
        bytes.append(contentsOf: word.utf8)
        bytes.append(Self.quote)
    }

    /// Writes `true`.
    mutating func writeTrue(_ name: StaticString) {
        writeName(name)
        append("true")
    }

    mutating func writeObject(_ name: StaticString, _ writeMembers: (inout GatewayWriter) -> Void) {
        writeName(name)
        writeObject(writeMembers)
    }

    /// Writes an array of objects.
    mutating func writeObjects<Element>(
        _ name: StaticString,
        _ elements: [Element],
        _ writeMembers: (Element, inout GatewayWriter) -> Void
    ) {
        writeName(name)
        bytes.append(UInt8(ascii: "["))
        isFirst = true
        for element in elements {
            writeComma()
            writeObject { writeMembers(element, &$0) }
        }
        bytes.append(UInt8(ascii: "]"))
        isFirst = false
    }

    // MARK: - Text

    private static let quote = UInt8(ascii: "\"")

    private mutating func writeObject(_ writeMembers: (inout GatewayWriter) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        isFirst = true
        writeMembers(&self)
        bytes.append(UInt8(ascii: "}"))
        isFirst = false
    }

    private mutating func writeName(_ name: StaticString) {
        writeComma()
        bytes.append(Self.quote)
        append(name)
        bytes.append(Self.quote)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func writeComma() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }
}
