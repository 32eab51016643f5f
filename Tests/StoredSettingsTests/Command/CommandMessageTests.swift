// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("Messages of commands")
struct CommandMessageTests {
    enum Level: String, CaseIterable, StoredValueConvertible { case trace, debug, info, error, critical }

    private struct Reason: Error, CustomStringConvertible { let description = "burst is more than a second's worth" }

    struct Service: Sendable {
        @DefaultStorage(key: "port", in: 1...65_535) var port = 80
        @DefaultStorage(key: "size", in: 1...) var size = 5
        @DefaultStorage(key: "most", in: ...9) var most = 5
        @DefaultStorage(key: "less", in: ..<9) var less = 5
        @DefaultStorageOptional(key: "maybe", in: 1...9) var maybe: Int?
        @DefaultStorage(key: "ratio", in: 0...1) var ratio = 0.5
        @DefaultStorage(key: "level", in: [Level.info, .error]) var level = Level.info
        @DefaultStorage(key: "anyLevel") var anyLevel = Level.info
        @DefaultStorage(key: "ports") var ports = [80]
        @DefaultStorage(key: "ratios") var ratios: Set<Double> = [0.5]
        @DefaultStorage(key: "switches") var switches = [true]
        @DefaultStorage(key: "levels") var levels = [Level.info]
        @DefaultStorage(key: "range") var range = 1...2
        @DefaultStorage(key: "pace", validate: { try Service.check($0) }) var pace = Pace()
        @DefaultStorage(key: "strict", validate: { try Service.checkStrictly($0) }) var strict = Pace()
        @DefaultStorageOptional(key: "token") var token: String?

        private static func check(_ pace: Pace) throws -> Bool {
            guard pace.burst <= pace.perSecond else { throw Reason() }
            return true
        }

        private static func checkStrictly(_ pace: Pace) throws -> Bool {
            guard pace.burst <= pace.perSecond else { throw SettingsError.invalidValue("burst is too large") }
            return true
        }
    }

    private struct Tokens {
        @DefaultStorageOptional(key: "token", traits: .secret) var token: String?
    }

    private func harness(_ values: [String: StoredValue] = [:], _ sources: [SettingsSource] = []) -> CommandHarness {
        let suite = SettingsSuite.inMemory(values, sources: sources, reporter: RecordingReporter())
        return CommandHarness(suite, SettingsSuite.withStandard(suite) { SettingsCatalog(Service()) })
    }

    @Test(
        "a refused text has a fix that names the valid values of the setting",
        arguments: [
            ("port=abc", "Use an integer in 1...65535."), ("size=abc", "Use an integer of at least 1."),
            ("maybe=abc", "Use an integer in 1...9."), ("ratio=x", "Use a number in 0.0...1.0."),
            ("size=0", "the value is below 1. Nothing is changed. Use a value of at least 1."),
            ("most=10", "the value is above 9. Nothing is changed. Use a value of at most 9."),
            ("less=9", "the value is not less than 9. Nothing is changed. Use a value less than 9."),
            ("level=loud", "Use one of info, error."), ("level=critical", "Use a value out of info, error."),
            ("anyLevel=loud", "that is not a valid Level. Nothing is changed. Use one of trace, "),
            ("ports=a,b", "Use a list of integers, such as 1,2, or a JSON array."),
            ("ratios=a,b", "Use a list of numbers, such as 0.5,2, or a JSON array."),
            ("switches=5,7", "Use a list of Booleans, such as true,false, or a JSON array."),
            (
                "levels=a",
                "at [0]: found a string that is not a valid Level. Nothing is changed. Use one"
            ),
            ("range=a,b", "Use a list of integers, such as 1,2, or a JSON array."),
            (
                "pace=burst=500",
                "burst is more than a second's worth. Nothing is changed. Use a value that the validator"
            ),
            ("strict=burst=500", "burst is too large. Nothing is changed. Use a value that the validator accepts."),
            ("pace=burst=1,burst=2", "the name 'burst' occurs twice"),
            ("pace=brust=1", "the setting has no member 'brust'. Nothing is changed. Use 'burst' if that is meant."),
        ] as [(String, String)]
    )
    func texts(assignment: String, message: String) async {
        let harness = harness()
        let result = await harness.run("set", assignment)
        #expect(result.code == 65)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(harness.suite.keys == [])
    }

    @Test(
        "a refused value in a file to import has a fix for JSON",
        arguments: [
            (#"{"ports": "a,b"}"#, "Use a JSON array of integers."),
            (#"{"ports": 5}"#, "Use a JSON array of integers."),
            (#"{"levels": 5}"#, "Use a JSON array of values out of trace, "),
            (#"{"pace": 5}"#, "Use a JSON object that the setting accepts."),
            (#"{"token": null}"#, "expected a string, found null. Nothing is changed. Remove the member."),
            (#"{"port": 1, "port": 2}"#, "an object contains the name 'port' twice"),
        ] as [(String, String)]
    )
    func imports(text: String, message: String) async {
        let result = await harness().with(input: text).run("import", "-")
        #expect(result.code == 65)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(!result.errors.contains("name=value") && !result.errors.contains("such as"))
    }

    @Test("a null for an optional without a default is to be removed from the file")
    func null() async throws {
        try await withFileSuite(contents: "{\n  \"token\": null\n}", reporter: RecordingReporter()) { suite, _ in
            let catalog = SettingsSuite.withStandard(suite) { SettingsCatalog(Tokens()) }
            let errors = catalog.findProblems(unknownKeys: .accept).errors
            #expect(errors.map(\.remedy) == ["remove the member"])
            let open = SettingsSuite.withStandard(suite) { SettingsCatalog(Service()) }
            #expect(open.findProblems(unknownKeys: .accept).errors.map(\.remedy) == ["remove the member"])
        }
    }

    @Test("a base beneath the store hides no change")
    func base() async {
        let fleet = SettingsSuite.inMemory(["port": 1])
        let suite = SettingsSuite.inMemory(["port": 2], sources: [.suite(fleet)], reporter: RecordingReporter())
        let harness = CommandHarness(suite, SettingsCatalog(Setting("port", default: 80, suite: suite)))
        #expect(await harness.run("unset", "port") == .init(code: 0, output: "", errors: ""))
        #expect(await harness.run("get", "port").output == "1\n")
        #expect(await harness.run("set", "port", "5") == .init(code: 0, output: "", errors: ""))
    }
}
