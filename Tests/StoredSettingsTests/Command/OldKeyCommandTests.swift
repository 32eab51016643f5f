// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("Commands and the old key of a renamed setting")
struct OldKeyCommandTests {
    @Test("unset removes the value under the old key, as the warning of validate recommends")
    func unset() async {
        let harness = CommandHarness(["max_limit": 81, "limit": 82])
        let warning = await harness.run("validate")
        #expect(warning.errors.contains("Remove 'max_limit' from the suite"))
        #expect(await harness.run("unset", "max_limit") == .init(code: 0, output: "", errors: ""))
        #expect(harness.suite.snapshot() == ["limit": 82])
        #expect(await harness.run("validate").errors.isEmpty)
    }

    @Test("unset of an old key that has the value of the setting removes it, and names a layer that hides that")
    func unsetAlone() async {
        let harness = CommandHarness(
            ["max_limit": 81],
            sources: [.environment(["ACME_LIMIT": "5"], prefix: "ACME_")]
        )
        let result = await harness.run("unset", "max_limit")
        #expect(result.code == 0)
        #expect(result.errors.contains("'limit' is changed, but another layer hides it"))
        #expect(harness.suite.keys == [])
    }

    @Test("explain says that a value under an old key is hidden")
    func explain() async {
        let harness = CommandHarness(["max_limit": 81, "limit": 82])
        let line = await harness.run("explain", "limit").output
        #expect(line.hasPrefix("limit = 82"))
        #expect(line.contains("one under its old key 'max_limit'"))
        #expect(await !CommandHarness(["max_limit": 81]).run("explain", "limit").output.contains("old key"))
    }

    @Test("a misspelled old key suggests the present key")
    func misspelled() async throws {
        let harness = CommandHarness()
        #expect(await harness.run("get", "max_limt").errors.hasSuffix("Did you mean 'limit'?\n"))
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/new.json"
            try path.replaceFile(with: #"{"max_limt": 1}"#)
            #expect(await harness.run("import", path).errors.contains("Rename it to 'limit' if that is meant"))
        }
    }

    @Test("the other commands say what the setting is called now")
    func renamed() async {
        let harness = CommandHarness(["max_limit": 81])
        for arguments in [
            ["get", "max_limit"], ["explain", "max_limit"], ["watch", "max_limit"], ["set", "max_limit", "5"],
            ["set", "max_limit=5"], ["set", "max_limit"],
        ] {
            let result = await harness.run(arguments)
            #expect(result.code == 64)
            #expect(result.errors.contains("the setting 'max_limit' is now called 'limit'."), "\(result.errors)")
            #expect(result.errors.hasSuffix("Use 'limit'.\n"))
        }
        #expect(harness.suite.snapshot() == ["max_limit": 81])
    }

    @Test("an import refuses an old key beside the new one, also if it is forced")
    func importing() async {
        let harness = CommandHarness().with(input: #"{"max_limit": 1, "limit": 2}"#)
        for options in [[], ["--force"]] {
            let result = await harness.run(["import", "-"] + options)
            #expect(result.code == 65)
            #expect(result.errors.contains("this is an old key of 'limit', which has another value here"))
            #expect(result.errors.contains("or rename it to 'limit'"))
        }
        #expect(harness.suite.keys == [])
        #expect(await harness.with(input: #"{"max_limit": 1}"#).run("import", "-").code == 0)
        #expect(harness.suite.snapshot() == ["limit": 1])
    }

    @Test("an old key that settings of several suites had needs --suite")
    func suites() async {
        let suites = ["a", "b"].map { SettingsSuite(store: InMemoryStore(["old": 1]), name: $0) }
        let catalog = SettingsCatalog(
            Setting("new", default: 1, suite: suites[0], traits: .renamed(from: "old")),
            Setting("new", default: 1, suite: suites[1], traits: .renamed(from: "old"))
        )
        let harness = CommandHarness(suites[0], catalog)
        #expect(await harness.run("unset", "old").code == 64)
        #expect(await harness.run("unset", "old", "--suite", "b").code == 0)
        #expect(suites.map { $0.keys } == [["old"], []])
    }
}
