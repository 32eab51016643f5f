// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A part of a structure that is stored as text")
struct PartialTextTests {
    private let reporter = RecordingReporter()

    /// A structure whose members need not be stored.
    private struct Lenient: Codable, Equatable, StoredValueConvertible {
        var burst = 20
        var perSecond = 100

        enum CodingKeys: CodingKey { case burst, perSecond }

        init() {}

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            burst = try container.decodeIfPresent(Int.self, forKey: .burst) ?? 20
            perSecond = try container.decodeIfPresent(Int.self, forKey: .perSecond) ?? 100
        }
    }

    private func pace(
        _ stored: StoredValue? = nil,
        sources: [SettingsSource] = []
    ) -> (setting: Setting<Pace>, text: AnySetting) {
        let values = stored.map { ["pace": $0] } ?? [:]
        let suite = SettingsSuite.inMemory(values, sources: sources, reporter: reporter)
        let setting = Setting("pace", default: Pace(), suite: suite)
        return (setting, SettingsCatalog(setting)[0])
    }

    @Test("set(text:) takes the members that the text lacks from the stored value, those that may be missing included")
    func stored() throws {
        let (pace, text) = pace()
        try text.set(text: "burst=5")
        try text.set(text: "perSecond=50")
        #expect(pace.value == Pace(perSecond: 50, burst: 5))
        try text.set(text: "note=x")
        try text.set(text: #"{"burst": 6}"#)
        #expect(pace.value == Pace(perSecond: 50, burst: 6, note: "x"))
        #expect(pace.suite[storedValueFor: "pace"] == ["perSecond": 50, "burst": 6, "note": "x"])
        try text.set(text: #"{"burst": 7, "perSecond": 70, "note": null}"#)
        #expect(pace.value == Pace(perSecond: 70, burst: 7), "null is the nil of a member")
        #expect(reporter.errors.isEmpty)
    }

    @Test("a part is stored alone, so that the other members come from the layers")
    func layers() throws {
        let fleet = SettingsSuite.inMemory(["pace": ["perSecond": 9, "burst": 8]])
        let (pace, text) = pace(sources: [.commandLine(["--pace", "burst=1"]), .suite(fleet)])
        try text.set(text: "perSecond=3")
        #expect(pace.suite[storedValueFor: "pace"] == ["perSecond": 3])
        #expect(pace.value == Pace(perSecond: 3, burst: 1))
    }

    @Test("if the stored value is unusable, the members come from the default")
    func unusable() throws {
        let (pace, text) = pace("x")
        try text.set(text: "burst=5")
        #expect(pace.value == Pace(burst: 5))
    }

    @Test("pairs change the members that they name, also of a type that requires none")
    func lenient() throws {
        let setting = Setting("limits", default: Lenient(), suite: .inMemory())
        let text = SettingsCatalog(setting)[0]
        try text.set(text: "burst=5")
        try text.set(text: "perSecond=50")
        #expect(setting.value.burst == 5 && setting.value.perSecond == 50)
        let error = #expect(throws: SettingsError.self) { try text.set(text: "brust=6") }
        #expect(error?.fact == "the setting has no member 'brust'")
        #expect(setting.value.burst == 5)
    }

    @Test("the pairs of a dictionary are the whole dictionary")
    func dictionaries() throws {
        let setting = Setting("weights", default: ["a": 1], suite: .inMemory())
        try SettingsCatalog(setting)[0].set(text: "b=2")
        #expect(setting.value == ["b": 2])
    }

    @Test("a misspelled member is refused with the one that was probably meant, and nothing changes")
    func misspelled() throws {
        let (pace, text) = pace(["perSecond": 7, "burst": 8])
        for member in ["brust=1", #"{"brust": 1}"#] {
            let error = #expect(throws: SettingsError.self) { try text.set(text: member) }
            #expect(error?.fact == "the setting has no member 'brust'")
            #expect(error?.remedy.contains("burst") == true)
            #expect(error?.consequence == "the setting keeps the value it had")
        }
        #expect(pace.suite[storedValueFor: "pace"] == ["perSecond": 7, "burst": 8])
    }

    @Test("two threads that set different members lose no change")
    func atomicity() throws {
        let (pace, text) = pace()
        DispatchQueue.concurrentPerform(iterations: 2) { index in
            for number in 1...200 {
                do {
                    try text.set(text: index == 0 ? "burst=\(number)" : "perSecond=\(number)")
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(pace.value == Pace(perSecond: 200, burst: 200))
    }

    @Test("a whole value can be set while the settings file is malformed, and a part cannot")
    func malformedFile() async throws {
        try await withFileSuite(contents: "{", reporter: reporter) { suite, _ in
            let pace = Setting("pace", default: Pace(), suite: suite)
            let text = SettingsCatalog(pace)[0]
            let error = #expect(throws: SettingsError.self) { try text.set(text: "burst=5") }
            #expect(error?.consequence == "the setting keeps the value it had")
            try await text.set(text: #"{"burst": 5, "perSecond": 6, "note": null}"#)
            #expect(pace.value == Pace(perSecond: 6, burst: 5))
        }
    }

    @Test("config set takes the members that the text lacks from the stored value")
    func command() async throws {
        let (pace, _) = pace()
        let harness = CommandHarness(pace.suite, SettingsCatalog(pace))
        #expect(await harness.run("set", "pace=burst=5").code == 0)
        #expect(await harness.run("set", "pace", "perSecond=50").code == 0)
        #expect(pace.value == Pace(perSecond: 50, burst: 5))
    }

    @Test("config set keeps a member that another thread sets meanwhile")
    func concurrentCommand() async throws {
        let (pace, _) = pace()
        let other = Setting("other", default: 0, suite: pace.suite)
        let isSet = Atomic(false)
        // The values are converted before they are stored, and this validator runs in between.
        let late = Setting("late", default: 0, suite: pace.suite) { _ in
            if !isSet.exchange(true, ordering: .relaxed) {
                do { try onAnotherThread { try pace.set(Pace(perSecond: 50, burst: 1)) } } catch { Issue.record(error) }
            }
            return true
        }
        let harness = CommandHarness(pace.suite, SettingsCatalog(pace, other, late))
        #expect(await harness.run("set", "other=1", "pace=burst=5", "late=2").code == 0)
        #expect(pace.value == Pace(perSecond: 50, burst: 5))
        #expect(other.value == 1 && late.value == 2)
    }

    @Test("the text that stands for a secret is no value of it")
    func placeholder() async throws {
        let suite = SettingsSuite.inMemory(["token": "hush"])
        let catalog = SettingsCatalog(Setting<String?>("token", default: nil, suite: suite, traits: .secret))
        let token = try #require(catalog["token"])
        let text = try #require(token.text)
        let error = #expect(throws: SettingsError.self) { try token.set(text: text) }
        #expect(error?.fact == "the value stands for a secret that is not shown")
        #expect(throws: SettingsError.self) { try token.check(text: text) }
        let harness = CommandHarness(suite, catalog)
        #expect(await harness.run("set", "token=\(text)").code == 65)
        #expect(await harness.with(input: text).run("set", "token", "--stdin").code == 65)
        #expect(suite[storedValueFor: "token"] == "hush")
    }
}
