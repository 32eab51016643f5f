// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsFoundation
import TestSupport
import Testing

#if canImport(Combine)
import Combine
#endif

// The code of Documentation/ComingFromDefaults.md, between the markers; `SnippetTests` compares them.

// snippet: row-5
extension SettingKeys {
    static let quality = SettingKey("quality", default: 0.8)
    static let name = SettingKey<String?>("name")
}
// end

extension SettingKeys {
    // snippet: row-9
    static let started = SettingKey("started") { Date() }
    // end
    // snippet: row-14
    static let port = SettingKey<UInt16>("port", default: 8080)
    // end
    // snippet: row-15
    static let nested = SettingKey<[[String: Set<[String: Int]>]]>("nested", default: [])
    // end
    // snippet: row-25
    static let magic = SettingKey<[String: StoredValue]>("magic", default: [:])
    // end
    fileprivate static let user = SettingKey("user", default: DefaultsUser())
    fileprivate static let users = SettingKey<[DefaultsUser]>("users", default: [])
    fileprivate static let duration = SettingKey("duration", default: Length.oneHour)
}

// snippet: row-16
enum Length: String, StoredValueConvertible { case halfHour, oneHour }
// end

// snippet: row-17
struct DefaultsUser: Codable, StoredValueConvertible { var name = "nobody" }
// end

// snippet: row-19
final class Tint: NSObject, NSSecureCoding, StoredValueConvertible {
    // end
    static var supportsSecureCoding: Bool { true }
    let red: Double

    init(red: Double) { self.red = red }
    init?(coder: NSCoder) { red = coder.decodeDouble(forKey: "red") }

    func encode(with coder: NSCoder) { coder.encode(red, forKey: "red") }
}

struct Point: Hashable, Sendable {
    var x = 0
    var y = 0
}

// snippet: row-22
struct PointBridge: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Point {
        let parts = try storedValue.as([String: Int].self)
        return Point(x: parts["x"] ?? 0, y: parts["y"] ?? 0)
    }

    func storedValue(from value: Point) throws -> StoredValue {
        try ["x": value.x, "y": value.y].storedValue()
    }
}
// end

struct Bag<Element: StoredValueConvertible>: Collection {
    var items: [Element]

    var startIndex: Int { items.startIndex }
    var endIndex: Int { items.endIndex }
    func index(after index: Int) -> Int { items.index(after: index) }
    subscript(index: Int) -> Element { items[index] }
}

// snippet: row-23
extension Bag: StoredCollection {
    init(stored elements: [Element]) { items = elements }
}
// end

/// A type as other packages define it.
struct AnyCodable: Codable, Sendable {
    var value: StoredValue

    init(_ value: StoredValue) { self.value = value }
    init(from decoder: any Decoder) throws { value = try StoredValue(from: decoder) }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

// snippet: row-24
struct Flags: OptionSet, StoredValueConvertible { let rawValue: Int }
// end

@Suite("Coming from Defaults", .deadlockLimit)
struct DefaultsGuide {
    private let suite = SettingsSuite.inMemory()

    @Test("declarations and use")
    func declaring() throws {
        // snippet: row-6
        suite[.quality] += 0.1
        // end
        #expect(suite[.quality] == 0.8 + 0.1 && suite[.name] == nil && suite[.started] < Date())
        // snippet: row-2
        suite[.name] = "ada"
        // end
        // snippet: row-7
        let isUnicorn = SettingKey("isUnicorn", default: true)
        suite[isUnicorn].toggle()
        // end
        #expect(!suite[isUnicorn] && suite.keys == ["isUnicorn", "name", "quality"])
        // snippet: row-10
        let elsewhere = Setting(.quality, suite: "com.unicorn.app")
        // end
        #expect(elsewhere.suite.name == "com.unicorn.app")
        // snippet: row-11
        let setting = Setting(.quality, suite: suite)
        #expect(setting.key == "quality" && setting.defaultValue == 0.8 && setting.suite == suite)
        // end
    }

    @Test("types")
    func types() throws {
        // snippet: row-25-use
        suite[.magic]["number"] = 3
        suite[.magic]["unicorn"] = "🦄"
        let number = try suite[.magic]["number"]?.as(Int.self)
        // end
        #expect(number == 3)
        // snippet: row-18
        let raw = SettingKey("raw", default: TaskPriority.low, as: RawValueBridge())
        let coded = SettingKey("coded", default: DefaultsUser(), as: CodableBridge())
        // end
        suite[raw] = .high
        #expect(suite[storedValueFor: "raw"]?.kind == .integer && suite[coded].name == "nobody")
        // snippet: row-22-use
        let origin = SettingKey("origin", default: Point(), as: PointBridge())
        let path = SettingKey("path", default: [Point()], as: PointBridge().array)
        // end
        suite[origin].x = 1
        suite[path].append(Point(x: 1, y: 2))
        #expect(suite[origin] == Point(x: 1) && suite[path].count == 2)
        // snippet: row-26
        let any = SettingKey<[String: AnyCodable]>("any", default: [:], as: CodableBridge())
        // end
        suite[any]["n"] = AnyCodable([1, "two"])
        #expect(suite[any]["n"]?.value == [1, "two"])
        try suite.setStoredValue(["age": 5], forKey: "user")
        #expect(try Setting(.user, suite: suite).load()?.name == "nobody")
        try suite.setStoredValue(["name": 5], forKey: "user")
        // snippet: row-27
        #expect(throws: SettingsError.self) { try Setting(.user, suite: suite).load() }
        // end
        #expect(suite[.user].name == "nobody" && suite.contains(.user))
    }

    private final class Owner: Sendable {}

    @Test("observing")
    func observing() async {
        let owner = Owner()
        let quality = Setting(.quality, suite: suite)
        // snippet: row-28
        let observation = quality.observe(initial: true) { print($0.old, $0.new) }
        // end
        // snippet: row-29
        observation.tieToLifetime(of: owner)
        observation.removeLifetimeTie()
        observation.invalidate()
        // end
        // snippet: row-30
        let several = suite.observe(.quality, .name) { print("one of them") }
        // end
        // snippet: row-31
        suite.withoutPropagation { suite[.quality] = 0.5 }
        // end
        several.invalidate()
        // snippet: row-33
        for await value in quality.values {
            print(value)
            break
        }
        // end
        #if canImport(Combine)
        // snippet: row-32
        let cancellable = quality.changePublisher.sink { print($0.old, $0.new) }
        // end
        cancellable.cancel()
        #endif
    }

    @Test("Observation")
    func observation() {
        // snippet: row-35
        let observed = suite.observable()
        // end
        #expect(observed.isObservable)
    }

    @Test("suites")
    func suites() throws {
        suite[.quality] = 0.1
        suite[.name] = "ada"
        try suite.setStoredValue(1, forKey: "other")
        // snippet: row-37
        try suite.reset(.quality, .name)
        try suite.setStoredValue(nil, forKey: "other")
        // end
        #expect(suite.keys.isEmpty)
        // snippet: row-38
        try suite.removeAll()
        // end
        // snippet: row-40
        let shared = SettingsSuite("com.unicorn.app")
        // end
        // snippet: row-44
        try suite.checkpoint()
        // end
        #expect(shared.name == "com.unicorn.app")
    }

    @Test("migrating data")
    func data() throws {
        let old = SettingsSuite.inMemory([
            "quality": 0.5, "duration": "halfHour", "user": #"{"name":"ada"}"#,
            "users": [#"{"name":"ada"}"#, #"{"name":"eve"}"#],
        ])
        try bringAlong(from: old, into: suite)
        #expect(suite[.quality] == 0.5 && suite[.duration] == .halfHour && suite[.user].name == "ada")
        #expect(suite[storedValueFor: "users"] == [["name": "ada"], ["name": "eve"]])
        expectFailedMigration(of: "duration") { suite in
            try bringAlong(from: .inMemory(["quality": 0.5, "duration": "later"]), into: suite)
        }
    }

    // snippet: row-43
    private func bringAlong(from old: SettingsSuite, into suite: SettingsSuite) throws {
        var migrator = SettingsMigrator()
        migrator.addStep("from Defaults") { values in
            for key in ["quality", "duration", "user", "users"] where values[storedValueFor: key] == nil {
                values[storedValueFor: key] = old[storedValueFor: key]
            }
            try values.convert(.user, from: LegacyJSON())
            try values.convert(.users, from: LegacyJSON())
            _ = try values.value(of: Setting(.quality, suite: suite))
            _ = try values.value(of: Setting(.duration, suite: suite))
        }
        try migrator.migrate(suite)
    }
    // end

    /// Compiled but not run, because other tests use `UserDefaults` at the same time; `LegacyTests` runs similar code.
    private func overUserDefaults() throws {
        // snippet: row-41
        UserDefaults.standard[.quality] += 0.1
        let suite = SettingsSuite(userDefaults: .standard)
        // end
        // snippet: in-place
        let user = SettingKey("user", default: DefaultsUser(), as: LegacyJSON())
        let users = SettingKey<[DefaultsUser]>("users", default: [], as: LegacyJSON())
        // end
        // snippet: row-14-url
        let home = SettingKey("home", default: URL(fileURLWithPath: "/"), as: LegacyJSON())
        // end
        // snippet: start
        try bringAlong(from: SettingsSuite(userDefaults: .standard), into: "com.acme.tool")
        // end
        _ = (suite, user, users, home)
    }
}
