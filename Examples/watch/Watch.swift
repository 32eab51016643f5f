// SPDX-License-Identifier: Apache-2.0

// Shows the settings of quickstart, and every change by this or another process:
//
//     swift run watch                         in one terminal
//     swift run quickstart set port 9090      in another

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
        // The sequence starts here, so no change is lost between the value that is shown and the first change.
        let changes = setting.changes()
        Console.show("  \(setting.key) = \(setting.text)")
        for await change in changes {
            let (old, new) = (setting.text(for: change.old), setting.text(for: change.new))
            Console.show("  \(setting.key): \(old) -> \(new) (\(change.origin))")
        }
    }
}
