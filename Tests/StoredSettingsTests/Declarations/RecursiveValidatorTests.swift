// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import Synchronization
import Testing

@Suite("Validators that read settings")
struct RecursiveValidatorTests {
    /// Settings as they are written first: each of both limits compares itself with the other one.
    private struct Limits {
        let suite: SettingsSuite

        var low: Setting<Int> {
            Setting("low", default: 1, suite: suite, validate: { $0 <= Limits(suite: suite).high.value })
        }

        var high: Setting<Int> {
            Setting("high", default: 10, suite: suite, validate: { $0 >= Limits(suite: suite).low.value })
        }

        var own: Setting<Int> {
            Setting("own", default: 1, suite: suite, validate: { $0 <= 10 * Limits(suite: suite).own.value })
        }
    }

    /// The same as objects that last.
    private final class LastingLimits: Sendable {
        private let link = Mutex<(low: Setting<Int>, high: Setting<Int>)?>(nil)

        init(_ suite: SettingsSuite) {
            let low = Setting(
                "low",
                default: 1,
                suite: suite,
                validate: { [link = self] in $0 <= link.settings.high.value }
            )
            let high = Setting(
                "high",
                default: 10,
                suite: suite,
                validate: { [link = self] in $0 >= link.settings.low.value }
            )
            link.withLock { $0 = (low, high) }
        }

        var settings: (low: Setting<Int>, high: Setting<Int>) { link.withLock { $0! } }
    }

    private let reporter = RecordingReporter()

    @Test("validators that read each other's settings receive the values that they check, with one report")
    func eachOther() async throws {
        let limits = Limits(suite: .inMemory(["low": 2, "high": 5], reporter: reporter))
        #expect(limits.low.value == 2)
        #expect(limits.high.value == 5)
        try await limits.low.set(4)
        await #expect(throws: SettingsError.self) { try await limits.low.set(6) }
        try await limits.high.set(6)
        try await limits.low.set(6)
        #expect(limits.low.value == 6)
        #expect(limits.high.value == 6)
        #expect(try limits.low.load() == 6)
        #expect(reporter.errors.map(\.code).allSatisfy { $0 == .validationFailed })
        #expect(Set(reporter.errors.compactMap(\.key)) == ["low", "high"])
        #expect(reporter.errors.count == 2, "\(reporter.errors)")
    }

    @Test("stored values that two such validators reject are not used together")
    func edited() {
        let limits = Limits(suite: .inMemory(["low": 50, "high": 5], reporter: reporter))
        let values = (limits.low.value, limits.high.value)
        #expect(values.0 <= values.1)
        #expect(reporter.errors.contains { $0.consequence.contains("the stored value is left as it is") })
    }

    @Test("a value that is rejected has no effect on the settings that its validator has read")
    func rejected() throws {
        let store = InMemoryStore(["low": 2, "high": 5])
        let limits = LastingLimits(SettingsSuite(store: store, reporter: reporter)).settings
        #expect(limits.low.value == 2 && limits.high.value == 5)
        try store.commit { $0["low"] = 50 }
        #expect(limits.low.value == 2)
        #expect(limits.high.value == 5)
        let unusable = reporter.errors.filter { $0.consequence.contains("the stored value is left as it is") }
        #expect(unusable.map(\.key) == ["low"], "\(reporter.errors)")
    }

    @Test("a requirement is checked with the stored values, also if the check begins in a validator")
    func requirement() throws {
        let store = InMemoryStore(["least": 3, "most": 10])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let limit = Setting("limit", default: 1, suite: suite)
        let isFirst = Mutex(true)
        let least = Setting(
            "least",
            default: 1,
            suite: suite,
            validate: { _ in
                if isFirst.withLock({ exchange(&$0, with: false) }) { try store.commit { $0["least"] = 30 } }
                return limit.value == 1
            }
        )
        let most = Setting("most", default: 10, suite: suite)
        SettingsCatalog(least, most).require("least is at most most", least, most) { $0 <= $1 }
        _ = least.value
        #expect(least.value <= most.value)
        #expect(reporter.errors.map(\.code) == [.requirementNotMet])
    }

    @Test("a rejected value of a source does not hide those of other settings")
    func rejectedSource() {
        let variables = SettingsSource.environment(["LOW": "50"], prefix: "")
        let flags = SettingsSource.commandLine(["--low", "2", "--high", "5"])
        let suite = SettingsSuite.inMemory(sources: [variables, flags], reporter: reporter)
        let limits = LastingLimits(suite).settings
        #expect(limits.low.value == 2)
        #expect(limits.high.value == 5)
    }

    @Test("a validator that reads its own setting receives the value that it checks, from each source")
    func own() async throws {
        let flags = SettingsSource.commandLine(["--own", "7"])
        for sources in [[], [flags]] {
            let suite = SettingsSuite.inMemory(["own": 3], sources: sources, reporter: reporter)
            #expect(Limits(suite: suite).own.value == (sources.isEmpty ? 3 : 7))
            #expect(try Limits(suite: suite).own.load() == 3)
        }
        #expect(reporter.errors.map(\.key) == ["own", "own"])
    }
}
