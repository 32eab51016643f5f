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
            _ old: Any,
            _ key: SettingKey<Value>,
            is value: Value,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await withDefaults { defaults, _ in
                defaults.set(old, forKey: key.name)
                let setting = Setting(key, suite: SettingsSuite(userDefaults: defaults, reporter: RecordingReporter()))
                #expect(try setting.load() == value, sourceLocation: sourceLocation)
                try await setting.set(value)
                #expect(try setting.load() == value, sourceLocation: sourceLocation)
            }
        }

        private static func archive(_ object: Any, isSecure: Bool = false) throws -> Data {
            try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: isSecure)
        }

        @Test(
            "Row 43: values of Defaults 4 and 5 are read with their type: JSON strings, raw values, archives, plain values"
        )
        func defaults() async throws {
            let (limits, pile, pink) = (Self.limits, Pile(items: [Self.limits]), Color(red: 0.5, name: "pink"))
            try await check(Self.json, SettingKey("limits", default: Limits(), as: LegacyJSON()), is: limits)
            for list in ["[\(Self.json),\(Self.json)]", [Self.json, Self.json]] as [Any] {
                try await check(list, SettingKey("list", default: [], as: LegacyJSON()), is: [limits, limits])
            }
            try await check(
                ["a": Self.json],
                SettingKey("dictionary 5", default: [:], as: LegacyJSON()),
                is: ["a": limits]
            )
            try await check(#""high""#, SettingKey("codable enum", default: .low, as: LegacyJSON()), is: Level.high)
            try await check("high", SettingKey("raw enum", default: .low), is: Level.high)
            try await check(
                [#""low""#, #""high""#],
                SettingKey("enums", default: [], as: LegacyJSON()),
                is: [Level.low, .high]
            )
            let url = #""https:\/\/example.org\/home?q=1#f""#
            try await check(url, SettingKey("url", default: nil, as: LegacyJSON()), is: Self.home)
            try await check(["a", "b"], SettingKey("set", default: []), is: Set(["a", "b"]))
            try await check(#"["a","b"]"#, SettingKey("set 4", default: [], as: LegacyJSON()), is: Set(["a", "b"]))
            try await check(#"{"a":1}"#, SettingKey("counts 4", default: [:], as: LegacyJSON()), is: ["a": 1])
            try await check("[0.5,1]", SettingKey("numbers 4", default: [], as: LegacyJSON()), is: [0.5, 1])
            try await check(
                ["2.5": Self.json],
                SettingKey("by number", default: [:], as: LegacyJSON()),
                is: [2.5: limits]
            )
            try await check([Self.json], SettingKey("pile", default: Pile(items: []), as: LegacyJSON()), is: pile)
            try await check(
                ["true": [Self.json]],
                SettingKey("piles", default: [:], as: LegacyJSON()),
                is: [true: pile]
            )
            try await check(
                Self.archive(pink, isSecure: true),
                SettingKey("color", default: Color(red: 1, name: "red")),
                is: pink
            )
        }

        @Test(
            "Row 43: values of SwiftyUserDefaults 5 are read with their type: plain values, JSON data, raw values, archives"
        )
        func swiftyUserDefaults() async throws {
            let home = try #require(Self.home)
            let day = Date(timeIntervalSinceReferenceDate: 86_400)
            let pink = Color(red: 0.5, name: "pink")
            try await check(3, SettingKey("count", default: 0), is: 3)
            try await check([day], SettingKey("days", default: []), is: [day])
            let json = Data(Self.json.utf8)
            try await check(json, SettingKey("limits", default: Limits(), as: LegacyJSON()), is: Self.limits)
            let list = Data("[\(Self.json)]".utf8)
            try await check(list, SettingKey("list", default: [], as: LegacyJSON()), is: [Self.limits])
            try await check(2, SettingKey("rank", default: Rank.first), is: .second)
            try await check([1, 2], SettingKey("ranks", default: []), is: [Rank.first, .second])
            try await check(
                Self.archive([home as NSURL] as NSArray),
                SettingKey("urls", default: [], as: LegacyArchive()),
                is: [home]
            )
            let mixed: NSDictionary = ["n": 3, "b": true, "d": 0.5, "s": ["t"], "day": day as NSDate]
            try await check(
                Self.archive(mixed),
                SettingKey("mixed", default: [:], as: LegacyArchive()),
                is: ["n": 3, "b": true, "d": 0.5, "s": ["t"], "day": .date(day)] as [String: StoredValue]
            )
            let root = URL(fileURLWithPath: "/")
            try await check(
                Self.archive(home as NSURL),
                SettingKey("home", default: root, as: UserDefaultsURL()),
                is: home
            )
            try await check(
                Self.archive(pink),
                SettingKey("color", default: Color(red: 1, name: "red")),
                is: pink
            )
            try await check(
                Self.archive([pink, pink] as NSArray),
                SettingKey("colors", default: [], as: LegacyArchivedObjects()),
                is: [pink, pink]
            )
            let impostors = try Self.archive([pink, NSString(string: "x")] as NSArray)
            let key = SettingKey<[Color]>("impostors", default: [], as: LegacyArchivedObjects())
            let suite = SettingsSuite.inMemory(["impostors": .data(impostors)], reporter: RecordingReporter())
            expectError(.invalidValue) { try Setting(key, suite: suite).load() }
        }

        @Test("Row 43: values of Foil 6 are read with their type: plain values, raw values, JSON data, URLs")
        func foil() async throws {
            try await check(true, SettingKey("flag", default: false), is: true)
            try await check(
                [Data(Self.json.utf8)],
                SettingKey("list", default: [], as: LegacyJSON()),
                is: [Self.limits]
            )
            try await check(["a": ["x"]], SettingKey("names", default: [:]), is: ["a": Set(["x"])])
            let (root, file) = (URL(fileURLWithPath: "/"), URL(fileURLWithPath: "/tmp/a b"))
            try await withDefaults { defaults, _ in
                // Another method stores a URL in another form.
                defaults.set(file, forKey: "file")
                let setting = Setting(
                    SettingKey("file", default: root, as: UserDefaultsURL()),
                    suite: SettingsSuite(userDefaults: defaults)
                )
                let loaded = try setting.load()
                #expect(loaded == file)
            }
        }

        @Test(
            "Row 43: values of UserDefault 1.3 are read with their type: plain values, raw values, JSON, archives, optionals"
        )
        func userDefault() async throws {
            let json = Data(Self.json.utf8)
            try await check(["a": ["b": [1, 2]]], SettingKey("deep", default: [:]), is: ["a": ["b": [1, 2]]])
            try await check(["low", "high"], SettingKey("levels", default: []), is: [Level.low, .high])
            try await check(
                ["low": json],
                SettingKey("by level", default: [:], as: LegacyJSON()),
                is: ["low": Self.limits]
            )
            try await check(
                ["low": json, "high": json],
                SettingKey("by enum", default: [:], as: LegacyJSON()),
                is: [Level.low: Self.limits, Level.high: Self.limits]
            )
            try await check([5], SettingKey<Int?>("count", default: 42, as: LegacyOptional()), is: 5)
            try await check([Int](), SettingKey<Int?>("no count", default: 42, as: LegacyOptional()), is: nil)
            let limits = LegacyOptional(LegacyJSON<Limits>())
            try await check([json], SettingKey("maybe limits", default: nil, as: limits), is: Self.limits)
            try await check([["a"]], SettingKey("maybe names", default: nil, as: LegacyOptional()), is: ["a"])
            try await check(
                [[1], [Int]()],
                SettingKey("counts", default: [], as: LegacyOptional<Int>().array),
                is: [1, nil]
            )
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
            try await withDefaults { defaults, _ in
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
