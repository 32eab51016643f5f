// SPDX-License-Identifier: Apache-2.0

import StoredSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A JSON object of etcd's gateway, in the JSON form of Protocol Buffers.
///
/// A 64-bit integer is a string, bytes are base64, and a member with a zero value is omitted. Unknown members are ignored. A
/// known member with another type is an error.
struct GatewayObject {
    /// A response that is not what the gateway sends.
    struct Malformed: Error, Hashable {
        /// The problem, one sentence without a period and without a part of the response.
        let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    /// The maximum number of nested arrays and objects in a message; those of etcd have 7.
    static let maximumDepth = 32

    private let json: GatewayJSON
    /// The index of the object in the values of ``json``.
    private let index: Int

    /// Parses a message.
    init(_ bytes: [UInt8]) throws(Malformed) {
        guard let json = GatewayJSON(bytes, maximumDepth: Self.maximumDepth), json.values[0].kind == .object else {
            throw Self.malformed(bytes)
        }
        (self.json, index) = (json, 0)
    }

    private init(_ json: GatewayJSON, _ index: Int) {
        (self.json, self.index) = (json, index)
    }

    /// The error of a message that cannot be read.
    private static func malformed(_ bytes: [UInt8]) -> Malformed {
        do {
            _ = try bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in
                try JSONReader.readObject(bytes, maximumDepth: maximumDepth)
            }
            return Malformed("a message has a name or a number of members that etcd does not use")
        } catch {
            return Malformed("a message is not valid JSON at byte \(error.offset): \(error.problem)")
        }
    }

    /// The index of the value of a member; `nil` if it is omitted or null, which mean its zero value.
    private func member(_ name: StaticString) -> Int? {
        // The pointers are used only inside the closures, and the ranges are those of the bytes.
        json.bytes.withUnsafeBufferPointer { bytes in
            name.withUTF8Buffer { name in
                // The names and values of the object alternate.
                var next = index + 1
                while next < json.values[index].next {
                    let range = json.values[next].range
                    // `elementsEqual` of two buffers executes several times as many instructions.
                    if range.count == name.count, zip(range, name.indices).allSatisfy({ bytes[$0] == name[$1] }) {
                        return json.values[next + 1].kind == .null ? nil : next + 1
                    }
                    next = Int(json.values[next + 1].next)
                }
                return nil
            }
        }
    }

    /// The bytes of a member that is a plain string; `nil` if it has another type.
    ///
    /// etcd escapes no digit and no letter of base64, so an escaped string is refused.
    private func letters(of member: Int) -> ArraySlice<UInt8>? {
        let value = json.values[member]
        return value.kind == .plainString ? json.bytes[value.range] : nil
    }

    /// Whether a member is present.
    func contains(_ name: StaticString) -> Bool { member(name) != nil }

    func string(_ name: StaticString) throws(Malformed) -> String {
        guard let member = member(name) else { return "" }
        let value = json.values[member]
        guard value.kind == .plainString || value.kind == .otherString else {
            throw Malformed("'\(name)' is not a string")
        }
        return json.string(of: value)
    }

    func bool(_ name: StaticString) throws(Malformed) -> Bool {
        guard let member = member(name) else { return false }
        switch json.values[member].kind {
        case .true: return true
        case .false: return false
        default: throw Malformed("'\(name)' is not a Boolean")
        }
    }

    /// Returns an integer of 64 bits, which is a string.
    func integer<Number: FixedWidthInteger>(_ name: StaticString, as type: Number.Type = Int64.self) throws(Malformed)
        -> Number
    {
        guard let member = member(name) else { return 0 }
        guard let letters = letters(of: member), let number = Number(digits: letters) else {
            throw Malformed("'\(name)' is not a string with an integer in its range")
        }
        return number
    }

    /// Returns an integer of 32 bits, which is a number.
    func smallInteger(_ name: StaticString) throws(Malformed) -> Int {
        guard let member = member(name) else { return 0 }
        let value = json.values[member]
        guard value.kind == .number, case .integer(let wide)? = GatewayJSON.read(json.bytes[value.range]),
            let number = Int32(exactly: wide)
        else {
            throw Malformed("'\(name)' is not an integer of 32 bits")
        }
        return Int(number)
    }

    /// Whether the bits of base64 that the padding stands for, which Foundation ignores, are zero.
    ///
    /// - Parameters:
    ///   - letters: The letters that Foundation has decoded.
    ///   - count: The number of bytes.
    /// - Returns: Whether they are, and the letters are as many as the bytes need.
    private static func isCanonical(_ letters: ArraySlice<UInt8>, count: Int) -> Bool {
        guard (count + 2) / 3 * 4 == letters.count else { return false }
        // Four or two bits of the letter before the padding belong to no byte.
        return switch count % 3 {
        case 1: "AQgw".utf8.contains(letters[letters.endIndex - 3])
        case 2: "AEIMQUYcgkosw048".utf8.contains(letters[letters.endIndex - 2])
        default: true
        }
    }

    func bytes(_ name: StaticString) throws(Malformed) -> [UInt8] {
        guard let member = member(name) else { return [] }
        guard let letters = letters(of: member), let data = Data(base64Encoded: Data(letters)),
            Self.isCanonical(letters, count: data.count)
        else { throw Malformed("'\(name)' is not a string in base64") }
        return Array(data)
    }

    func object(_ name: StaticString) throws(Malformed) -> GatewayObject? {
        guard let member = member(name) else { return nil }
        guard json.values[member].kind == .object else { throw Malformed("'\(name)' is not an object") }
        return GatewayObject(json, member)
    }

    func objects(_ name: StaticString) throws(Malformed) -> [GatewayObject] {
        guard let member = member(name) else { return [] }
        guard json.values[member].kind == .array else { throw Malformed("'\(name)' is not an array") }
        var objects: [GatewayObject] = []
        var next = member + 1
        while next < json.values[member].next {
            guard json.values[next].kind == .object else {
                throw Malformed("an element of '\(name)' is not an object")
            }
            objects.append(GatewayObject(json, next))
            next = Int(json.values[next].next)
        }
        return objects
    }
}

extension FixedWidthInteger {
    /// Creates an integer from decimal digits, with a minus sign before those of a negative one.
    ///
    /// Returns `nil` if there are other characters or no digits, or if the number is out of range.
    fileprivate init?(digits letters: ArraySlice<UInt8>) {
        let isNegative = letters.first == UInt8(ascii: "-")
        let digits = isNegative ? letters.dropFirst() : letters
        guard !digits.isEmpty else { return nil }
        var number = Self.zero
        for digit in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            let (tenfold, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let value = Self(digit - UInt8(ascii: "0"))
            // A negative number is accumulated by subtraction, because the least number has no positive counterpart.
            let (sum, overflows) =
                isNegative ? tenfold.subtractingReportingOverflow(value) : tenfold.addingReportingOverflow(value)
            guard !isTooLarge, !overflows else { return nil }
            number = sum
        }
        self = number
    }
}
