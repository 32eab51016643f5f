// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

/// What the guides promise of a value that cannot be read: nothing is copied, and the error names the key.
func expectRefusal(
    of key: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ bringAlong: (SettingsSuite) throws -> Void
) {
    let suite = SettingsSuite.inMemory()
    let error = #expect(throws: SettingsError.self, sourceLocation: sourceLocation) { try bringAlong(suite) }
    #expect(error?.key == key, sourceLocation: sourceLocation)
    #expect(suite.keys.isEmpty, sourceLocation: sourceLocation)
}
