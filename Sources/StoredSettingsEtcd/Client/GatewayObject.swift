// SPDX-License-Identifier: Apache-2.0

import StoredSettings

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

    private let members: [String: StoredValue]

    /// Parses a message.
    init(_ bytes: ArraySlice<UInt8>) throws(Malformed) {
        do {
            members = try bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in
                try JSONReader.readObject(bytes, maximumDepth: Self.maximumDepth)
            }
        } catch {
            throw Malformed("a message is not valid JSON at byte \(error.offset): \(error.problem)")
        }
    }

    private init(_ members: [String: StoredValue]) {
        self.members = members
    }

    /// The value of a member; `nil` if it is omitted or null, which mean its zero value.
    private func member(_ name: String) -> StoredValue? {
        guard let value = members[name], value != .null else { return nil }
        return value
    }

    /// Whether a member is present.
    func contains(_ name: String) -> Bool { member(name) != nil }

    func string(_ name: String) throws(Malformed) -> String {
        guard let value = member(name) else { return "" }
        guard case .string(let string) = value else { throw Malformed("'\(name)' is not a string") }
        return string
    }

    func bool(_ name: String) throws(Malformed) -> Bool {
        guard let value = member(name) else { return false }
        guard case .bool(let bool) = value else { throw Malformed("'\(name)' is not a Boolean") }
        return bool
    }

    /// Returns an integer of 64 bits, which is a string.
    func integer<Number: FixedWidthInteger>(_ name: String, as type: Number.Type = Int64.self) throws(Malformed)
        -> Number
    {
        guard let value = member(name) else { return 0 }
        guard case .string(let text) = value, let number = Number(text), text.utf8.first != UInt8(ascii: "+") else {
            throw Malformed("'\(name)' is not a string with an integer in its range")
        }
        return number
    }

    /// Returns an integer of 32 bits, which is a number.
    func smallInteger(_ name: String) throws(Malformed) -> Int {
        guard let value = member(name) else { return 0 }
        guard case .integer(let wide) = value, let number = Int32(exactly: wide) else {
            throw Malformed("'\(name)' is not an integer of 32 bits")
        }
        return Int(number)
    }

    func bytes(_ name: String) throws(Malformed) -> [UInt8] {
        guard let value = member(name) else { return [] }
        guard case .string(let text) = value, let bytes = Base64.decode(text) else {
            throw Malformed("'\(name)' is not a string in base64")
        }
        return bytes
    }

    func object(_ name: String) throws(Malformed) -> GatewayObject? {
        guard let value = member(name) else { return nil }
        guard case .dictionary(let members) = value else { throw Malformed("'\(name)' is not an object") }
        return GatewayObject(members)
    }

    func objects(_ name: String) throws(Malformed) -> [GatewayObject] {
        guard let value = member(name) else { return [] }
        guard case .array(let elements) = value else { throw Malformed("'\(name)' is not an array") }
        var objects: [GatewayObject] = []
        objects.reserveCapacity(elements.count)
        for element in elements {
            guard case .dictionary(let members) = element else {
                throw Malformed("an element of '\(name)' is not an object")
            }
            objects.append(GatewayObject(members))
        }
        return objects
    }
}
