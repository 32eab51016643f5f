// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The error of this library that a closure throws, or nil when it throws none.
func settingsError<Result>(_ body: () throws -> Result) -> SettingsError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? SettingsError
    }
}
