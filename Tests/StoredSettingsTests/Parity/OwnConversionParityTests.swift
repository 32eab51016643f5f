// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// A chain of conversions: a route is stored as its stations, a station as its name, a name as a string.
private struct Name: StoredRepresentable, Hashable {
    var text: String

    init(_ text: String) {
        self.text = text
    }

    init(stored text: String) throws {
        guard !text.isEmpty else { throw SettingsError.invalidValue("the name is empty") }
        self.text = text
    }

    var stored: String {
        get throws {
            guard !text.isEmpty else { throw SettingsError.unstorable("the name is empty") }
            return text
        }
    }
}

private struct Station: StoredRepresentable, Hashable {
    var name: Name
    init(_ name: Name) { self.name = name }
    init(stored name: Name) { self.name = name }
    var stored: Name { name }
}

private struct Route: StoredRepresentable, Hashable {
    var stations: [Station]
    init(_ stations: [Station]) { self.stations = stations }
    init(stored stations: [Station]) { self.stations = stations }
    var stored: [Station] { stations }
}

// Types with several possible conversions.
private struct Coded: StoredRepresentable, Codable, Hashable {
    var number: Int
    init(number: Int) { self.number = number }
    init(stored number: Int) { self.number = number }
    var stored: Int { number }
}

private enum Raw: String, StoredRepresentable {
    case on, off
    init(stored isOn: Bool) { self = isOn ? .on : .off }
    var stored: Bool { self == .on }
}

private enum RawAndCoded: String, Codable, StoredRepresentable {
    case on, off
    init(stored isOn: Bool) { self = isOn ? .on : .off }
    var stored: Bool { self == .on }
}

/// A type of another module, without conformances.
private struct Color: Hashable, Sendable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
}

private struct ColorBridge: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Color {
        let parts = try storedValue.as([UInt8].self)
        guard parts.count == 3 else { throw SettingsError.invalidValue("a color has three parts") }
        return Color(red: parts[0], green: parts[1], blue: parts[2])
    }

    func storedValue(from value: Color) throws -> StoredValue {
        try [value.red, value.green, value.blue].storedValue()
    }
}

private struct Palette: Sendable {
    @DefaultStorage(key: "accent", as: ColorBridge()) var accent = Color(red: 0, green: 0, blue: 1)
    @DefaultStorage(key: "list", as: ColorBridge().array) var list: [Color] = []
    @DefaultStorage(key: "set", as: ColorBridge().set) var set: Set<Color> = []
    @DefaultStorage(key: "named", as: ColorBridge().dictionary) var named: [String: Color] = [:]
    @DefaultStorage(key: "numbered", as: ColorBridge().dictionary(keyedBy: Int.self)) var numbered: [Int: Color] = [:]
    @DefaultStorage(key: "maybe", as: ColorBridge().optional) var maybe: Color? = Color(red: 9, green: 9, blue: 9)
    @DefaultStorageOptional(key: "absent", as: ColorBridge().array) var absent: [Color]?
    @DefaultStorage(key: "deep", as: ColorBridge().optional.array.dictionary) var deep: [String: [Color?]] = [:]
}

@Suite("Parity: custom conversions")
struct OwnConversionParityTests {
    private let suite = SettingsSuite.inMemory()
    private let red = Color(red: 255, green: 0, blue: 0)
    private let green = Color(red: 0, green: 255, blue: 0)

    @Test("Row 21: a type is stored as another type, in chains of any length")
    func chains() throws {
        let route = Route([Station(Name("A")), Station(Name("B"))])
        let setting = Setting("route", default: Route([]), suite: suite)
        try setting.set(route)
        #expect(suite[storedValueFor: "route"] == ["A", "B"])
        #expect(try setting.load() == route)
        expectError(.unstorable) { try setting.set(Route([Station(Name(""))])) }
        try suite.setStoredValue(["A", ""], forKey: "route")
        let error = try #require(settingsError { try setting.load() })
        #expect(error.code == .invalidValue)
        #expect(error.path == [.index(1)])
        #expect(setting.value == route)
        // As keys and elements of collections.
        #expect(try [Name("x"): Set([Station(Name("y"))])].storedValue() == ["x": ["y"]])
    }

    @Test("Row 21: a StoredRepresentable conformance takes precedence over a raw value and Codable")
    func precedence() throws {
        #expect(try Coded(number: 3).storedValue() == 3)
        #expect(try Coded(storedValue: 3) == Coded(number: 3))
        #expect(try Raw.on.storedValue() == true)
        #expect(try Raw(storedValue: false) == .off)
        #expect(try RawAndCoded.on.storedValue() == true)
        #expect(try [RawAndCoded](storedValue: [false, true]) == [.off, .on])
    }

    @Test("Row 22: a bridge stores a type of another module, and collections of it")
    func bridges() throws {
        let palette = SettingsSuite.withStandard(suite) { Palette() }
        palette.accent = red
        palette.list = [red, green]
        palette.set = [red, green]
        palette.named["a"] = green
        palette.numbered[7] = red
        palette.maybe = nil
        palette.absent = [green]
        palette.deep = ["x": [red, nil]]

        let (red, green): (StoredValue, StoredValue) = ([255, 0, 0], [0, 255, 0])
        let expected: [String: StoredValue] = [
            "accent": red, "list": [red, green], "set": [green, red], "named": ["a": green], "numbered": ["7": red],
            "maybe": nil, "absent": [green], "deep": ["x": [red, nil]],
        ]
        #expect(suite.snapshot() == expected)

        // Another suite reads the stored values.
        let copy = SettingsSuite.withStandard(.inMemory(expected)) { Palette() }
        #expect(copy.accent == self.red && copy.list == palette.list && copy.set == palette.set)
        #expect(copy.named == palette.named && copy.numbered == palette.numbered && copy.maybe == nil)
        #expect(copy.absent == palette.absent && copy.deep == palette.deep)
    }

    @Test("Row 22: an element that a bridge cannot read fails the whole collection and is named")
    func bridgedElements() throws {
        let palette = SettingsSuite.withStandard(suite) { Palette() }
        try suite.setStoredValue(["x": [[1, 2, 3], [1, 2]]], forKey: "deep")
        let error = try #require(settingsError { try palette.$deep.load() })
        #expect(error.path == [.key("x"), .index(1)])
        #expect(palette.deep == [:])
        #expect(palette.$deep.isSet)
    }
}
