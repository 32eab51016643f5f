// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A member is addressed like a setting".

import StoredSettingsTesting
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("Members of structures by name")
struct StructureMemberTests {
    private let reporter = RecordingReporter()

    private struct Limits: Codable, Equatable, StoredValueConvertible {
        var perSecond = 100
        var burst = 20
        var isStrict = false
        var names: [String] = []
        var window: Int?
    }

    private struct Server: Codable, Equatable, StoredValueConvertible {
        var host = "localhost"
        var limits = Limits()
    }

    private func settings(
        _ contents: [String: StoredValue] = [:],
        _ sources: SettingsSource...
    ) -> (limits: Setting<Limits>, server: Setting<Server>, catalog: SettingsCatalog) {
        let suite = SettingsSuite.inMemory(contents, sources: sources + [.stored], reporter: reporter)
        let limits = Setting("rateLimit", default: Limits(), suite: suite)
        let server = Setting("server", default: Server(), suite: suite)
        return (limits, server, SettingsCatalog(limits, server))
    }

    @Test("flags and variables of members are read over the other sources, and explained")
    func overrides() {
        let (limits, server, catalog) = settings(
            ["rateLimit": ["perSecond": 7, "burst": 8], "server": ["limits": ["window": 3]]],
            .commandLine([
                "--rate-limit.burst", "9", "--rateLimit.names=a", "--rateLimit.names=b", "--rate-limit.is-strict",
                "--server.limits.per-second=1",
            ]),
            .environment(
                [
                    "ACME_RATE_LIMIT__BURST": "1", "ACME_RATE_LIMIT__WINDOW": "60", "ACME_SERVER__LIMITS__BURST": "2",
                    "ACME_SERVER__HOST": "10", "ACME_RATE_LIMIT": "burst=5",
                ],
                prefix: "ACME_"
            )
        )
        #expect(limits.value == Limits(perSecond: 7, burst: 9, isStrict: true, names: ["a", "b"], window: 60))
        #expect(server.value == Server(host: "10", limits: Limits(perSecond: 1, burst: 2, window: 3)))
        #expect(catalog["rateLimit.burst"]?.explain() == "rateLimit.burst = 9, given by --rate-limit.burst")
        #expect(catalog["rateLimit.perSecond"]?.layer == .store)
        #expect(catalog["server.limits.burst"]?.environmentVariable == "ACME_SERVER__LIMITS__BURST")
        #expect(catalog["server.limits.burst"]?.flag == "server.limits.burst")
        let flags = catalog.flatMap(\.members).compactMap(\.flag)
        #expect(flags.contains("rate-limit.burst") && flags.contains("server.limits.burst"), "\(flags)")
        #expect(catalog.findProblems().errors.isEmpty && catalog.findProblems().warnings.isEmpty)
        #expect(reporter.errors.isEmpty)
    }

    @Test("a wrong value of a member is reported with its source, and the next source is used")
    func wrong() throws {
        let variables = ["ACME_RATE_LIMIT__BURST": "many", "ACME_RATE_LIMIT__BRUST": "1"]
        let (limits, _, catalog) = settings(["rateLimit": ["burst": 8]], .environment(variables, prefix: "ACME_"))
        #expect(limits.value == Limits(burst: 8))
        let error = try #require(reporter.errors.first)
        #expect(error.fact.hasPrefix("ACME_RATE_LIMIT__BURST cannot be used"))
        #expect(error.path == [.key("burst")] && !"\(error)".contains("many"))
        let unknown = catalog.findProblems().errors.map(\.fact)
        #expect(unknown.contains("no setting has the environment variable ACME_RATE_LIMIT__BRUST"), "\(unknown)")
    }

    @Test("a member is set, read, explained and removed by its key, and the other members stay")
    func commands() async throws {
        let (limits, _, catalog) = settings(["rateLimit": ["perSecond": 7, "windowMs": 1]])
        let suite = limits.suite
        let command = CommandHarness(suite, catalog)
        #expect(await command.run("set", "rateLimit.burst=9", "server.limits.names=a,b").code == 0)
        #expect(await command.run("set", "server.host", "80").code == 0)
        #expect(suite[storedValueFor: "rateLimit"] == ["perSecond": 7, "windowMs": 1, "burst": 9])
        #expect(suite[storedValueFor: "server"] == ["limits": ["names": ["a", "b"]], "host": "80"])
        #expect(await command.run("get", "rateLimit.burst").output == "9\n")
        let explained = await command.run("explain", "server.limits.names").output
        #expect(explained == "server.limits.names = [\"a\",\"b\"], from the store\n")
        #expect(await command.run("get", "rateLimit.window").code == 1)
        let wrong = await command.run("set", "rateLimit.burst=x")
        #expect(wrong.code == 65 && wrong.errors.contains("at burst"), "\(wrong.errors)")
        let unknown = await command.run("get", "rateLimit.brust")
        #expect(unknown.code == 64 && unknown.errors.contains("Did you mean 'rateLimit.burst'?"), "\(unknown.errors)")
        #expect(await command.run("completion", "bash").output.contains("server.limits.perSecond"))
        #expect(await command.run("unset", "rateLimit.burst", "server.limits").code == 0)
        #expect(suite[storedValueFor: "rateLimit"] == ["perSecond": 7, "windowMs": 1])
        #expect(suite[storedValueFor: "server"] == ["host": "80"])
        #expect(await command.run("unset", "server.host").code == 0)
        #expect(suite[storedValueFor: "server"] == nil)
        try await catalog.set(["rateLimit.perSecond": "8", "server.limits.burst": "3"])
        try await catalog.set(values: ["server.limits.burst": nil, "rateLimit.burst": 5])
        #expect(limits.value == Limits(perSecond: 8, burst: 5))
        #expect(suite[storedValueFor: "server"] == nil)
        try await catalog["rateLimit.perSecond"]?.reset()
        #expect(limits.value == Limits(burst: 5))
        #expect(reporter.errors.isEmpty)
    }

    @Test("members of a secret structure are secret")
    func secret() async {
        let suite = SettingsSuite.inMemory(["limits": ["burst": 4711]], reporter: reporter)
        let limits = Setting("limits", default: Limits(), suite: suite, traits: .secret)
        let catalog = SettingsCatalog(limits)
        #expect(catalog["limits.burst"]?.text == "••••")
        #expect(catalog["limits.burst"]?.explain().contains("4711") == false)
        let command = CommandHarness(suite, catalog)
        let hidden = await command.run("get", "limits.burst")
        #expect(hidden.code == 64 && !hidden.errors.contains("4711"))
        #expect(await command.run("get", "limits.burst", "--reveal").output == "4711\n")
        #expect(await command.run("list").output.contains("4711") == false)
    }
}
