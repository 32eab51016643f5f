// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Coding")
struct CodingTests {
    @Test("a fragment is coded like any other value")
    func fragments() throws {
        try expectRoundTrip(3, as: 3)
        try expectRoundTrip(true, as: true)
        try expectRoundTrip("x", as: "x")
        try expectRoundTrip([1, 2], as: [1, 2])
        try expectRoundTrip(Int?.none, as: nil)
        try expectRoundTrip(Int?.some(3), as: 3)
        try expectRoundTrip([Int?.some(3), nil], as: [3, nil])
        try expectRoundTrip(
            Date(timeIntervalSinceReferenceDate: 0.5),
            as: .date(Date(timeIntervalSinceReferenceDate: 0.5))
        )
        try expectRoundTrip(Duration.milliseconds(1_500), as: "1.5s")
        try expectRoundTrip(Level.CodingLevel.high, as: "high")
        try expectRoundTrip(Int128.min, as: .integer(.min))
        try expectRoundTrip(UInt128.max, as: .string(String(UInt128.max)))
        try expectRoundTrip(UInt64.max, as: .integer(Int128(UInt64.max)))
        try expectRoundTrip([Int128.max], as: [.integer(.max)])
        try expectRoundTrip(["k": UInt128(1) << 100], as: ["k": .integer(1 << 100)])
        try expectRoundTrip(Float(0.1), as: 0.1)
        try expectRoundTrip(Data([1]), as: .data(Data([1])))
    }

    @Test("keyed, unkeyed, nested and super containers round-trip")
    func containers() throws {
        try expectRoundTrip(
            Derived(base: 1, derived: 2),
            as: [
                "super": ["base": 1], "derived": 2, "named": ["base": 1],
                "nested": ["list": [1, [2], ["base": 1], nil], "more": true],
            ]
        )
    }

    @Test("sets and dictionaries without string keys are encoded in a stable order")
    func stableOrder() throws {
        struct Key: Codable, Hashable { var id: Int }
        let keys = (0..<100).map { Key(id: $0 * 37 % 100) }
        var largeSet = Set<Key>(minimumCapacity: 1_024)
        for key in keys.reversed() { largeSet.insert(key) }
        let sorted = (0..<100).map { StoredValue.dictionary(["id": .integer(Int128($0))]) }
        #expect(try StoredValueEncoder().encode(Set(keys)) == .array(sorted))
        #expect(try StoredValueEncoder().encode(["set": largeSet]) == ["set": .array(sorted)])
        let pairs = Dictionary(uniqueKeysWithValues: keys.map { ($0, $0.id) })
        let expected = StoredValue.array(sorted.flatMap { [$0, $0["id"] ?? nil] })
        #expect(try StoredValueEncoder().encode([pairs]) == [expected])
        #expect(try StoredValueDecoder().decode([Key: Int].self, from: expected) == pairs)
        try expectRoundTrip([1: "a", 2: "b"], as: ["1": "a", "2": "b"])
    }

    @Test("every stored value round-trips exactly")
    func storedValues() throws {
        for value in StoredValue.samples(300) {
            try expectRoundTrip(value, as: value)
            try expectRoundTrip(["x": [value]], as: ["x": [value]])
            #expect(try StoredValueEncoder().encode(Forwarded(value: value)) == value)
            #expect(try StoredValueDecoder().decode(Forwarded.self, from: value).value == value)
        }
    }

    @Test("Row 26: a type-erased Codable value is stored as its structure, and read back")
    func erased() throws {
        let stored: StoredValue = ["a": [1, 2.5, "x", true, nil], "b": ["c": [:]]]
        try expectRoundTrip(try StoredValueDecoder().decode(Erased.self, from: stored), as: stored)
    }

    @Test("a type that encodes nothing is an empty dictionary")
    func emptyEncoding() throws {
        struct Empty: Codable {
            init() {}
            init(from decoder: any Decoder) {}
            func encode(to encoder: any Encoder) {}
        }
        #expect(try StoredValueEncoder().encode([Empty()]) == [[:]])
        #expect(try StoredValueDecoder().decode([Empty].self, from: [[:]]).count == 1)
    }

    private func expectRoundTrip<Value: Codable & Equatable>(_ value: Value, as storedValue: StoredValue) throws {
        #expect(try StoredValueEncoder().encode(value) == storedValue)
        #expect(try StoredValueDecoder().decode(Value.self, from: storedValue) == value)
    }

    @Test("a nested container that is requested twice for one key is the same one")
    func nestedTwice() throws {
        struct Twice: Codable, Equatable {
            enum Keys: CodingKey { case nested, left, right }
            var (left, right) = (1, 2)

            init() {}

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                let nested = try container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
                left = try nested.decode(Int.self, forKey: .left)
                right = try nested.decode(Int.self, forKey: .right)
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                var first = container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
                try first.encode(left, forKey: .left)
                var second = container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
                try second.encode(right, forKey: .right)
            }
        }
        try expectRoundTrip(Twice(), as: ["nested": ["left": 1, "right": 2]])
    }

    @Test("inside a Codable type, a type encodes itself, except those that have a stored form of their own")
    func inside() throws {
        struct Outer: Codable, StoredValueConvertible {
            var timeout = Duration.milliseconds(1_500)
            var flags = [true: 1]
        }
        #expect(try Outer().storedValue() == ["timeout": "1.5s", "flags": [true, 1]])
    }
}
