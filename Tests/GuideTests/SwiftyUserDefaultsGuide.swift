// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsFoundation
import TestSupport
import Testing

// The code of Documentation/ComingFromSwiftyUserDefaults.md, between the markers; `SnippetTests` compares them.

// snippet: row-5
extension SettingKeys {
    static let username = SettingKey<String?>("username")
    static let launchCount = SettingKey("launchCount", default: 0)
}
// end

extension SettingKeys {
    // snippet: row-14
    static let lastLogin = SettingKey<Date?>("lastLogin")
    // end
    // snippet: row-15
    static let libraries = SettingKey<[String]>("libraries", default: [])
    // end
    // snippet: row-25
    static let mixed = SettingKey<[String: StoredValue]>("mixed", default: [:])
    // end
    fileprivate static let frog = SettingKey("frog", default: Frog())
    fileprivate static let places = SettingKey<[URL]>("places", default: [])
}

// snippet: row-8
extension SettingMembers {
    var launchCount: SettingKey<Int> { .launchCount }
}
// end

// snippet: row-16
enum Mood: String, StoredValueConvertible { case calm, merry }
// end

// snippet: row-17
struct Frog: Codable, StoredValueConvertible { var name = "nobody" }
// end

// snippet: row-19
final class Toad: NSObject, NSSecureCoding, StoredValueConvertible {
    // end
    static var supportsSecureCoding: Bool { true }
    let age: Int

    init(age: Int) { self.age = age }
    init?(coder: NSCoder) { age = coder.decodeInteger(forKey: "age") }

    func encode(with coder: NSCoder) { coder.encode(age, forKey: "age") }
}

struct Newt: Equatable, Sendable { var name: String }

// snippet: row-22
struct NewtBridge: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Newt {
        Newt(name: try storedValue.as(String.self))
    }

    func storedValue(from value: Newt) throws -> StoredValue { .string(value.name) }
}
// end

private struct Settings: Sendable {
    // snippet: row-1
    @DefaultStorage(.launchCount) var launchCount
    // end
    // snippet: row-2
    @DefaultStorageOptional(.username) var username: String?
    // end
}

@Suite("Coming from SwiftyUserDefaults")
struct SwiftyUserDefaultsGuide {
    private let suite = SettingsSuite.inMemory()
    private let settings: Settings

    init() {
        settings = SettingsSuite.withStandard(suite) { Settings() }
    }

    @Test("declarations and use")
    func declaring() {
        // snippet: row-6
        suite[.launchCount] += 1
        suite[.libraries].append("StoredSettings")
        // end
        // snippet: row-8-use
        suite.members.launchCount += 1
        // end
        #expect(settings.launchCount == 2 && settings.username == nil)
        settings.username = "ada"
        #expect(suite[.username] == "ada" && suite[.libraries] == ["StoredSettings"])
        // snippet: row-7
        let colour = SettingKey("colour", default: "")
        suite[colour] = "red"
        // end
        #expect(suite[storedValueFor: "colour"] == "red")
        // snippet: row-10
        let shared = Setting(.launchCount, suite: "com.my.app")
        // end
        #expect(shared.suite.name == "com.my.app")
    }

    @Test("types")
    func types() {
        // snippet: row-22-use
        let newt = SettingKey("newt", default: Newt(name: ""), as: NewtBridge())
        let newts = SettingKey<[Newt]>("newts", default: [], as: NewtBridge().array)
        // end
        suite[newt].name = "ada"
        suite[newts].append(Newt(name: "eve"))
        #expect(suite[storedValueFor: "newt"] == "ada" && suite[storedValueFor: "newts"] == ["eve"])
    }

    @Test("observing")
    func observing() {
        // snippet: row-28
        let observation = settings.$launchCount.observe(initial: true) { print($0.old, $0.new) }
        // end
        // snippet: row-34
        settings.launchCount += 1
        // end
        // snippet: row-29
        observation.invalidate()
        // end
        // snippet: row-36
        let changes = suite.changes(of: .launchCount, .username)
        // end
        _ = changes
    }

    @Test("suites")
    func suites() throws {
        settings.launchCount = 1
        // snippet: row-39
        let hasKey = suite.contains(.launchCount)
        // end
        #expect(hasKey && settings.$launchCount.isSet)
        // snippet: row-37
        try suite.reset(.launchCount)
        // end
        #expect(!suite.contains(.launchCount))
        // snippet: row-38
        try suite.removeAll()
        // end
        // snippet: row-40
        let shared = SettingsSuite("com.my.app")
        // end
        #expect(shared.name == "com.my.app")
    }

    @Test("launch arguments")
    func arguments() {
        // snippet: row-42
        let suite = SettingsSuite("com.my.app", sources: [.commandLine()])
        // end
        #expect(suite.name == "com.my.app")
    }

    @Test("migrating data")
    func data() throws {
        let home = try #require(URL(string: "https://example.org/home"))
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: [home as NSURL] as NSArray,
            requiringSecureCoding: false
        )
        let old = SettingsSuite.inMemory([
            "launchCount": 3, "username": "ada", "frog": .data(Data(#"{"name":"eve"}"#.utf8)), "places": .data(archive),
        ])
        try bringAlong(from: old, into: suite)
        #expect(suite[.launchCount] == 3 && suite[.username] == "ada" && suite[.frog].name == "eve")
        #expect(suite[.places] == [home] && suite[storedValueFor: "places"] == ["https://example.org/home"])
        expectFailedMigration(of: "launchCount") { suite in
            try bringAlong(from: .inMemory(["username": "ada", "launchCount": "3"]), into: suite)
        }
    }

    // snippet: bring-along
    private func bringAlong(from old: SettingsSuite, into suite: SettingsSuite) throws {
        var migrator = SettingsMigrator()
        migrator.addStep("from SwiftyUserDefaults") { values in
            for key in ["launchCount", "username", "frog", "places"] where values[storedValueFor: key] == nil {
                values[storedValueFor: key] = old[storedValueFor: key]
            }
            try values.convert(.frog, from: LegacyJSON())
            try values.convert(.places, from: LegacyArchive())
            _ = try values.value(of: Setting(.launchCount, suite: suite))
            _ = try values.value(of: Setting(.username, suite: suite))
        }
        try migrator.migrate(suite)
    }
    // end

    /// Compiled but not run, because other tests use `UserDefaults` at the same time; `LegacyTests` runs similar code.
    private func overUserDefaults() throws {
        // snippet: row-41
        let suite = SettingsSuite(userDefaults: .standard)
        // end
        // snippet: in-place
        let frog = SettingKey("frog", default: Frog(), as: LegacyJSON())
        let places = SettingKey<[URL]>("places", default: [], as: LegacyArchive())
        let toads = SettingKey<[Toad]>("toads", default: [], as: LegacyArchivedObjects())
        let home = SettingKey("home", default: URL(fileURLWithPath: "/"), as: UserDefaultsURL())
        // end
        // snippet: row-14-url
        let file = SettingKey("file", default: URL(fileURLWithPath: "/"), as: UserDefaultsURL())
        // end
        // snippet: start
        try bringAlong(from: SettingsSuite(userDefaults: .standard), into: "com.my.app")
        // end
        _ = (suite, frog, places, toads, home, file)
    }
}
