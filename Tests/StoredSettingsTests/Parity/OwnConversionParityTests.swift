// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// A chain: a route is stored as its stations, a station as its name, a name as a string.
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

// Types that could be stored in other ways, too.
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

/// Of somebody else: it conforms to nothing.
private struct Colour: Hashable, Sendable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
}

private struct ColourBridge: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Colour {
        let parts = try storedValue.as([UInt8].self)
        guard parts.count == 3 else { throw SettingsError.invalidValue("a colour has three parts") }
        return Colour(red: parts[0], green: parts[1], blue: parts[2])
    }

    func storedValue(from value: Colour) throws -> StoredValue {
        try [value.red, value.green, value.blue].storedValue()
    }
}

private struct Palette: Sendable {
    @DefaultStorage(key: "accent", as: ColourBridge()) var accent = Colour(red: 0, green: 0, blue: 1)
    @DefaultStorage(key: "list", as: ColourBridge().array) var list: [Colour] = []
    @DefaultStorage(key: "set", as: ColourBridge().set) var set: Set<Colour> = []
    @DefaultStorage(key: "named", as: ColourBridge().dictionary) var named: [String: Colour] = [:]
    @DefaultStorage(key: "numbered", as: ColourBridge().dictionary(keyedBy: Int.self)) var numbered: [Int: Colour] = [:]
    @DefaultStorage(key: "maybe", as: ColourBridge().optional) var maybe: Colour? = Colour(red: 9, green: 9, blue: 9)
    @DefaultStorageOptional(key: "absent", as: ColourBridge().array) var absent: [Colour]?
    @DefaultStorage(key: "deep", as: ColourBridge().optional.array.dictionary) var deep: [String: [Colour?]] = [:]
}

@Suite("Parity: conversions of one's own")
struct OwnConversionParityTests {
    private let suite = SettingsSuite.inMemory()
    private let red = Colour(red: 255, green: 0, blue: 0)
    private let green = Colour(red: 0, green: 255, blue: 0)

    @Test("Row 21: a type that is stored as another one, in chains of any length")
    func indirectly() throws {
        let route = Route([Station(Name("A")), Station(Name("B"))])
        let setting = Setting("route", default: Route([]), suite: suite)
        try setting.set(route)
        #expect(suite.storedValue(forKey: "route") == ["A", "B"])
        #expect(try setting.load() == route)
        #expect(throws: SettingsError(.unstorable, fact: "")) { try setting.set(Route([Station(Name(""))])) }
        try suite.setStoredValue(["A", ""], forKey: "route")
        let error = try #require(settingsError { try setting.load() })
        #expect(error.code == .invalidValue)
        #expect(error.path == [.index(1)])
        #expect(setting.value == Route([]))
        // As keys and elements of collections, too.
        #expect(try [Name("x"): Set([Station(Name("y"))])].storedValue() == ["x": ["y"]])
    }

    @Test("Row 21: of several ways to be stored, the indirect one wins")
    func indirectlyFirst() throws {
        #expect(try Coded(number: 3).storedValue() == 3)
        #expect(try Coded(storedValue: 3) == Coded(number: 3))
        #expect(try Raw.on.storedValue() == true)
        #expect(try Raw(storedValue: false) == .off)
        #expect(try RawAndCoded.on.storedValue() == true)
        #expect(try [RawAndCoded](storedValue: [false, true]) == [.off, .on])
    }

    @Test("Row 22: a bridge for a type that one does not own, and for collections of it")
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

        // What others read, they read from what is stored.
        let copy = SettingsSuite.withStandard(.inMemory(expected)) { Palette() }
        #expect(copy.accent == self.red && copy.list == palette.list && copy.set == palette.set)
        #expect(copy.named == palette.named && copy.numbered == palette.numbered && copy.maybe == nil)
        #expect(copy.absent == palette.absent && copy.deep == palette.deep)
    }

    @Test("Row 22: an element that a bridge cannot read fails the whole collection, and is named")
    func bridgedElements() throws {
        let palette = SettingsSuite.withStandard(suite) { Palette() }
        try suite.setStoredValue(["x": [[1, 2, 3], [1, 2]]], forKey: "deep")
        let error = try #require(settingsError { try palette.$deep.load() })
        #expect(error.path == [.key("x"), .index(1)])
        #expect(palette.deep == [:])
        #expect(palette.$deep.isSet)
    }
}
