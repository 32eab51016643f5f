// SPDX-License-Identifier: Apache-2.0

import StoredSettingsCommand
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Changing several settings from texts")
struct CatalogChangeTests {
    private let reporter = RecordingReporter()
    private let store = FailingStore()
    private let suite: SettingsSuite
    private let (soft, hard): (Setting<Int>, Setting<Int>)
    private let pace: Setting<Pace>
    private let token: Setting<String>
    private let catalog: SettingsCatalog

    private struct Pace: Codable, StoredValueConvertible, Equatable, Sendable {
        var perSecond = 10
        var burst = 1
    }

    init() {
        suite = SettingsSuite(store: store, name: "limits", reporter: reporter)
        soft = Setting("soft", default: 10, suite: suite, in: 0...100)
        hard = Setting("hard", default: 20, suite: suite, in: 0...100)
        pace = Setting("pace", default: Pace(), suite: suite)
        token = Setting("token", default: "", suite: suite, traits: .secret)
        catalog = SettingsCatalog(soft, hard, pace, token)
        catalog.require("soft is at most hard", soft, hard) { $0 <= $1 }
        catalog.require("burst is at least 1", pace) { $0.burst >= 1 }
    }

    private func problems(_ body: () async throws -> Void) async -> [SettingsError] {
        let error = await #expect(throws: SettingsValidationError.self) { try await body() }
        return error?.problems ?? []
    }

    @Test("values that are allowed only together are stored in one transaction")
    func together() async throws {
        let changes = suite.changes()
        try await catalog.set(["soft": "60", "hard": "70", "pace": "burst=5"])
        #expect(suite.read(soft, hard) == (60, 70))
        #expect(pace.value == Pace(perSecond: 10, burst: 5))
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.keys.sorted() == ["hard", "pace", "soft"])
        try await catalog.set(values: ["soft": 80, "hard": 90])
        #expect(suite.read(soft, hard) == (80, 90))
        try await catalog.set(values: ["soft": .null, "hard": .null])
        #expect(!soft.isSet && !hard.isSet)
    }

    @Test("all problems are listed by key, and nothing is changed")
    func listed() async throws {
        let texts = ["soft": "x", "hard": "101", "hrd": "1", "pace": "bust=5", "token": "••••"]
        let errors = await problems { try await catalog.set(texts) }
        #expect(errors.map(\.key) == ["hard", "hrd", "pace", "soft", "token"])
        #expect(errors.allSatisfy { $0.consequence == "nothing is changed" }, "\(errors)")
        #expect(errors[1].remedy.contains("'hard'"))
        let values: [String: StoredValue] = ["soft": "x", "hard": 101, "pace": ["bust": 5], "token": "••••"]
        #expect(
            await problems { try await catalog.set(values: values) }.map(\.key) == ["hard", "pace", "soft", "token"]
        )
        #expect(store.contents().isEmpty && reporter.errors.isEmpty)
    }

    @Test("a requirement that would not be met is a problem, also with a part of a value")
    func requirement() async throws {
        for texts in [["soft": "60"], ["soft": "60", "pace": "burst=5"]] {
            #expect(await problems { try await catalog.set(texts) }.map(\.code) == [.requirementNotMet])
        }
        #expect(store.contents().isEmpty)
    }

    @Test("a managed key, and a requirement on a part, are problems before another store is changed")
    func checkedFirst() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"managed": 7}"#)
            let managing = SettingsSuite.inMemory(sources: [.managed(path)], reporter: reporter)
            let other = Setting("a", default: 0, suite: .inMemory())
            let managed = Setting("managed", default: 0, suite: managing)
            let all = SettingsCatalog(other, managed, soft, pace)
            let texts = ["a": "5", "managed": "6", "soft": "many"]
            #expect(await problems { try await all.set(texts) }.map(\.code) == [.managed, .typeMismatch])
            let codes = await problems { try await all.set(["a": "5", "pace": "burst=0"]) }.map(\.code)
            #expect(codes == [.requirementNotMet])
            #expect(!other.isSet)
        }
    }

    @Test("if one store is changed and another one fails, the error says so")
    func partly() async throws {
        let other = Setting("other", default: 0, suite: .inMemory())
        store.fail(with: SettingsError(.writeFailed, fact: "the disk is full"))
        let both = SettingsCatalog(other, soft)
        // The suites are changed in the order of the keys.
        let error = await expectError(.partlyStored) { try await both.set(["other": "1", "soft": "2"]) }
        #expect(error?.fact == "the disk is full" && error?.consequence.contains("'in memory'") == true)
        #expect(other.value == 1 && soft.value == 10)
        await expectError(.writeFailed) { try await both.set(["soft": "2"]) }
    }

    @Test("the command prints the same JSON, without secrets, to a given output")
    func output() async throws {
        token.value = "s3cret"
        let (lines, messages) = (CallLog<String>(), CallLog<String>())
        let command = SettingsCommand(catalog, output: { lines.add($0) }, errors: { messages.add($0) })
        #expect(await command.run(["list", "--json"]) == 0)
        #expect(try lines.all.joined() == catalog.json())
        #expect(!lines.all.joined().contains("s3cret"))
        #expect(await command.run(["get", "soft"]) == 0)
        #expect(lines.all.last == "10\n")
        #expect(await command.run(["get", "sof"]) != 0)
        #expect(messages.all.joined().contains("'soft'"))
        #expect(catalog["token"]?.value == "••••" && catalog["soft"]?.value == 10)
        #expect(catalog["pace"]?.value == ["perSecond": 10, "burst": 1])
    }
}
