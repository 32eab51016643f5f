// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsFoundation
import Testing

// The code of Documentation/ComingFromUserDefaults.md, between the markers; `SnippetTests` compares them.

// snippet: row-17
struct Quota: Codable, StoredValueConvertible { var perSecond = 100 }
// end

// snippet: row-19
final class Badge: NSObject, NSSecureCoding, StoredValueConvertible {
    // end
    static var supportsSecureCoding: Bool { true }
    let rank: Int

    init(rank: Int) { self.rank = rank }
    init?(coder: NSCoder) { rank = coder.decodeInteger(forKey: "rank") }

    func encode(with coder: NSCoder) { coder.encode(rank, forKey: "rank") }
}

// snippet: settings
private struct ToolSettings: Sendable {
    @DefaultStorage(key: "retries") var retries = 3
    @DefaultStorage(key: "isVerbose") var isVerbose = false
    @DefaultStorageOptional(key: "token") var token: String?
    @DefaultStorage(key: "hosts") var hosts: [String] = []
    @DefaultStorage(key: "quota") var quota = Quota()
    @DefaultStorage(key: "home") var home = URL(fileURLWithPath: "/")
}
// end

private struct Rows: Sendable {
    // snippet: row-1
    @DefaultStorage(key: "retries") var retries = 3
    // end
    // snippet: row-2
    @DefaultStorageOptional(key: "token") var token: String?
    // end
    // snippet: row-14
    @DefaultStorage(key: "isVerbose") var isVerbose = false
    // end
    // snippet: row-15
    @DefaultStorage(key: "hosts") var hosts: [String] = []
    // end
    @DefaultStorage(key: "badge") var badge = Badge(rank: 1)
}

@Suite("Coming from UserDefaults")
struct UserDefaultsGuide {
    private let suite = SettingsSuite.inMemory()
    private let settings: ToolSettings

    init() {
        settings = SettingsSuite.withStandard(suite) { ToolSettings() }
    }

    @Test("declarations and use")
    func declaring() throws {
        let rows = SettingsSuite.withStandard(suite) { Rows() }
        // snippet: row-28
        let observation = settings.$retries.observe { print($0.old, $0.new) }
        // end
        rows.retries = 5
        rows.token = "secret"
        rows.isVerbose = true
        rows.hosts.append("example.org")
        rows.badge = Badge(rank: 2)
        #expect(settings.retries == 5 && settings.token == "secret" && settings.isVerbose && rows.badge.rank == 2)
        #expect(suite[storedValueFor: "hosts"] == ["example.org"] && settings.hosts.count == 1)
        observation.invalidate()
        // snippet: row-37
        try settings.$retries.reset()
        // end
        // snippet: row-39
        let isSet = settings.$retries.isSet
        // end
        #expect(!isSet && settings.retries == 3)
        // snippet: row-38
        try suite.removeAll()
        // end
        #expect(suite.keys.isEmpty)
        // snippet: row-40
        let shared = SettingsSuite("com.acme.shared")
        // end
        #expect(shared.name == "com.acme.shared")
        // snippet: row-42
        let given = SettingsSuite("com.acme.tool", sources: [.commandLine()])
        // end
        #expect(given.name == "com.acme.tool")
    }

    @Test("migrating data")
    func data() throws {
        let old = SettingsSuite.inMemory([
            "retries": 5, "isVerbose": 1, "hosts": ["example.org"], "quota": .data(Data(#"{"perSecond":7}"#.utf8)),
            "home": "/tmp/a b", "unknown": true,
        ])
        try bringAlong(from: old, into: settings)
        #expect(settings.retries == 5 && settings.isVerbose && settings.token == nil && settings.quota.perSecond == 7)
        #expect(settings.hosts == ["example.org"] && settings.home == URL(fileURLWithPath: "/tmp/a b"))
        #expect(suite[storedValueFor: "isVerbose"] == true && !suite.contains("unknown"))
        let unreadable: [String: StoredValue] = ["retries": "5", "isVerbose": 2, "token": 3, "hosts": "example.org"]
        for (key, value) in unreadable {
            expectFailedMigration(of: key) { suite in
                let settings = SettingsSuite.withStandard(suite) { ToolSettings() }
                try bringAlong(from: .inMemory(["home": "/tmp", key: value]), into: settings)
            }
        }
    }

    @Test("without the bridge, a bare path is a URL without a scheme")
    func barePath() throws {
        let home = SettingKey("home", default: URL(fileURLWithPath: "/"), as: UserDefaultsURL())
        try suite.setStoredValue("/tmp/a", forKey: "home")
        #expect(settings.home.scheme == nil && settings.home.path == "/tmp/a" && suite[home].isFileURL)
    }

    // snippet: bring-along
    private func bringAlong(from old: SettingsSuite, into settings: ToolSettings) throws {
        let keys = ["retries", "isVerbose", "token", "hosts", "quota", "home"]
        var migrator = SettingsMigrator()
        migrator.addStep("from UserDefaults") { values in
            for key in keys where values[storedValueFor: key] == nil {
                values[storedValueFor: key] = old[storedValueFor: key]
            }
            try values.convert("isVerbose") { stored in
                switch stored {
                case 0, "NO": false
                case 1, "YES": true
                default: stored
                }
            }
            try values.convert(settings.$quota, from: LegacyJSON())
            try values.convert(settings.$home, from: UserDefaultsURL())
            _ = try values.value(of: settings.$retries)
            _ = try values.value(of: settings.$isVerbose)
            _ = try values.value(of: settings.$token)
            _ = try values.value(of: settings.$hosts)
        }
        try migrator.migrate(settings.$retries.suite)
    }
    // end

    /// Compiled but not run, because other tests use `UserDefaults` at the same time; `PlainCodeTests` runs similar
    /// code.
    private func overUserDefaults() throws {
        // snippet: row-41
        let suite = SettingsSuite(userDefaults: .standard)
        // end
        // snippet: in-place
        @DefaultStorage(key: "retries", suite: suite, in: 0...10) var retries = 3
        @DefaultStorage(key: "quota", suite: suite, as: LegacyJSON()) var quota = Quota()
        @DefaultStorage(key: "home", suite: suite, as: UserDefaultsURL()) var home = URL(fileURLWithPath: "/")
        // end
        // snippet: start
        try bringAlong(from: SettingsSuite(userDefaults: .standard), into: settings)
        // end
    }
}
