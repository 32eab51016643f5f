// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsFoundation
import TestSupport
import Testing

#if canImport(Combine)
import Combine
#endif

// The code of Documentation/ComingFromFoil.md, between the markers; `SnippetTests` compares them.

private enum AppSettingsKey: String { case flagEnabled }

private enum Level: String, StoredValueConvertible { case low, high }

// snippet: row-17
struct FoilUser: Codable, StoredValueConvertible { var name = "nobody" }
// end

// snippet: row-20
struct Percentage: StoredValueConvertible, Equatable {
    var fraction: Double

    init(_ fraction: Double) { self.fraction = fraction }

    init(storedValue: StoredValue) throws {
        fraction = try storedValue.as(Double.self) / 100
    }

    func storedValue() throws -> StoredValue { .double(fraction * 100) }
}
// end

/// The properties of the table, as declared after the migration.
private struct AppSettings: Sendable {
    // snippet: row-1
    @DefaultStorage(key: "flagEnabled") var flagEnabled = true
    // end
    // snippet: row-2
    @DefaultStorageOptional(key: "timestamp") var timestamp: Date?
    // end
    // snippet: row-4
    @DefaultStorage(AppSettingsKey.flagEnabled) var flag = true
    // end
    // snippet: row-10
    @DefaultStorage(key: "total", suite: "com.acme.tool") var total = 0
    // end
    // snippet: row-14
    @DefaultStorage(key: "home") var home = URL(fileURLWithPath: "/")
    // end
    // snippet: row-15
    @DefaultStorage(key: "names") var names: [String: Set<String>] = [:]
    // end
    // snippet: row-16
    @DefaultStorage(key: "level") var level = Level.low
    // end
    // snippet: row-27
    @DefaultStorage(key: "user") var user = FoilUser()
    // end
    @DefaultStorageOptional(key: "average") var average: Double?
    @DefaultStorage(key: "share") var share = Percentage(0.5)
}

@Suite("Coming from Foil", .deadlockLimit)
struct FoilGuide {
    private let suite = SettingsSuite.inMemory()
    private let settings: AppSettings

    init() {
        settings = SettingsSuite.withStandard(suite) { AppSettings() }
    }

    @Test("declarations and types")
    func declaring() throws {
        #expect(settings.flagEnabled && settings.timestamp == nil && settings.level == .low)
        settings.flag = false
        #expect(!settings.flagEnabled)
        settings.timestamp = Date(timeIntervalSinceReferenceDate: 1)
        settings.names["a"] = ["x"]
        settings.level = .high
        settings.share = Percentage(0.25)
        #expect(try settings.$share.load() == Percentage(0.25))
        #expect(suite.keys == ["flagEnabled", "level", "names", "share", "timestamp"])
        #expect(settings.$total.suite.name == "com.acme.tool")
        // snippet: row-11
        #expect(settings.$flagEnabled.key == "flagEnabled")
        // end
        try suite.setStoredValue(["first": "ada"], forKey: "user")
        #expect(try settings.$user.load()?.name == "nobody")
    }

    @Test("observing")
    func observing() async {
        // snippet: row-28
        let observation = settings.$average.observe { print($0.old as Any, $0.new as Any) }
        // end
        settings.average = 0.5
        observation.invalidate()

        // snippet: row-32-stream
        for await average in settings.$average.values {
            print(average as Any)
            if average != nil { break }
        }
        // end
        #if canImport(Combine)
        // snippet: row-32
        let cancellable = settings.$average.publisher.sink { print($0 as Any) }
        // end
        cancellable.cancel()
        #endif
    }

    @Test("suites")
    func suites() {
        // snippet: row-40
        let shared = SettingsSuite("com.acme.tool")
        // end
        #expect(shared.name == settings.$total.suite.name)
        // snippet: row-36
        let changes = suite.changes()
        // end
        _ = changes
    }

    @Test("migrating data")
    func data() throws {
        let old = SettingsSuite.inMemory([
            "flagEnabled": false, "level": "high", "user": .data(Data(#"{"name":"ada"}"#.utf8)), "home": "/tmp/a b",
        ])
        try bringAlong(from: old, into: settings)
        #expect(!settings.flagEnabled && settings.level == .high && settings.user.name == "ada")
        #expect(settings.home == URL(fileURLWithPath: "/tmp/a b"))
        #expect(suite[storedValueFor: "user"] == ["name": "ada"])
        #expect(suite[storedValueFor: "home"] == "file:///tmp/a%20b")
        settings.user.name = "eve"
        try bringAlong(from: old, into: settings)
        #expect(settings.user.name == "eve" && old[storedValueFor: "user"]?.kind == .data)
        expectFailedMigration(of: "level") { suite in
            let settings = SettingsSuite.withStandard(suite) { AppSettings() }
            try bringAlong(from: .inMemory(["flagEnabled": false, "level": "medium"]), into: settings)
        }
    }

    // snippet: bring-along
    private func bringAlong(from old: SettingsSuite, into settings: AppSettings) throws {
        var migrator = SettingsMigrator()
        migrator.addStep("from Foil") { values in
            for key in ["flagEnabled", "level", "user", "home"] where values[storedValueFor: key] == nil {
                values[storedValueFor: key] = old[storedValueFor: key]
            }
            try values.convert(settings.$user, from: LegacyJSON())
            try values.convert(settings.$home, from: UserDefaultsURL())
            _ = try values.value(of: settings.$flagEnabled)
            _ = try values.value(of: settings.$level)
        }
        try migrator.migrate(settings.$user.suite)
    }
    // end

    /// Compiled but not run, because other tests use `UserDefaults` at the same time; `LegacyTests` runs similar code.
    private func overUserDefaults() throws {
        // snippet: row-41
        let suite = SettingsSuite(userDefaults: .standard)
        // end
        // snippet: in-place
        @DefaultStorage(key: "level", suite: suite) var level = Level.low
        @DefaultStorage(key: "user", suite: suite, as: LegacyJSON()) var user = FoilUser()
        @DefaultStorage(key: "home", suite: suite, as: UserDefaultsURL()) var home = URL(fileURLWithPath: "/")
        // end
        // snippet: row-14-url
        let file = SettingKey("file", default: URL(fileURLWithPath: "/"), as: UserDefaultsURL())
        // end
        // snippet: start
        try bringAlong(from: SettingsSuite(userDefaults: .standard), into: settings)
        // end
        _ = file
    }
}
