// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

/// What the article "Gotchas" says, as far as no other suite tests it.
@Suite("Gotchas")
struct GotchasTests {
    private struct ServerSettings: Sendable {
        @DefaultStorage(key: "port") var port = 8080
        @DefaultStorage(key: "retries") var retries = 3
    }

    @Test("a memberwise initializer sets the default, and stores nothing")
    func memberwiseInitializer() {
        let suite = SettingsSuite.inMemory()
        let (special, others) = SettingsSuite.withStandard(suite) { (ServerSettings(port: 5), ServerSettings()) }
        #expect(special.port == 5)
        #expect(suite.snapshot().isEmpty)
        others.port = 7
        #expect(special.port == 7)
    }

    @Test("assigning the default stores it, and an update that does not change it stores nothing")
    func storedDefault() throws {
        let suite = SettingsSuite.inMemory()
        let settings = SettingsSuite.withStandard(suite) { ServerSettings() }
        settings.port = 8080
        #expect(suite.snapshot() == ["port": 8080])
        try settings.$port.reset()
        try settings.$port.update { _ in }
        #expect(suite.snapshot().isEmpty)
    }

    @Test("under an override, += stores one more than the override, and an update changes the value beneath it")
    func incrementUnderOverride() throws {
        let suite = SettingsSuite.inMemory(["retries": 10], sources: [.commandLine(["--retries", "3"])])
        let settings = SettingsSuite.withStandard(suite) { ServerSettings() }
        #expect(try settings.$retries.update { $0 += 1 } == 11)
        #expect(suite.snapshot() == ["retries": 11])
        settings.retries += 1
        #expect(suite.snapshot() == ["retries": 4])
        settings.retries = 5
        #expect(suite.snapshot() == ["retries": 5])
        #expect(settings.retries == 3)
    }

    @Test("a key with a dot is one name in the file, and no member of another key")
    func flatKeys() async throws {
        try await withFileSuite(contents: #"{"log": {"level": "nested"}, "log.level": "flat"}"#) { suite, _ in
            let level = Setting("log.level", default: "", suite: suite)
            #expect(level.value == "flat")
            try await level.reset()
            #expect(level.value.isEmpty)
        }
    }
}
