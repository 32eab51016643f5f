// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension Level {
    enum CodingLevel: String, Codable { case low, high }
}

/// A class that codes itself into every kind of container and checks the coding paths.
final class Derived: Codable, Equatable {
    let base: Int
    let derived: Int

    init(base: Int, derived: Int) {
        self.base = base
        self.derived = derived
    }

    static func == (left: Derived, right: Derived) -> Bool { left.base == right.base && left.derived == right.derived }

    struct Base: Codable { var base: Int }
    struct WrongPath: Error { var found: [String] }
    enum Keys: CodingKey { case derived, named, nested, list, more }

    private static func check(_ path: [any CodingKey], _ expected: String...) throws {
        guard path.map(\.stringValue) == expected else { throw WrongPath(found: path.map(\.stringValue)) }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        let parent = container.superEncoder()
        let named = container.superEncoder(forKey: .named)
        var nested = container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
        var list = nested.nestedUnkeyedContainer(forKey: .list)
        try list.encode(1)
        var inner = list.nestedUnkeyedContainer()
        // Containers keep the order of their requests, whenever they are filled.
        try Base(base: base).encode(to: list.superEncoder())
        try list.encodeNil()
        try inner.encode(derived)
        try nested.encode(true, forKey: .more)
        try Base(base: base).encode(to: parent)
        try Base(base: base).encode(to: named)
        var again = encoder.container(keyedBy: Keys.self)
        try again.encode(derived, forKey: .derived)

        try Self.check(encoder.codingPath)
        try Self.check(parent.codingPath, "super")
        try Self.check(named.codingPath, "named")
        try Self.check(inner.codingPath, "nested", "list", "Index 1")
        guard list.count == 4 else { throw WrongPath(found: []) }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        derived = try container.decode(Int.self, forKey: .derived)
        let parent = try container.superDecoder()
        base = try Base(from: parent).base
        let named = try Base(from: container.superDecoder(forKey: .named)).base
        let nested = try container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
        var list = try nested.nestedUnkeyedContainer(forKey: .list)
        let one = try list.decode(Int.self)
        var inner = try list.nestedUnkeyedContainer()
        let two = try inner.decode(Int.self)
        let third = try list.superDecoder()
        let isNil = try list.decodeNil()
        guard one == 1, two == derived, named == base, isNil, list.isAtEnd, list.currentIndex == 4 else {
            throw WrongPath(found: [])
        }
        try Self.check(parent.codingPath, "super")
        try Self.check(inner.codingPath, "nested", "list", "Index 1")
        try Self.check(third.codingPath, "nested", "list", "Index 2")
        guard try nested.decode(Bool.self, forKey: .more), container.allKeys.count == 3 else {
            throw WrongPath(found: [])
        }
    }
}

/// A wrapper that forwards its coder.
struct Forwarded: Codable {
    var value: StoredValue

    init(value: StoredValue) { self.value = value }
    init(from decoder: any Decoder) throws { value = try StoredValue(from: decoder) }
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

/// A value of any type, which is found by trying, like in well-known type-erased types.
enum Erased: Codable, Equatable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([Erased])
    case dictionary([String: Erased])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        func decoded<Value: Decodable>(_ type: Value.Type) -> Value? {
            do { return try container.decode(type) } catch { return nil }
        }
        if container.decodeNil() {
            self = .null
        } else if let value = decoded(Bool.self) {
            self = .bool(value)
        } else if let value = decoded(Int.self) {
            self = .int(value)
        } else if let value = decoded(Double.self) {
            self = .double(value)
        } else if let value = decoded(String.self) {
            self = .string(value)
        } else if let value = decoded([Erased].self) {
            self = .array(value)
        } else {
            self = .dictionary(try container.decode([String: Erased].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .dictionary(let value): try container.encode(value)
        }
    }
}
