// SPDX-License-Identifier: Apache-2.0

// Shows the settings of quickstart, and every change while it happens, whoever makes it:
//
//     swift run watch                         here, and in another terminal
//     swift run quickstart set port 9090

import ExampleSettings
import StoredSettings

@main
struct Watch {
    static func main() async {
        Console.show("Settings of \(SettingsSuite.quickstart.name), \(SettingsSuite.quickstart.persistence):")
        await withTaskGroup(of: Void.self) { tasks in
            for setting in ServerSettings().all {
                tasks.addTask { await follow(setting) }
            }
        }
    }

    private static func follow(_ setting: some TextualSetting) async {
        // Changes from here on are kept for the loop below: none falls between the value shown and the first change.
        let changes = setting.changes
        Console.show("  \(setting.key) = \(setting.text)")
        for await change in changes {
            let (old, new) = (setting.text(for: change.old), setting.text(for: change.new))
            Console.show("  \(setting.key): \(old) -> \(new) (\(change.origin))")
        }
    }
}
