// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import StoredSettings
import StoredSettingsTesting
import Testing

@testable import ArgumentParserGuide

/// The tests of the commands in Documentation/Integrations/ArgumentParser.md.
@Suite(.isolatedSettings, .timeLimit(.minutes(1)))
struct ArgumentParserGuideTests {
    @Test("each test has settings of its own", arguments: 1...3)
    func isolation(retries: Int) async throws {
        #expect(Tool.settings.maxRetries == 3)
        try await Tool.settings.$maxRetries.set(retries + 3)
        #expect(Tool.settings.maxRetries == retries + 3)
    }

    @Test("a command without settings of the command line has no options of settings")
    func withoutFlags() throws {
        #expect(try Tool.parseAsRoot([]) is Fetch)
        #expect(throws: (any Error).self) { try Tool.parseAsRoot(["--max-retries", "5"]) }
    }
}
