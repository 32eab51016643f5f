// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
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
