// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

private struct Proxy {
    @DefaultStorage(key: "port", suite: "test.named.proxy") var port = 8080
    @DefaultStorage(key: "retries") var retries = 3
}

@Suite("A named suite")
struct NamedSuiteTests {
    @Test("has the overrides and the reporter of its configuration, unless it is created with its own")
    func configured() throws {
        let (name, reporter) = ("test.named.configured", RecordingReporter())
        try SettingsSuite.configure(name, sources: [.environment(["X_PORT": "5"], prefix: "X_")], reporter: reporter)
        let suite = SettingsSuite(name)
        #expect(suite.layers?.sources.count == 2)
        #expect(suite.reporter === reporter)
        let literal: SettingsSuite = "test.named.configured"
        #expect(literal == suite)
        #expect(Setting("port", default: 1, suite: "test.named.configured").value == 5)
        let other = SettingsSuite(name, sources: [.commandLine(["--port", "7"])], reporter: reporter)
        #expect(Setting("port", default: 1, suite: other).value == 7)
        #expect(SettingsSuite("test.named.other").layers == nil)
    }

    @Test("takes from its configuration what it is not created with")
    func partlyConfigured() throws {
        let (name, configured, own) = ("test.named.partly", RecordingReporter(), RecordingReporter())
        let override = SettingsSource.environment(["X_PORT": "5"], prefix: "X_")
        try SettingsSuite.configure(name, sources: [override], reporter: configured)
        let reporting = SettingsSuite(name, reporter: own)
        #expect(reporting.reporter === own)
        #expect(Setting("port", default: 1, suite: reporting).value == 5)
        let overriding = SettingsSuite(name, sources: [.commandLine(["--port", "7"])])
        #expect(overriding.reporter === configured)
        #expect(Setting("port", default: 1, suite: overriding).value == 7)
        let replacement = SettingsSuite.inMemory(sources: [.commandLine(["--port", "8"])], reporter: configured)
        SettingsSuite.withSuites([name: replacement]) {
            let reporting = SettingsSuite(name, reporter: own)
            #expect(reporting.reporter === own)
            #expect(Setting("port", default: 1, suite: reporting).value == 8)
            #expect(SettingsSuite(name, sources: [.commandLine([])]).reporter === configured)
            #expect(SettingsSuite(name, sources: [.commandLine([])]).layers?.sources == [.commandLine([]), .stored])
        }
    }

    @Test("is configured once, and before it is used")
    func late() throws {
        try SettingsSuite.configure("test.named.twice")
        let twice = #expect(throws: SettingsError.self) { try SettingsSuite.configure("test.named.twice") }
        #expect(twice?.fact == "the suite was configured before")
        _ = SettingsSuite("test.named.late")
        let late = #expect(throws: SettingsError.self) { try SettingsSuite.configure("test.named.late") }
        #expect(late?.code == .suiteInUse)
        #expect(late?.suite == "test.named.late")
        #expect(late?.fact == "the suite was used before")
    }

    @Test("is configured or used first, never both, if two threads race")
    func race() async {
        for number in 1...200 {
            let name = "test.named.race.\(number)"
            async let isConfigured =
                Task.detached {
                    (try? SettingsSuite.configure(name, sources: [.commandLine([])])) != nil
                }
                .value
            async let suite = Task.detached { SettingsSuite(name) }.value
            let (configured, layers) = await (isConfigured, suite.layers)
            #expect(configured == (layers != nil))
        }
    }

    @Test("is replaced in a task and its child tasks, and nowhere else")
    func replaced() async {
        let (one, two) = (SettingsSuite.inMemory(), SettingsSuite.inMemory())
        #expect(SettingsSuite("test.named.proxy") != one)
        await SettingsSuite.withSuites(["test.named.proxy": one]) {
            #expect(SettingsSuite("test.named.proxy") == one)
            #expect(SettingsSuite("test.named.other") != one)
            async let child = SettingsSuite("test.named.proxy")
            #expect(await child == one)
            SettingsSuite.withSuites(["test.named.other": two]) {
                #expect(SettingsSuite("test.named.proxy") == one)
                #expect(SettingsSuite("test.named.other") == two)
            }
            let detached = Task.detached { SettingsSuite("test.named.proxy") }
            #expect(await detached.value != one)
        }
        SettingsSuite.withSuites(["test.named.proxy": two]) {
            let settings = Proxy()
            settings.port = 1
            #expect(two.snapshot() == ["port": 1])
        }
    }
}

@Suite("The trait for isolated settings", .isolatedSettings("test.named.proxy"))
struct IsolatedSettingsTraitTests {
    @Test("gives every test and every argument its own suites in memory", arguments: 1...5)
    func isolated(_ number: Int) {
        let settings = Proxy()
        #expect(!settings.$port.isSet && !settings.$retries.isSet)
        settings.port = number
        settings.retries = number
        for suite in [settings.$port.suite, settings.$retries.suite] {
            guard case .ephemeral = suite.persistence else {
                Issue.record("stored in \(suite)")
                return
            }
        }
    }
}
