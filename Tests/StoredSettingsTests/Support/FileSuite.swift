// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport

/// Runs a body with a suite in a file, and finishes the suite.
func withFileSuite(
    contents: String? = nil,
    reporter: any SettingsReporter = StandardErrorReporter.shared,
    _ body: (_ suite: SettingsSuite, _ path: String) async throws -> Void
) async throws {
    try await withTemporaryDirectory { directory in
        let path = directory + "/settings.json"
        if let contents { try path.overwriteFile(with: contents) }
        let suite = SettingsSuite(fileAt: path, reporter: reporter)
        do {
            try await body(suite, path)
        } catch {
            await suite.finish()
            throw error
        }
        await suite.finish()
    }
}

/// Runs a body with a suite in memory that has a file as a source, which is its base if no other kind is given.
func withLayer(
    _ text: String,
    as source: (String) -> SettingsSource = SettingsSource.file,
    under values: [String: StoredValue] = [:],
    reporter: any SettingsReporter,
    _ body: (_ suite: SettingsSuite, _ path: String) async throws -> Void
) async throws {
    try await withTemporaryDirectory { directory in
        let path = directory + "/layer.json"
        try path.overwriteFile(with: text)
        try await body(.inMemory(values, sources: [source(path)], reporter: reporter), path)
    }
}
