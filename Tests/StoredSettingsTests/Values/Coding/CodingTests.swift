// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("The coders")
struct CodingTests {
    @Test("fragments are values like any other")
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

    @Test("a property that is nil is left out, and read whether it is absent or null")
    func optionals() throws {
        struct Holder: Codable, Equatable { var value: Int?, list: [Int?] = [] }
        #expect(try StoredValueEncoder().encode(Holder()) == ["list": []])
        #expect(try StoredValueDecoder().decode(Holder.self, from: ["list": []]) == Holder())
        #expect(
            try StoredValueDecoder().decode(Holder.self, from: ["list": [nil], "value": nil]) == Holder(list: [nil])
        )
    }

    @Test("enums with payloads, nested as they are")
    func enums() throws {
        let shape = Shape.group([.circle(radius: 1.5), .tagged("x", .empty)])
        let circle: StoredValue = ["circle": ["radius": 1.5]]
        let tagged: StoredValue = ["tagged": ["_0": "x", "_1": ["empty": [:]]]]
        try expectRoundTrip(shape, as: ["group": ["_0": [circle, tagged]]])
    }

    @Test("keyed, unkeyed and super containers, and those nested in them, hold what is put into them")
    func containers() throws {
        try expectRoundTrip(
            Derived(base: 1, derived: 2),
            as: [
                "super": ["base": 1], "derived": 2, "named": ["base": 1],
                "nested": ["list": [1, [2], ["base": 1], nil], "more": true],
            ]
        )
    }

    @Test("sets, and dictionaries whose keys are no strings, are written in a stable order")
    func stableOrder() throws {
        struct Key: Codable, Hashable { var id: Int }
        let keys = (0..<100).map { Key(id: $0 * 37 % 100) }
        var roomy = Set<Key>(minimumCapacity: 1_024)
        for key in keys.reversed() { roomy.insert(key) }
        let sorted = (0..<100).map { StoredValue.dictionary(["id": .integer(Int128($0))]) }
        #expect(try StoredValueEncoder().encode(Set(keys)) == .array(sorted))
        #expect(try StoredValueEncoder().encode(["set": roomy]) == ["set": .array(sorted)])
        let pairs = Dictionary(uniqueKeysWithValues: keys.map { ($0, $0.id) })
        let expected = StoredValue.array(sorted.flatMap { [$0, $0["id"] ?? nil] })
        #expect(try StoredValueEncoder().encode([pairs]) == [expected])
        #expect(try StoredValueDecoder().decode([Key: Int].self, from: expected) == pairs)
        try expectRoundTrip([1: "a", 2: "b"], as: ["1": "a", "2": "b"])
    }

    @Test("any stored value passes through whole and exact")
    func storedValues() throws {
        for value in StoredValue.samples(300) {
            try expectRoundTrip(value, as: value)
            try expectRoundTrip(["x": [value]], as: ["x": [value]])
            #expect(try StoredValueEncoder().encode(Forwarded(value: value)) == value)
            #expect(try StoredValueDecoder().decode(Forwarded.self, from: value).value == value)
        }
    }

    @Test("a type-erased value of someone else's works")
    func erased() throws {
        let stored: StoredValue = ["a": [1, 2.5, "x", true, nil], "b": ["c": [:]]]
        try expectRoundTrip(try StoredValueDecoder().decode(Erased.self, from: stored), as: stored)
    }

    @Test("types find the user info that they are given")
    func userInfo() throws {
        let key = try #require(CodingUserInfoKey(rawValue: "unit"))
        struct Informed: Codable {
            var unit: String
            init() { unit = "" }
            init(from decoder: any Decoder) throws {
                unit = decoder.userInfo.values.compactMap { $0 as? String }.joined()
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(encoder.userInfo.values.compactMap { $0 as? String }.joined())
            }
        }
        #expect(try StoredValueEncoder(userInfo: [key: "mm"]).encode([Informed()]) == ["mm"])
        #expect(try StoredValueDecoder(userInfo: [key: "mm"]).decode([Informed].self, from: [0]).map(\.unit) == ["mm"])
    }

    @Test("a type that encodes nothing is an empty structure")
    func nothing() throws {
        struct Nothing: Codable {
            init() {}
            init(from decoder: any Decoder) {}
            func encode(to encoder: any Encoder) {}
        }
        #expect(try StoredValueEncoder().encode([Nothing()]) == [[:]])
        #expect(try StoredValueDecoder().decode([Nothing].self, from: [[:]]).count == 1)
    }

    private func expectRoundTrip<Value: Codable & Equatable>(_ value: Value, as storedValue: StoredValue) throws {
        #expect(try StoredValueEncoder().encode(value) == storedValue)
        #expect(try StoredValueDecoder().decode(Value.self, from: storedValue) == value)
    }
}
