// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

/// A type-erased value, as other libraries declare it.
private struct AnyCodable: Codable, StoredValueConvertible {
    let base: (any Sendable)?

    init(_ base: (any Sendable)?) {
        self.base = base
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        func decoded<Value: Decodable>(_ type: Value.Type) -> Value? {
            do { return try container.decode(type) } catch { return nil }
        }
        if container.decodeNil() {
            base = nil
        } else if let value = decoded(Bool.self) {
            base = value
        } else if let value = decoded(Int.self) {
            base = value
        } else if let value = decoded(Double.self) {
            base = value
        } else if let value = decoded(String.self) {
            base = value
        } else if let values = decoded([AnyCodable].self) {
            base = values.map(\.base)
        } else {
            base = try container.decode([String: AnyCodable].self).mapValues(\.base)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch base {
        case nil: try container.encodeNil()
        case let value as Bool: try container.encode(value)
        case let value as Int: try container.encode(value)
        case let value as Double: try container.encode(value)
        case let value as String: try container.encode(value)
        case let values as [(any Sendable)?]: try container.encode(values.map(AnyCodable.init))
        case let values as [String: (any Sendable)?]: try container.encode(values.mapValues(AnyCodable.init))
        case let value?:
            let context = EncodingError.Context(codingPath: container.codingPath, debugDescription: "not a value")
            throw EncodingError.invalidValue(value, context)
        }
    }
}

// One type in three versions of a program.
private struct Quota: Codable, Equatable, StoredValueConvertible { var perSecond = 100 }
private struct QuotaWithProperty: Codable, Equatable, StoredValueConvertible {
    var perSecond = 100
    var burst = 20
}
private struct QuotaWithOptional: Codable, Equatable, StoredValueConvertible {
    var perSecond = 100
    var burst: Int?
}

@Suite("Parity: Codable")
struct CodableParityTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite

    init() {
        suite = .inMemory(reporter: reporter)
    }

    @Test("Row 26: a type-erased Codable type is stored as its structure")
    func erased() throws {
        let setting = Setting("any", default: AnyCodable(nil), suite: suite)
        let list: [(any Sendable)?] = [true, 2, 2.5, "three", nil]
        let nested: [String: (any Sendable)?] = ["list": list, "empty": [String: (any Sendable)?]()]
        try setting.set(AnyCodable(nested))
        #expect(suite.storedValue(forKey: "any") == ["list": [true, 2, 2.5, "three", nil], "empty": [:]])

        let read = try #require(try setting.load()?.base as? [String: (any Sendable)?])
        let elements = try #require(read["list"] as? [(any Sendable)?])
        #expect(elements[0] as? Bool == true)
        #expect(elements[1] as? Int == 2)
        #expect(elements[2] as? Double == 2.5)
        #expect(elements[3] as? String == "three")
        #expect(elements[4] == nil)

        struct Unknown: Sendable {}
        expectError(.unstorable) { try setting.set(AnyCodable(Unknown())) }

        let dictionary = Setting<[String: AnyCodable]>("dictionary", default: [:], suite: suite)
        dictionary.value["a"] = AnyCodable(1)
        dictionary.value["b"] = AnyCodable("x")
        #expect(suite.storedValue(forKey: "dictionary") == ["a": 1, "b": "x"])
    }

    @Test("Row 27: after a Codable type has gained a property, stored values take it from the default")
    func gainedProperty() throws {
        let old = Setting("limits", default: Quota(), suite: suite)
        try old.set(Quota(perSecond: 7))

        let new = Setting("limits", default: QuotaWithProperty(perSecond: 1), suite: suite)
        #expect(new.value == QuotaWithProperty(perSecond: 7, burst: 20))
        #expect(reporter.errors.isEmpty)
        #expect(suite.storedValue(forKey: "limits") == ["perSecond": 7])
        try new.update { $0.burst += 1 }
        #expect(suite.storedValue(forKey: "limits") == ["perSecond": 7, "burst": 21])
        #expect(old.value == Quota(perSecond: 7))
    }

    @Test("Row 27: after an element's type has gained a property, the default is used and the error contains the path")
    func gainedPropertyOfElement() throws {
        let old = Setting("limits", default: ["eu": Quota()], suite: suite)
        try old.set(["eu": Quota(perSecond: 7)])

        let new = Setting("limits", default: ["eu": QuotaWithProperty(perSecond: 1)], suite: suite)
        #expect(new.value == ["eu": QuotaWithProperty(perSecond: 1)])
        let error = try #require(reporter.errors.first)
        #expect(reporter.errors.count == 1)
        #expect(error.key == "limits")
        #expect(error.path == [.key("eu")])
        #expect(error.fact.contains("'burst'"))
        #expect(throws: SettingsError.self) { try new.load() }
        #expect(throws: SettingsError.self) { try new.update { $0["eu"]?.burst += 1 } }
        #expect(suite.storedValue(forKey: "limits") == ["eu": ["perSecond": 7]])
        #expect(old.value == ["eu": Quota(perSecond: 7)])

        // A type whose new property is optional reads the stored value.
        let compatible = Setting("limits", default: ["eu": QuotaWithOptional()], suite: suite)
        #expect(try compatible.load() == ["eu": QuotaWithOptional(perSecond: 7, burst: nil)])
    }

    @Test("Row 27: after a Codable type has lost a property, the other properties are read and the value stays stored")
    func lostProperty() throws {
        try Setting("limits", default: QuotaWithProperty(), suite: suite).set(QuotaWithProperty(perSecond: 7, burst: 9))
        let new = Setting("limits", default: Quota(), suite: suite)
        #expect(new.value == Quota(perSecond: 7))
        #expect(reporter.errors.isEmpty)
        #expect(suite.storedValue(forKey: "limits") == ["perSecond": 7, "burst": 9])
    }
}
