// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Etcd.md, "Messages are read in place".

import StoredSettings

/// The places of all values in a JSON text of etcd's gateway.
///
/// It accepts what `JSONReader` accepts, except for names with an escape or a character that is not ASCII, very long names, and objects
/// with very many members: no message of etcd has one. Plain strings are decoded only on access. Numbers and other strings are also
/// decoded once by the scan, which validates them.
final class GatewayJSON: Sendable {
    struct Value {
        enum Kind: UInt8 {
            case object, array, number, null, `true`, `false`
            /// A string of ASCII without an escape.
            case plainString
            case otherString
        }

        var kind: Kind
        /// The range of the bytes; without quotation marks for a string.
        var (start, end): (UInt32, UInt32)
        /// The index of the value that follows this one and its contents.
        ///
        /// In the contents of an object, names and values alternate.
        var next: Int32

        var range: Range<Int> { Int(start)..<Int(end) }
    }

    let bytes: [UInt8]
    /// All names and values, in the order in which they begin.
    let values: [Value]

    /// Reads a text.
    ///
    /// Returns `nil` if the text is not valid.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - maximumDepth: The maximum number of nested arrays and objects.
    init?(_ bytes: [UInt8], maximumDepth: Int) {
        let values = bytes.withUnsafeBufferPointer { bytes -> [Value]? in
            var scanner = GatewayScanner(bytes)
            return scanner.scan(maximumDepth) ? scanner.values : nil
        }
        guard let values else { return nil }
        (self.bytes, self.values) = (bytes, values)
    }

    /// The string of a value that is one.
    func string(of value: Value) -> String {
        guard value.kind == .otherString else { return String(decoding: bytes[value.range], as: UTF8.self) }
        // The scan has validated it, so this cannot fail.
        guard case .string(let text)? = Self.read(bytes[(value.range.lowerBound - 1)..<(value.range.upperBound + 1)])
        else {
            return ""
        }
        return text
    }

    /// Returns a value that is neither an array nor an object; `nil` if it is not valid.
    static func read(_ bytes: ArraySlice<UInt8>) -> StoredValue? {
        bytes.withUnsafeBufferPointer { read($0) }
    }

    /// Returns a value that is neither an array nor an object; `nil` if it is not valid.
    ///
    /// The pointer is used only during the call.
    fileprivate static func read(_ bytes: UnsafeBufferPointer<UInt8>) -> StoredValue? {
        do throws(JSONSyntaxError) {
            return try JSONReader.read(bytes)
        } catch {
            return nil
        }
    }
}

/// Finds the values of a text.
///
/// The pointer is used only while the scanner exists, which is during a closure that holds the bytes. Single bytes are read by
/// ``byte(at:)``, which checks the offset in every build. Slices have ranges that were scanned before.
private struct GatewayScanner {
    /// The maximum number of members of an object; those of etcd have far fewer.
    private static let mostMembers = 64
    /// The maximum length of a name, in bytes; those of etcd are far shorter.
    private static let longestName = 128

    private let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte, which only grows.
    private var position = 0
    private(set) var values: [GatewayJSON.Value] = []

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// The byte at an offset that is not negative; 0, which begins no value, beyond the end.
    @inline(__always)
    private func byte(at offset: Int) -> UInt8 {
        offset < bytes.count ? bytes[offset] : 0
    }

    /// Scans the whole text.
    ///
    /// - Returns: Whether it is valid.
    mutating func scan(_ maximumDepth: Int) -> Bool {
        guard bytes.count <= Int(Int32.max) else { return false }
        values.reserveCapacity(min(64, bytes.count))
        // A byte order mark.
        if byte(at: 0) == 0xEF, byte(at: 1) == 0xBB, byte(at: 2) == 0xBF { position = 3 }
        skipSpace()
        guard scanValue(maximumDepth) else { return false }
        skipSpace()
        return position == bytes.count
    }

    private mutating func skipSpace() {
        while true {
            switch byte(at: position) {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    /// Scans a value and its contents.
    ///
    /// - Parameter depth: The number of arrays and objects that may be nested here. It limits the recursion.
    /// - Returns: Whether the value is valid.
    private mutating func scanValue(_ depth: Int) -> Bool {
        switch byte(at: position) {
        case UInt8(ascii: "\""): scanString()
        case UInt8(ascii: "{"): depth > 0 && scanContainer(.object, UInt8(ascii: "}"), depth - 1)
        case UInt8(ascii: "["): depth > 0 && scanContainer(.array, UInt8(ascii: "]"), depth - 1)
        case UInt8(ascii: "t"): scan("true", .true)
        case UInt8(ascii: "f"): scan("false", .false)
        case UInt8(ascii: "n"): scan("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): scanNumber()
        default: false
        }
    }

    private mutating func add(_ kind: GatewayJSON.Value.Kind, _ start: Int, _ end: Int) {
        // There are at most as many values as bytes, which `scan(_:)` limits.
        values.append(.init(kind: kind, start: UInt32(start), end: UInt32(end), next: Int32(values.count + 1)))
    }

    private mutating func scan(_ word: StaticString, _ kind: GatewayJSON.Value.Kind) -> Bool {
        let start = position
        let isWord = word.withUTF8Buffer { word in
            for (index, letter) in word.enumerated() where byte(at: start + index) != letter { return false }
            return true
        }
        position += word.utf8CodeUnitCount
        add(kind, start, position)
        return isWord
    }

    private mutating func scanNumber() -> Bool {
        let start = position
        while true {
            switch byte(at: position) {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                position += 1
                continue
            default: break
            }
            break
        }
        add(.number, start, position)
        // etcd sends few numbers, because an integer of 64 bits is a string.
        return GatewayJSON.read(UnsafeBufferPointer(rebasing: bytes[start..<position])) != nil
    }

    private mutating func scanString() -> Bool {
        let start = position + 1
        position = start
        var (allBits, hasEscape) = (UInt8(0), false)
        while true {
            let byte = byte(at: position)
            if byte == UInt8(ascii: "\"") { break }
            guard byte >= 0x20 else { return false }
            allBits |= byte
            if byte == UInt8(ascii: "\\") {
                hasEscape = true
                position += 1
            }
            position += 1
        }
        let isPlain = allBits < 0x80 && !hasEscape
        add(isPlain ? .plainString : .otherString, start, position)
        position += 1
        return isPlain || GatewayJSON.read(UnsafeBufferPointer(rebasing: bytes[(start - 1)..<position])) != nil
    }

    private mutating func scanContainer(_ kind: GatewayJSON.Value.Kind, _ close: UInt8, _ depth: Int) -> Bool {
        let index = values.count
        add(kind, position, position)
        position += 1
        skipSpace()
        var count = 0
        if byte(at: position) != close {
            while true {
                if kind == .object {
                    guard byte(at: position) == UInt8(ascii: "\""), scanString(), let name = values.last,
                        name.kind == .plainString, name.range.count <= Self.longestName
                    else { return false }
                    skipSpace()
                    guard byte(at: position) == UInt8(ascii: ":") else { return false }
                    position += 1
                    skipSpace()
                }
                guard scanValue(depth) else { return false }
                count += 1
                skipSpace()
                guard byte(at: position) == UInt8(ascii: ",") else { break }
                position += 1
                skipSpace()
            }
            guard byte(at: position) == close else { return false }
        }
        position += 1
        values[index].end = UInt32(position)
        values[index].next = Int32(values.count)
        return kind == .array || count <= Self.mostMembers && hasDistinctNames(index)
    }

    private func text(_ value: GatewayJSON.Value) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[value.range])
    }

    /// Whether no two members of an object have the same name.
    private func hasDistinctNames(_ object: Int) -> Bool {
        let end = Int(values[object].next)
        var name = object + 1
        while name < end {
            var other = Int(values[name + 1].next)
            let next = other
            while other < end {
                let (first, second) = (text(values[name]), text(values[other]))
                guard first.count != second.count || !first.elementsEqual(second) else { return false }
                other = Int(values[other + 1].next)
            }
            name = next
        }
        return true
    }
}
