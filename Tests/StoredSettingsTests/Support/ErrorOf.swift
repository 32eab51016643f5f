// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The `SettingsError` that a closure throws, or `nil` if it throws none.
func settingsError<Result>(_ body: () throws -> Result) -> SettingsError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? SettingsError
    }
}
