// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

private struct Person: Codable, Hashable, StoredValueConvertible {
    var name: String
    var born: Date
}

private enum Endpoint: Codable, Hashable, StoredValueConvertible {
    case disabled
    case network(host: String, port: Int)
}

private struct Percentage: StoredValueConvertible, Equatable {
    var fraction: Double

    init(_ fraction: Double) {
        self.fraction = fraction
    }

    init(storedValue: StoredValue) throws {
        let percent = try Double(storedValue: storedValue)
        guard 0...100 ~= percent else { throw SettingsError.invalidValue("the percentage is outside 0...100") }
        fraction = percent / 100
    }

    func storedValue() throws -> StoredValue {
        guard 0...1 ~= fraction else { throw SettingsError.unstorable("the percentage is outside 0...100") }
        return .double(fraction * 100)
    }
}

@Suite("Parity: types")
struct TypesParityTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite

    init() {
        suite = .inMemory(reporter: reporter)
    }

    private func expect<Value: StoredValueConvertible & Equatable>(
        _ value: Value,
        isStoredAs stored: StoredValue,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let setting = Setting("value", default: value, suite: suite)
        try setting.set(value)
        #expect(suite[storedValueFor: "value"] == stored, sourceLocation: sourceLocation)
        #expect(try setting.load() == value, sourceLocation: sourceLocation)
        try setting.reset()
    }

    @Test("Row 15: arrays, sets and dictionaries are stored at any depth")
    func collections() throws {
        let nested: [[String: Set<[String: Int]>]] = [["a": [["x": 1], ["y": 2]]], [:]]
        try expect(nested, isStoredAs: [["a": [["x": 1], ["y": 2]]], [:]])
        let date = Date(timeIntervalSinceReferenceDate: 1)
        try expect(["k": [date]], isStoredAs: ["k": ["2001-01-01T00:00:01Z"]])
        try expect([[[[[1]]]], []], isStoredAs: [[[[[1]]]], []])
        try expect([1, nil], isStoredAs: [1, .null])
        try expect([3: "c", 1: "a"], isStoredAs: ["1": "a", "3": "c"])
    }

    @Test("Row 16: types with raw values are stored by their raw values, also inside collections")
    func rawValues() throws {
        try expect(Level.warning, isStoredAs: "true")
        try expect([Level.warning, .debug], isStoredAs: ["true", "debug"])
        try expect([Level.warning: [Level.debug]], isStoredAs: ["true": ["debug"]])
        try expect(Set([Level.warning, .debug]), isStoredAs: ["debug", "true"])
    }

    @Test("Row 17: Codable types and enumerations with associated values are stored, also inside collections")
    func codable() throws {
        let ada = Person(name: "Ada", born: Date(timeIntervalSinceReferenceDate: 0))
        let stored: StoredValue = ["name": "Ada", "born": "2001-01-01T00:00:00Z"]
        try expect(ada, isStoredAs: stored)
        try expect(["first": [ada]], isStoredAs: ["first": [stored]])
        try expect(Set([ada]), isStoredAs: [stored])
        let endpoints = [Endpoint.disabled, .network(host: "a.example", port: 80)]
        try expect(
            endpoints,
            isStoredAs: [["disabled": [:]], ["network": ["host": "a.example", "port": 80]]]
        )
    }

    @Test("Row 18: a raw value takes precedence over Codable, unless a bridge is declared")
    func both() throws {
        let both = Both(x: 1, y: 2)
        try expect(both, isStoredAs: "1/2")
        try expect([both], isStoredAs: ["1/2"])

        let coded = Setting(SettingKey("coded", default: both, as: CodableBridge()), suite: suite)
        try coded.set(Both(x: 3, y: 4))
        #expect(suite[storedValueFor: "coded"] == ["x": 3, "y": 4])
        #expect(try coded.load() == Both(x: 3, y: 4))
        let list = Setting(SettingKey("list", default: [both], as: CodableBridge<Both>().array), suite: suite)
        try list.set([both])
        #expect(suite[storedValueFor: "list"] == [["x": 1, "y": 2]])

        // RawValueBridge, for a type of another module.
        let priority = Setting(SettingKey("priority", default: TaskPriority.low, as: RawValueBridge()), suite: suite)
        try priority.set(.high)
        #expect(suite[storedValueFor: "priority"] == .integer(Int128(TaskPriority.high.rawValue)))
        #expect(try priority.load() == .high)
    }

    @Test("Row 20: custom conversions can throw in both directions")
    func customConversion() throws {
        try expect(Percentage(0.5), isStoredAs: 50.0)
        try expect(["a": Percentage(1)], isStoredAs: ["a": 100.0])
        let share = Setting("share", default: Percentage(0.25), suite: suite)
        expectError(.unstorable) { try share.set(Percentage(2)) }
        try suite.setStoredValue(200, forKey: "share")
        expectError(.invalidValue) { try share.load() }
        #expect(share.value == Percentage(0.25))
    }

    @Test("Row 25: dictionaries of mixed values have typed access to their values")
    func heterogeneous() throws {
        let setting = Setting<[String: StoredValue]>("mixed", default: ["retries": 3], suite: suite)
        #expect(try setting.value["retries"]?.as(Int.self) == 3)
        setting.value["hosts"] = ["a.example", "b.example"]
        setting.value["limits"] = ["burst": 2.5, "strict": true, "none": nil]
        setting.value["since"] = Date(timeIntervalSinceReferenceDate: 0).storedValue()
        #expect(try setting.value["hosts"]?.as([String].self) == ["a.example", "b.example"])
        #expect(setting.value["hosts"]?[1] == "b.example")
        #expect(try setting.value["limits"]?["burst"]?.as(Double.self) == 2.5)
        #expect(try setting.value["limits"]?["strict"]?.as() == true)
        #expect(try setting.value["limits"]?["none"]?.as(Int?.self) == .some(nil))
        #expect(try setting.value["since"]?.as(Date.self) == Date(timeIntervalSinceReferenceDate: 0))
        #expect(setting.value["absent"] == nil)
        expectError(.typeMismatch) { try setting.value["retries"]?.as(String.self) }
        let list = Setting<[StoredValue]>("list", default: [1, "two", [3.5]], suite: suite)
        list.value.append(nil)
        #expect(suite[storedValueFor: "list"] == [1, "two", [3.5], nil])
    }
}
