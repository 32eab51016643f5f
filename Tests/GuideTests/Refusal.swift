// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

/// The guides' promise for an unreadable value: nothing is copied, and the error names the key.
func expectFailedMigration(
    of key: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ migrate: (SettingsSuite) throws -> Void
) {
    let suite = SettingsSuite.inMemory()
    let error = #expect(throws: SettingsError.self, sourceLocation: sourceLocation) { try migrate(suite) }
    #expect(error?.key == key, sourceLocation: sourceLocation)
    #expect(suite.keys.isEmpty, sourceLocation: sourceLocation)
}
