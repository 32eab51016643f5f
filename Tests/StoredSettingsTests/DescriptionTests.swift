// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

@Suite("Descriptions")
struct DescriptionTests {
    private struct Settings {
        @DefaultStorage(key: "password") var password = "hunter2"
    }

    private static let port = SettingKey("port", default: 8080)

    @Test("the description of a suite contains its name and location")
    func suites() async throws {
        #expect("\(SettingsSuite.inMemory())".hasPrefix("suite 'in memory', stored in memory: "))
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = SettingsSuite(fileAt: path)
            #expect("\(suite)" == "suite stored in \(path)")
            suite.finish()
        }
    }

    @Test("the description of a setting contains its key and suite, and that of a key is its string")
    func settings() {
        let suite = SettingsSuite.inMemory()
        #expect("\(Setting(Self.port, suite: suite))" == "setting 'port' of suite 'in memory'")
        #expect("\(Self.port)" == "port")
        #expect("\(Self.port as SettingKeys)" == "port")
    }

    @Test("no description or dump shows a value or internals")
    func internals() {
        let suite = SettingsSuite.inMemory()
        let settings = SettingsSuite.withStandard(suite) { Settings() }
        settings.password = "correct horse"
        let key = SettingKey("password", default: "hunter2")
        for thing in [suite, settings, settings.$password, key] as [Any] {
            var dumped = ""
            dump(thing, to: &dumped)
            for text in ["\(thing)", String(reflecting: thing), "\([thing])", dumped] {
                for secret in ["hunter2", "correct horse", "cell", "box", "engine", "Parts", "0x"] {
                    #expect(!text.contains(secret), "\(text)")
                }
            }
        }
    }
}
