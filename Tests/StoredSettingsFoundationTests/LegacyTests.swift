// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettingsFoundation

private struct Limits: Codable, Hashable, StoredValueConvertible {
    var perSecond = 100
    var name = "default"
    var since = Date(timeIntervalSinceReferenceDate: 0)
}

private enum Level: String, Codable, StoredValueConvertible { case low, high }
private enum Rank: Int, StoredValueConvertible {
    case first = 1
    case second
}

/// A raw value of any string.
private struct Label: RawRepresentable, Codable, Hashable, StoredValueConvertible {
    var rawValue: String
}

/// A collection that is not `Codable`.
private struct Pile<Element: StoredValueConvertible & Equatable>: Collection, Equatable {
    var items: [Element]

    var startIndex: Int { items.startIndex }
    var endIndex: Int { items.endIndex }
    func index(after index: Int) -> Int { items.index(after: index) }
    subscript(index: Int) -> Element { items[index] }
}

extension Pile: StoredCollection {
    init(stored elements: [Element]) { items = elements }
}

extension UserDefaultsTests {
    @Suite("Values of older libraries in UserDefaults")
    struct Legacy {
        private static let limits = Limits(perSecond: 7, name: "x", since: Date(timeIntervalSinceReferenceDate: 1.5))
        private static let json = #"{"perSecond":7,"name":"x","since":1.5}"#
        private static let home = URL(string: "https://example.org/home?q=1#f")

        /// Reads an old value, which changes nothing, and then stores it in the new format and reads it again.
        private func check<Value: Equatable & Sendable>(
            _ defaults: UserDefaults,
            _ key: SettingKey<Value>,
            is value: Value,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let setting = Setting(key, suite: SettingsSuite(userDefaults: defaults, reporter: RecordingReporter()))
            let old = try setting.load()
            #expect(old == value, sourceLocation: sourceLocation)
            try setting.set(value)
            let new = try setting.load()
            #expect(new == value, sourceLocation: sourceLocation)
        }

        @Test(
            "Row 43: values of Defaults 4 and 5 are read with their type: JSON strings, raw values, archives, plain values"
        )
        func defaults() async throws {
            try await withDomain { domain in
                let defaults = try domain.open()
                defaults.set(Self.json, forKey: "limits")
                defaults.set("[\(Self.json),\(Self.json)]", forKey: "list 4")
                defaults.set([Self.json, Self.json], forKey: "list 5")
                defaults.set(["a": Self.json], forKey: "dictionary 5")
                defaults.set(#""high""#, forKey: "codable enum")
                defaults.set("high", forKey: "raw enum")
                defaults.set([#""low""#, #""high""#], forKey: "enums")
                defaults.set(#""https:\/\/example.org\/home?q=1#f""#, forKey: "url")
                defaults.set(["a", "b"], forKey: "set")
                defaults.set(#"["a","b"]"#, forKey: "set 4")
                defaults.set(#"{"a":1}"#, forKey: "counts 4")
                defaults.set("[0.5,1]", forKey: "numbers 4")
                try check(defaults, SettingKey("limits", default: Limits(), as: LegacyJSON()), is: Self.limits)
                for key in ["list 4", "list 5"] {
                    try check(defaults, SettingKey(key, default: [], as: LegacyJSON()), is: [Self.limits, Self.limits])
                }
                try check(defaults, SettingKey("dictionary 5", default: [:], as: LegacyJSON()), is: ["a": Self.limits])
                try check(defaults, SettingKey("codable enum", default: .low, as: LegacyJSON()), is: Level.high)
                try check(defaults, SettingKey("raw enum", default: .low), is: Level.high)
                try check(defaults, SettingKey("enums", default: [], as: LegacyJSON()), is: [Level.low, .high])
                try check(defaults, SettingKey("url", default: nil, as: LegacyJSON()), is: Self.home)
                try check(defaults, SettingKey("set", default: []), is: Set(["a", "b"]))
                try check(defaults, SettingKey("set 4", default: [], as: LegacyJSON()), is: Set(["a", "b"]))
                try check(defaults, SettingKey("counts 4", default: [:], as: LegacyJSON()), is: ["a": 1])
                try check(defaults, SettingKey("numbers 4", default: [], as: LegacyJSON()), is: [0.5, 1])
                defaults.set(["2.5": Self.json], forKey: "by number")
                defaults.set([Self.json], forKey: "pile")
                defaults.set(["true": [Self.json]], forKey: "piles")
                let pile = Pile(items: [Self.limits])
                try check(defaults, SettingKey("by number", default: [:], as: LegacyJSON()), is: [2.5: Self.limits])
                try check(defaults, SettingKey("pile", default: Pile(items: []), as: LegacyJSON()), is: pile)
                try check(defaults, SettingKey("piles", default: [:], as: LegacyJSON()), is: [true: pile])
                let pink = Color(red: 0.5, name: "pink")
                defaults.set(
                    try NSKeyedArchiver.archivedData(withRootObject: pink, requiringSecureCoding: true),
                    forKey: "color"
                )
                try check(defaults, SettingKey("color", default: Color(red: 1, name: "red")), is: pink)
            }
        }

        @Test(
            "Row 43: values of SwiftyUserDefaults 5 are read with their type: plain values, JSON data, raw values, archives"
        )
        func swiftyUserDefaults() async throws {
            try await withDomain { domain in
                let defaults = try domain.open()
                let home = try #require(Self.home)
                let day = Date(timeIntervalSinceReferenceDate: 86_400)
                let pink = Color(red: 0.5, name: "pink")
                defaults.set(3, forKey: "count")
                defaults.set([day], forKey: "days")
                defaults.set(Data(Self.json.utf8), forKey: "limits")
                defaults.set(Data("[\(Self.json)]".utf8), forKey: "list")
                defaults.set(2, forKey: "rank")
                defaults.set([1, 2], forKey: "ranks")
                let archived: [(String, Any)] = [
                    ("urls", [home as NSURL] as NSArray),
                    ("mixed", ["n": 3, "b": true, "d": 0.5, "s": ["t"], "day": day as NSDate] as NSDictionary),
                    ("home", home as NSURL), ("color", pink), ("colors", [pink, pink] as NSArray),
                    ("impostors", [pink, NSString(string: "x")] as NSArray),
                ]
                for (key, object) in archived {
                    defaults.set(
                        try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false),
                        forKey: key
                    )
                }
                try check(defaults, SettingKey("count", default: 0), is: 3)
                try check(defaults, SettingKey("days", default: []), is: [day])
                try check(defaults, SettingKey("limits", default: Limits(), as: LegacyJSON()), is: Self.limits)
                try check(defaults, SettingKey("list", default: [], as: LegacyJSON()), is: [Self.limits])
                try check(defaults, SettingKey("rank", default: Rank.first), is: .second)
                try check(defaults, SettingKey("ranks", default: []), is: [Rank.first, .second])
                try check(defaults, SettingKey("urls", default: [], as: LegacyArchive()), is: [home])
                try check(
                    defaults,
                    SettingKey("mixed", default: [:], as: LegacyArchive()),
                    is: ["n": 3, "b": true, "d": 0.5, "s": ["t"], "day": .date(day)] as [String: StoredValue]
                )
                try check(
                    defaults,
                    SettingKey("home", default: URL(fileURLWithPath: "/"), as: UserDefaultsURL()),
                    is: home
                )
                try check(defaults, SettingKey("color", default: Color(red: 1, name: "red")), is: pink)
                try check(defaults, SettingKey("colors", default: [], as: LegacyArchivedObjects()), is: [pink, pink])
                let impostors = SettingKey<[Color]>("impostors", default: [], as: LegacyArchivedObjects())
                expectError(.invalidValue) {
                    try Setting(impostors, suite: SettingsSuite(userDefaults: defaults)).load()
                }
            }
        }

        @Test("Row 43: values of Foil 6 are read with their type: plain values, raw values, JSON data, URLs")
        func foil() async throws {
            try await withDomain { domain in
                let defaults = try domain.open()
                defaults.set(true, forKey: "flag")
                defaults.set("high", forKey: "level")
                defaults.set(Data(Self.json.utf8), forKey: "limits")
                defaults.set([Data(Self.json.utf8)], forKey: "list")
                defaults.set(["a": ["x"]], forKey: "names")
                defaults.set(URL(fileURLWithPath: "/tmp/a b"), forKey: "file")
                try check(defaults, SettingKey("flag", default: false), is: true)
                try check(defaults, SettingKey("level", default: Level.low), is: .high)
                try check(defaults, SettingKey("limits", default: Limits(), as: LegacyJSON()), is: Self.limits)
                try check(defaults, SettingKey("list", default: [], as: LegacyJSON()), is: [Self.limits])
                try check(defaults, SettingKey("names", default: [:]), is: ["a": Set(["x"])])
                let file = URL(fileURLWithPath: "/tmp/a b")
                try check(
                    defaults,
                    SettingKey("file", default: URL(fileURLWithPath: "/"), as: UserDefaultsURL()),
                    is: file
                )
            }
        }

        @Test(
            "Row 43: values of UserDefault 1.3 are read with their type: plain values, raw values, JSON, archives, optionals"
        )
        func userDefault() async throws {
            try await withDomain { domain in
                let defaults = try domain.open()
                let json = Data(Self.json.utf8)
                let pink = Color(red: 0.5, name: "pink")
                defaults.set(true, forKey: "flag")
                defaults.set(["a": ["b": [1, 2]]], forKey: "deep")
                defaults.set("high", forKey: "level")
                defaults.set(["low", "high"], forKey: "levels")
                defaults.set(json, forKey: "limits")
                defaults.set(["low": json], forKey: "by level")
                defaults.set(["low": json, "high": json], forKey: "by enum")
                defaults.set(["x", "y"], forKey: "names")
                defaults.set(
                    try NSKeyedArchiver.archivedData(withRootObject: pink, requiringSecureCoding: false),
                    forKey: "color"
                )
                defaults.set([5], forKey: "count")
                defaults.set([Int](), forKey: "no count")
                defaults.set([json], forKey: "maybe limits")
                defaults.set([["a"]], forKey: "maybe names")
                defaults.set([[1], [Int]()], forKey: "counts")
                try check(defaults, SettingKey("flag", default: false), is: true)
                try check(defaults, SettingKey("deep", default: [:]), is: ["a": ["b": [1, 2]]])
                try check(defaults, SettingKey("level", default: Level.low), is: .high)
                try check(defaults, SettingKey("levels", default: []), is: [Level.low, .high])
                try check(defaults, SettingKey("limits", default: Limits(), as: LegacyJSON()), is: Self.limits)
                try check(defaults, SettingKey("by level", default: [:], as: LegacyJSON()), is: ["low": Self.limits])
                try check(
                    defaults,
                    SettingKey("by enum", default: [:], as: LegacyJSON()),
                    is: [Level.low: Self.limits, Level.high: Self.limits]
                )
                try check(defaults, SettingKey("names", default: []), is: Set(["x", "y"]))
                try check(defaults, SettingKey("color", default: Color(red: 1, name: "red")), is: pink)
                try check(defaults, SettingKey<Int?>("count", default: 42, as: LegacyOptional()), is: 5)
                try check(defaults, SettingKey<Int?>("no count", default: 42, as: LegacyOptional()), is: nil)
                let limits = LegacyOptional(LegacyJSON<Limits>())
                try check(defaults, SettingKey("maybe limits", default: nil, as: limits), is: Self.limits)
                try check(defaults, SettingKey("maybe names", default: nil, as: LegacyOptional()), is: ["a"])
                try check(defaults, SettingKey("counts", default: [], as: LegacyOptional<Int>().array), is: [1, nil])
            }
        }

        @Test(
            "an optional array that resembles the old format is preserved",
            arguments: [nil, [], [[]], [["a"]], [[], []], [["a"], []], [["a", "b"]]] as [[[String]]?]
        )
        func optionals(_ value: [[String]]?) throws {
            let bridge = LegacyOptional<[[String]]>()
            #expect(try bridge.value(from: bridge.storedValue(from: value)) == value)
            let old: StoredValue = .array(try value.map { [try $0.storedValue()] } ?? [])
            #expect(try bridge.value(from: old) == value)
            let first = value?.first.map { .string($0.joined()) } ?? StoredValue.null
            let text = LegacyOptional<StoredValue>()
            #expect(try text.value(from: text.storedValue(from: .array([first]))) == .array([first]))
        }

        @Test("Row 14: a whole URL is stored in a format that url(forKey:) reads")
        func urls() async throws {
            try await withDomain { domain in
                let defaults = try domain.open()
                let suite = SettingsSuite(userDefaults: defaults)
                let start = URL(fileURLWithPath: "/")
                let setting = Setting(SettingKey("url", default: start, as: UserDefaultsURL()), suite: suite)
                let plain = Setting("plain", default: start, suite: suite)
                for text in ["https://a.b/c?d=e#f", "file:///tmp/a%20b", "mailto:a@b.c", "urn:isbn:1"] {
                    let url = try #require(URL(string: text))
                    try await setting.set(url)
                    try await plain.set(url)
                    #expect(try setting.load() == url && plain.load() == url)
                    #expect(defaults.url(forKey: "url")?.absoluteString == text)
                    #expect(defaults.string(forKey: "plain") == text)
                }
            }
        }

        @Test("a value that resembles JSON is preserved", arguments: [#""a""#, "5", "null", "a", #""""#])
        func looks(_ text: String) throws {
            let label = Label(rawValue: text)
            func check<Value: StoredValueConvertible & Equatable>(_ value: Value) throws {
                let bridge = LegacyJSON<Value>()
                #expect(try bridge.value(from: bridge.storedValue(from: value)) == value)
            }
            try check(label)
            try check([label])
            try check(Label?.some(label))
            try check([2.5: label])
            try check(Pile(items: [label]))
        }

        @Test("JSON that does not match is an error with its place, and stays stored")
        func misfit() throws {
            let reporter = RecordingReporter()
            let suite = SettingsSuite.inMemory(["limits": #"{"perSecond":7,"name":5}"#], reporter: reporter)
            let setting = Setting(SettingKey("limits", default: Limits(), as: LegacyJSON()), suite: suite)
            #expect(setting.value == Limits() && setting.isSet)
            #expect(reporter.errors.first?.message.contains("at name") == true)
        }

        @Test("data that is not JSON is reported as such", arguments: [Data("oops".utf8), Data([0xFF, 0]), Data()])
        func noJSON(_ data: Data) {
            let bridge = LegacyJSON<Limits>()
            let error = #expect(throws: SettingsError.self) { try bridge.value(from: .data(data)) }
            #expect(error?.fact.contains("the bytes are neither JSON") == true)
        }
    }
}
