// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("Commands that write")
struct WritingCommandTests {
    @Test("set stores one value or several, each as a setting reads it")
    func set() async {
        let harness = CommandHarness()
        #expect(await harness.run("set", "ratio", "-1.5") == .init(code: 0, output: "", errors: ""))
        #expect(await harness.run("set", "hosts=a,b", "level=debug", "motd=x=y").code == 0)
        #expect(await harness.run("set", "--", "motd", "--json").code == 0)
        #expect(
            harness.suite.snapshot() == ["ratio": -1.5, "hosts": ["a", "b"], "level": "debug", "motd": "--json"]
        )
        #expect(await harness.run("set", "motd", "level=info").code == 0)
        #expect(harness.suite[storedValueFor: "motd"] == "level=info")
        #expect(await harness.run("set", "motd=\u{301}x").code == 0)
        #expect(harness.suite[storedValueFor: "motd"] == "\u{301}x")
    }

    @Test("a canceled change exits with 75, and changes nothing")
    func canceled() async {
        let harness = CommandHarness(["port": 81])
        for arguments in [["set", "ratio", "1"], ["unset", "port"], ["import", "-"], ["edit"]] {
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await harness.with(input: #"{"ratio": 2.0}"#).run(arguments)
            }
            let result = await task.value
            #expect(result.code == 75, "\(arguments)")
            #expect(result.errors.contains("Nothing is changed"))
        }
        #expect(harness.suite.snapshot() == ["port": 81])
    }

    @Test("set stores all values or none, and reports every wrong one")
    func setIsAtomic() async {
        let harness = CommandHarness(["port": 1])
        let changes = harness.suite.changes()
        let result = await harness.run("set", "level=debug", "port=0", "ratio=x")
        #expect(result.code == 65)
        #expect(result.errors.split(separator: "\n").count == 2)
        #expect(result.errors.contains("outside 1...65535") && result.errors.contains("setting 'ratio'"))
        #expect(await harness.run("set", "level=debug", "prot=2").code == 64)
        #expect(harness.suite.snapshot() == ["port": 1])
        #expect(await harness.run("set", "level=debug", "port=2").code == 0)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.keys == ["level", "port"])
    }

    @Test("an error of set has a fix for a person at a shell, and no place in the settings file")
    func fixes() async throws {
        try await withFileSuite(reporter: RecordingReporter()) { suite, _ in
            let harness = CommandHarness(suite: suite)
            let outside = await harness.run("set", "port=0")
            #expect(
                outside.errors
                    == "tool config: setting 'port' of suite '\(suite.name)': the value is outside 1...65535. "
                    + "Nothing is changed. Use a value in 1...65535.\n"
            )
            let empty = await harness.run("set", "port=")
            #expect(
                empty.errors.contains("expected an integer, found an empty string. Nothing is changed. Use an integer")
            )
            let port = try #require(harness.catalog["port"]).base as? Setting<Int>
            let limit = try #require(harness.catalog["limit"]).base as? Setting<Int>
            harness.catalog.require("limit is at most port", try #require(limit), try #require(port)) { $0 <= $1 }
            let unmet = await harness.run("set", "port=9")
            #expect(unmet.code == 65)
            #expect(unmet.errors.contains("or several of them in one command."))
            #expect(await harness.run("set", "port=9", "limit=8").code == 0)
            for errors in [outside.errors, empty.errors, unmet.errors] {
                #expect(!errors.lowercased().contains("assign") && !errors.contains("transaction"))
            }
        }
    }

    @Test("set --stdin stores standard input without a byte order mark and one line break at the end")
    func standardInput() async {
        let harness = CommandHarness()
        #expect(await harness.with(input: "s3cret\n\n").run("set", "token", "--stdin").code == 0)
        #expect(harness.suite[storedValueFor: "token"] == "s3cret\n")
        #expect(await harness.with(input: "\u{FEFF}s3cret\r\n").run("set", "token", "--stdin").code == 0)
        #expect(harness.suite[storedValueFor: "token"] == "s3cret")
        #expect(await harness.with(input: "x").run("set", "token", "y", "--stdin").code == 64)
        var binary = harness
        // The second one is UTF-16.
        for bytes in [[0xFF], [0x78, 0], [0xFF, 0xFE, 0x78, 0]] as [[UInt8]] {
            binary.console.read = { bytes }
            #expect(await binary.run("set", "token", "--stdin").code == 65)
        }
        #expect(harness.suite[storedValueFor: "token"] == "s3cret")
    }

    @Test("set and unset name a layer that hides the change, and a restart that is necessary")
    func effects() async {
        let harness = CommandHarness(sources: [.environment(["ACME_PORT": "81"], prefix: "ACME_")])
        let result = await harness.run("set", "port", "82")
        #expect(result.code == 0)
        let messages = result.errors.split(separator: "\n")
        #expect(messages.count == 2)
        #expect(messages.first?.contains("another layer hides it: port = 81, given by ACME_PORT") == true)
        #expect(
            messages.last
                == "tool config: 'port' is changed. A program that is running uses the new value after a restart."
        )
        #expect(await harness.run("unset", "port").errors.contains("another layer hides it"))
        #expect(await harness.run("set", "ratio", "2").errors.isEmpty)
    }

    @Test("unset removes values in one transaction, those under old keys and those of no setting, too")
    func unset() async {
        let harness = CommandHarness(["max_limit": 5, "prot": 1, "level": "debug"])
        let changes = harness.suite.changes()
        #expect(await harness.run("unset", "level", "unknown").code == 64)
        #expect(harness.suite.keys.count == 3)
        #expect(await harness.run("unset", "level", "limit", "prot", "ratio").code == 0)
        #expect(harness.suite.keys == [])
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.keys == ["level", "max_limit", "prot"])
    }

    @Test("a failure to store is told apart by its exit code")
    func exitCodes() async throws {
        let codes: [(SettingsError.Code, Int32)] = [
            (.readOnly, 77), (.untrustedFile, 77), (.writeFailed, 74), (.lockTimedOut, 75), (.locationUnavailable, 73),
            (.malformedFile, 78), (.validationFailed, 65), (.requirementNotMet, 65), (.suiteFinished, 70),
        ]
        for (code, exit) in codes {
            #expect(CommandFailure(SettingsError(code, fact: "it failed")).code == exit)
        }
        let harness = CommandHarness()
        await harness.suite.finish()
        let result = await harness.run("set", "ratio", "1")
        #expect(result.code == 70)
        #expect(result.errors.hasPrefix("tool config: suite 'in memory'"))
    }

    @Test("a value can be set and removed while the settings file is malformed")
    func malformedFile() async throws {
        try await withSettingsPath { file in
            try file.overwriteFile(with: "{")
            let harness = CommandHarness(suite: SettingsSuite(fileAt: file, reporter: RecordingReporter()))
            #expect(await harness.run("set", "port", "81").code == 0)
            #expect(try file.fileContents == "{")
            #expect(await harness.run("get", "port").output == "81\n")
            #expect(await harness.run("validate").code == 78)
            #expect(await harness.run("unset", "port").code == 0)
            #expect(await harness.run("get", "port").output == "8080\n")
            #expect(try file.fileContents == "{")
        }
    }

    @Test("a reader of the output that has ended ends the command quietly")
    func brokenPipe() async {
        var harness = CommandHarness()
        harness.console.write = { _ in
            throw SystemError(call: .write, path: "standard output", number: Errno.brokenPipe)
        }
        #expect(await harness.run("list") == .init(code: 0, output: "", errors: ""))
        harness.console.write = { _ in throw SystemError(call: .write, path: "standard output", number: Errno.noSpace) }
        let result = await harness.run("list")
        #expect(result.code == 74)
        #expect(result.errors.contains("standard output"))
    }
}
