// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

/// What the article about the command says, as far as no other suite tests it.
@Suite("The article about the command")
struct DocumentedCommandTests {
    @Test("get and watch print a duration in seconds, and list and explain print it as people write it")
    func durations() async {
        let suite = SettingsSuite.inMemory(["wait": "0.01s"])
        let harness = CommandHarness(
            suite,
            SettingsCatalog(Setting("wait", default: Duration.seconds(1), suite: suite))
        )
        #expect(await harness.run("get", "wait").output == "0.01s\n")
        #expect(await harness.run("list").lines.last?.hasPrefix("wait  10ms ") == true)
        #expect(await harness.run("explain", "wait").output.hasPrefix(#"wait = "10ms""#))
    }

    @Test("if the change of a second suite fails, the message names the suite that is changed already")
    func secondSuite() async {
        let store = FailingStore()
        store.fail(with: SettingsError(.readOnly, fact: "the disk is read-only"))
        let (first, second) = (SettingsSuite.inMemory(), SettingsSuite(store: store, name: "second"))
        let settings = (Setting("a", default: 1, suite: first), Setting("b", default: 1, suite: second))
        let result = await CommandHarness(first, SettingsCatalog(settings)).run("set", "a=2", "b=2")
        #expect(result.code == 77)
        #expect(result.errors.contains("The changes of 'in memory' are stored already."))
        #expect(first.snapshot() == ["a": 2])
    }
}
