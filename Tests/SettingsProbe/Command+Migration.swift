// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension Command {
    /// Migrates in two steps whose effect differs if a step runs twice: double and rename an integer, then add 1 to it.
    @MainActor
    func migrate(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let (old, new) = (try arguments.text(0), try arguments.text(1))
        var migrator = SettingsMigrator()
        migrator.addStep("double") { settings in
            try settings.convert(old) { .integer(Int128(try $0.as(Int.self)) * 2) }
            settings.rename(old, to: new)
        }
        migrator.addStep("raise") { settings in
            try settings.convert(new) { .integer(Int128(try $0.as(Int.self)) + 1) }
        }
        try migrator.migrate(suite)
    }
}
