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
        #expect(error.path == [.key("burst")] && error.fact.contains("found a string") && !"\(error)".contains("many"))
        #expect(error.remedy == "set ACME_RATE_LIMIT__BURST to an integer that the setting accepts, or unset it")
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

    private struct Account: Codable, Equatable, StoredValueConvertible {
        var user = "guest"
        var password = "none"
        var attempts = 3
        var limits = Limits()
    }

    private func account(
        _ contents: [String: StoredValue] = [:],
        _ sources: SettingsSource...,
        isSecret: Bool = false
    ) -> (setting: Setting<Account>, catalog: SettingsCatalog) {
        let traits: SettingTraits = .members(
            .init("password", isSecret: isSecret, renamedFrom: "pass", "pwd"),
            .init("attempts", in: 1...10, help: "Attempts at a login."),
            .init("limits.burst", in: [20, 30], renamedFrom: "peak")
        )
        let suite = SettingsSuite.inMemory(contents, sources: sources + [.stored], reporter: reporter)
        let setting = Setting("account", default: Account(), suite: suite, traits: traits)
        return (setting, SettingsCatalog(setting))
    }

    @Test("valid values of a member are checked in every source, and in every change")
    func validMembers() async throws {
        let variables = SettingsSource.environment(["ACME_ACCOUNT__ATTEMPTS": "99"], prefix: "ACME_")
        let (setting, catalog) = account(["account": ["attempts": 0, "user": "a", "limits": ["burst": 25]]], variables)
        #expect(setting.value == Account())
        #expect(reporter.errors.map(\.path).contains([.key("attempts")]))
        #expect(
            reporter.errors.contains { $0.remedy == "set ACME_ACCOUNT__ATTEMPTS to a value in 1...10, or unset it" }
        )
        let wrong = Account(attempts: 11)
        #expect(throws: SettingsError.self) { try setting.set(wrong) }
        #expect(throws: SettingsError.self) { try setting.update { $0.limits.burst = 21 } }
        try await setting.set(Account(attempts: 10, limits: Limits(burst: 30)))
        #expect(throws: SettingsError.self) { try setting.update { $0.attempts += 1 } }
        #expect(setting.value.attempts == 10)
        let command = CommandHarness(setting.suite, catalog)
        #expect(await command.run("set", "account.attempts=11").code == 65)
        #expect(await command.run("set", "account.attempts=9").code == 0)
        let member = try #require(catalog["account.attempts"])
        #expect(member.help.summary == "Attempts at a login." && member.validValues == "1...10")
        #expect(catalog["account.limits.burst"]?.choices == ["20", "30"])
        struct Wrong: Codable, StoredValueConvertible { var size = 0 }
        let invalid = Setting("w", default: Wrong(), suite: .inMemory(), traits: .members(.init("size", in: 1...)))
        #expect(SettingsCatalog(invalid).findProblems().errors.map(\.code) == [.conflictingDeclarations])
    }

    @Test("the schema has help and valid values of members")
    func memberSchema() throws {
        let suite = SettingsSuite.inMemory()
        let traits: SettingTraits = .members(
            .init("burst", in: 1...9, help: "At once."),
            .init("perSecond", in: [1, 100])
        )
        let setting = Setting("limits", default: Limits(), suite: suite, traits: traits)
        let schema = try JSONReader.readObject(Array(SettingsCatalog(setting).jsonSchema().utf8), .strict)
        let members = StoredValue.dictionary(schema).part(at: ["properties", "limits", "properties"])
        let burst = members?["burst"]
        #expect(burst?["minimum"] == 1 && burst?["maximum"] == 9 && burst?["description"] == "At once.")
        #expect(members?["perSecond"]?["enum"] == [1, 100])
    }

    @Test("a secret member is in no text, and the other members are")
    func secretMember() async throws {
        let (setting, catalog) = account(["account": ["password": "hunter2", "user": "anna"]], isSecret: true)
        #expect(setting.value.password == "hunter2")
        let command = CommandHarness(setting.suite, catalog)
        var texts = [catalog.explain(), setting.explain().description, try catalog.json(), catalog.sampleFile()]
        texts += [await command.run("list").output, await command.run("explain").output]
        for words in [["export"], ["markdown"], ["schema"], ["sample"], ["validate"], ["list", "--json"]] {
            texts.append(await command.run(words).output)
        }
        let wrong = await command.run("set", #"account={"password": ["hunter2"]}"#, "account.attempts=hunter2")
        texts += [wrong.errors, await command.run("set", "account.password=hunter2", "account.attempts=99").errors]
        var changes = setting.suite.changes().makeAsyncIterator()
        try await setting.update { $0.password += "hunter2" }
        texts.append("\(String(describing: await changes.next()))")
        try await setting.update { $0.password = "hunter2" }
        texts += [catalog["account.password"]?.text ?? "", catalog["account.password"]?.explain() ?? ""]
        #expect(texts.allSatisfy { !$0.contains("hunter2") && !$0.contains("none") }, "\(texts)")
        #expect(catalog["account.user"]?.text == "anna" && catalog["account.user"]?.isSecret == false)
        #expect(await command.run("get", "account.user").output == "anna\n")
        #expect(await command.run("get", "account.password").code == 64)
        #expect(setting.isSecret && catalog["account"]?.text == "••••")
    }

    @Test("a member has the value of its old name, which the first change replaces")
    func renamedMember() async throws {
        let (setting, catalog) = account(
            ["account": ["pwd": "b", "pass": "a", "limits": ["peak": 30, "names": ["x"]]]],
            .environment(["ACME_ACCOUNT": #"{"user": "u"}"#], prefix: "ACME_")
        )
        #expect(setting.value == Account(user: "u", password: "a", limits: Limits(burst: 30, names: ["x"])))
        try await setting.update { $0.attempts = 4 }
        let expected: StoredValue = [
            "password": "a", "pwd": "b", "attempts": 4, "limits": ["burst": 30, "names": ["x"]],
        ]
        #expect(setting.suite[storedValueFor: "account"] == expected)
        #expect(catalog["account.limits.burst"]?.isSet == true)
        try await catalog["account.limits.burst"]?.reset()
        #expect(setting.value.limits.burst == 20)
        // Under both names, the old one is a member that the type does not have.
        #expect(catalog.findProblems().errors.map(\.code) == [.unknownKey])
        #expect(reporter.errors.isEmpty)
    }
}
