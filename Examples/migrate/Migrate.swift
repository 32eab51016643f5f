// SPDX-License-Identifier: Apache-2.0

// A program whose settings have changed their names and their forms:
//
//     swift run migrate old       stores what version 1 of the program has stored
//     swift run migrate           migrates that, once, and shows the settings of version 3

import ExampleSettings
import StoredSettings

/// Version 3: the level has another name, the hosts are a list, and the timeout is a duration.
struct ProgramSettings: Sendable {
    @DefaultStorage(key: "logLevel", suite: .migrate) var logLevel = LogLevel.info
    @DefaultStorage(key: "hosts", suite: .migrate) var hosts: [String] = []
    @DefaultStorage(key: "timeout", suite: .migrate) var timeout = Duration.seconds(30)
}

extension SettingsSuite {
    static let migrate: SettingsSuite = "com.example.migrate"
}

@main
struct Migrate {
    static func main() {
        do {
            switch CommandLine.arguments.dropFirst() {
            case []: try migrateAndShow(.migrate)
            case ["old"]: try storeVersion1(.migrate)
            default: Console.fail("usage: migrate [old]")
            }
        } catch {
            Console.fail("migrate: \(error)")
        }
    }

    private static func storeVersion1(_ suite: SettingsSuite) throws {
        try suite.removeAll()
        try suite.setStoredValue("debug", forKey: "log_level")
        try suite.setStoredValue("a.example,b.example", forKey: "hosts")
        try suite.setStoredValue(2500, forKey: "timeout")
        show(suite)
    }

    private static func migrateAndShow(_ suite: SettingsSuite) throws {
        var migrator = SettingsMigrator()
        // Version 2. A step that was released is never changed, because it does not run again.
        migrator.addStep("one name for the level") { settings in
            settings.rename("log_level", to: "logLevel")
        }
        migrator.addStep("hosts as a list") { settings in
            try settings.convert("hosts") { stored in
                .array(try stored.as(String.self).split(separator: ",").map { .string(String($0)) })
            }
        }
        // Version 3.
        migrator.addStep("timeout as a duration") { settings in
            try settings.convert("timeout") { try Duration.milliseconds($0.as(Int.self)).storedValue() }
        }
        // All pending steps are one transaction. Any number of processes may start at once: one of them migrates.
        try migrator.migrate(suite)

        let settings = ProgramSettings()
        print("\(settings.logLevel.rawValue), \(settings.hosts), \(settings.timeout)")
        show(suite)
    }

    private static func show(_ suite: SettingsSuite) {
        for (key, value) in suite.snapshot().sorted(by: { $0.key < $1.key }) {
            print("  \(key) = \(value)")
        }
    }
}
