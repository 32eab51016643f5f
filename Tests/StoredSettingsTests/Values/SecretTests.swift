// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsFoundation
import StoredSettingsTesting
import Testing

@testable import StoredSettingsCommand

@Suite("Secrets")
struct SecretTests {
    struct Database: Codable, Equatable, StoredValueConvertible {
        var host = "localhost"
        var password: Secret<String>?
    }

    enum Login: Codable, Equatable, StoredValueConvertible {
        case none
        case password(Secret<String>)
    }

    static let text = "hunter2"
    static let secret = Secret(text)

    @Test("no text of a secret contains its value")
    func texts() {
        let database = Database(password: Self.secret)
        var dumped = ""
        dump(database, to: &dumped)
        for text in [
            "\(Self.secret)", String(describing: Self.secret), String(reflecting: Self.secret), "\(database)",
            "\([Self.secret])",
            String(reflecting: database), dumped,
        ] {
            #expect(!text.contains(Self.text))
        }
        #expect("\(Self.secret)" == "••••")
        #expect(Self.secret.reveal() == Self.text)
        #expect(Self.secret == Secret(Self.text) && Self.secret != Secret(""))
    }

    @Test("a secret is stored like its value, also inside a structure")
    func storedForm() throws {
        #expect(try Self.secret.storedValue() == .string(Self.text))
        #expect(try Secret<Int>(storedValue: 5).reveal() == 5)
        let stored: StoredValue = ["host": "localhost", "password": .string(Self.text)]
        #expect(try Database(password: Self.secret).storedValue() == stored)
        #expect(try Database(storedValue: stored) == Database(password: Self.secret))
    }

    @Test("the encoder of another library writes no value, unless it is asked to reveal it")
    func otherEncoders() throws {
        let encoder = JSONEncoder()
        #expect(String(decoding: try encoder.encode([Self.secret]), as: UTF8.self) == #"["••••"]"#)
        encoder.userInfo[.revealsSecrets] = true
        #expect(String(decoding: try encoder.encode([Self.secret]), as: UTF8.self) == #"["hunter2"]"#)
        #expect(try JSONDecoder().decode([Secret<String>].self, from: Data(#"["hunter2"]"#.utf8)) == [Self.secret])
    }

    @Test("a bridge that stores JSON stores the value")
    func legacyJSON() throws {
        let mistaken = Secret(#""text""#)
        let suite = SettingsSuite.inMemory()
        let setting = Setting("token", default: Secret(""), suite: suite, as: LegacyJSON())
        setting.value = mistaken
        #expect(setting.value == mistaken)
        #expect("\(suite[storedValueFor: "token"] ?? .null)".contains("text"))
    }

    /// What the library makes for people of the setting with the key `key`.
    private func shown<Value>(_ setting: Setting<Value>, _ change: () -> Void) async throws -> [String] {
        let catalog = SettingsCatalog(setting)
        var changes = setting.suite.changes().makeAsyncIterator()
        let events = CallLog<String>()
        let observation = setting.observe { events.add("\($0)") }
        change()
        let raw = try #require(await changes.next())
        withExtendedLifetime(observation) {}
        return try [
            "\(setting.explain())", catalog[0].text ?? "", catalog[0].explain(), "\(catalog.json())",
            catalog.sampleFile(), catalog.jsonSchema(), catalog.markdown(), "\(raw)",
        ] + events.all
    }

    @Test("a setting of a secret is secret by itself")
    func setting() async throws {
        let setting = Setting("token", default: Self.secret, suite: .inMemory())
        for text in try await shown(setting, { setting.value = Secret("hunter23") }) {
            #expect(!text.contains(Self.text))
        }
        let optional = Setting<Secret<String>?>("token", suite: .inMemory())
        for text in try await shown(optional, { optional.value = Self.secret }) { #expect(!text.contains(Self.text)) }
        #expect(optional.explain().description.contains("••••"))
        // What is no secret is in all of them but the sample, the schema and the table, which have the default.
        let plain = Setting("name", default: "", suite: .inMemory())
        #expect(try await shown(plain, { plain.value = Self.text }).filter { $0.contains(Self.text) }.count == 6)
    }

    @Test("a setting of a structure with a secret is secret, even while the structure has none")
    func structure() async throws {
        let setting = Setting("db", default: Database(), suite: .inMemory())
        #expect(setting.explain().description == "db = ••••, the default")
        let new = Database(password: Self.secret)
        for text in try await shown(setting, { setting.value = new }) { #expect(!text.contains(Self.text)) }
    }

    @Test("a structure without a default, an enum and a computed default are secret as soon as a value is")
    func later() async throws {
        let optional = Setting<Database?>("db", suite: .inMemory())
        let new = Database(password: Self.secret)
        for text in try await shown(optional, { optional.value = new }) { #expect(!text.contains(Self.text)) }
        let login = Setting("login", default: Login.none, suite: .inMemory())
        #expect(login.explain().description.contains("none"))
        for text in try await shown(login, { login.value = .password(Self.secret) }) {
            #expect(!text.contains(Self.text))
        }
        let key = SettingKey<[Database]>("databases", default: { [Database(password: Self.secret)] })
        let computed = Setting(key, suite: .inMemory())
        for text in try await shown(computed, { computed.value = [new, new] }) { #expect(!text.contains(Self.text)) }
    }

    @Test("a secret in a value that another process has stored is hidden in a stream of raw changes")
    func rawChanges() async throws {
        let suite = SettingsSuite.inMemory()
        let setting = Setting("db", default: Database(), suite: suite)
        var changes = suite.changes().makeAsyncIterator()
        try await suite.setStoredValue(["host": "a", "password": .string(Self.text)], forKey: setting.key)
        #expect(!"\(try #require(await changes.next()))".contains(Self.text))
    }

    struct Server: Codable, StoredValueConvertible {
        var aport = 1
        var database: Database?
    }

    struct Token: RawRepresentable, StoredValueConvertible, Equatable {
        var rawValue: Secret<String>
    }

    /// A setting whose stored value contains a secret, and was not read.
    private func settings(of kind: Int) -> any CatalogSetting {
        let database: StoredValue = ["host": "a", "password": .string(Self.text)]
        func setting<Value: StoredValueConvertible & Sendable>(_ value: Value, _ stored: StoredValue)
            -> any CatalogSetting
        {
            Setting("s", default: value, suite: .inMemory(["s": stored]))
        }
        return switch kind {
        case 0: setting([Database](), [database])
        case 1: setting([String: Database](), ["a": database])
        case 2: Setting<Database?>("s", suite: .inMemory(["s": database]))
        case 3: setting(Login.none, ["password": ["_0": .string(Self.text)]])
        case 4: setting(Server(), ["aport": 2, "database": database])
        case 5: setting(Server(), ["aport": "not a number", "database": database])
        case 6: setting(Token(rawValue: Secret("")), .string(Self.text))
        default: Setting<Token?>("s", suite: .inMemory(["s": .string(Self.text)]))
        }
    }

    @Test("a stored secret that was not read is neither exported nor shown, and is kept by an import", arguments: 0..<8)
    func unread(kind: Int) async throws {
        for arguments in [
            ["export"], ["export", "--force"], ["list"], ["list", "--json"], ["explain"], ["validate"], ["schema"],
            ["sample"],
        ] {
            let setting = settings(of: kind)
            let harness = CommandHarness(setting.suite, SettingsCatalog(AnySetting(setting, declaration: "s")))
            let result = await harness.run(arguments)
            #expect(!(result.output + result.errors).contains(Self.text))
        }
        let setting = settings(of: kind)
        let harness = CommandHarness(setting.suite, SettingsCatalog(AnySetting(setting, declaration: "s")))
        let stored = setting.suite.snapshot()
        #expect(await harness.with(input: "{}").run("import", "--replace", "-").code == 0)
        #expect(setting.suite.snapshot() == stored)
    }

    @Test("a change of a secret that was not read is hidden in a stream of raw changes", arguments: 0..<8)
    func unreadChange(kind: Int) async throws {
        let setting = settings(of: kind)
        let stored = setting.suite[storedValueFor: "s"]
        try await setting.suite.setStoredValue(nil, forKey: "s")
        var changes = setting.suite.changes().makeAsyncIterator()
        try await setting.suite.setStoredValue(stored, forKey: "s")
        let change = try #require(await changes.next())
        #expect(!"\(change)".contains(Self.text))
    }

    @Test("no text of a transaction, a snapshot or an iterator contains a value")
    func otherTexts() throws {
        struct Settings { let token: Setting<String> }
        let suite = SettingsSuite.inMemory(["token": .string(Self.text)])
        let settings = Settings(token: Setting("token", default: "", suite: suite, traits: .secret))
        var texts: [String] = []
        func add<Value>(_ value: Value) {
            var dumped = ""
            dump(value, to: &dumped)
            texts += ["\(value)", String(reflecting: value), dumped]
        }
        try suite.transaction { add($0) }
        add(SettingsSnapshot(settings))
        add(settings.token.values.makeAsyncIterator())
        add(settings.token.changes().makeAsyncIterator())
        #expect(texts.allSatisfy { !$0.contains(Self.text) })
    }

    @Test("the text that stands for a secret does not replace one")
    func placeholder() throws {
        let suite = SettingsSuite.inMemory()
        let setting = Setting("db", default: Database(password: Self.secret), suite: suite)
        #expect(throws: SettingsError.self) { try setting.set(Database(password: Secret("••••"))) }
        let catalog = SettingsCatalog(setting)
        #expect(throws: SettingsError.self) { try catalog[0].set(text: "password=••••") }
        #expect(throws: SettingsError.self) { try catalog[0].set(text: #"{"host": "b", "password": "••••"}"#) }
        try suite.setStoredValue(["host": "b", "password": "••••"], forKey: "db")
        #expect(setting.value == Database(password: Self.secret))
        let list = Setting("list", default: [Self.secret], suite: suite)
        #expect(throws: SettingsError.self) { try list.set([Secret("••••")]) }
    }

    @Test("a schema describes the values of secrets, also in collections")
    func schema() {
        let suite = SettingsSuite.inMemory()
        let secrets = [
            AnySetting(Setting("a", default: [Secret(1)], suite: suite), declaration: ""),
            AnySetting(Setting("b", default: ["x": Secret(1)], suite: suite), declaration: ""),
            AnySetting(Setting<[Secret<Int>]?>("c", suite: suite), declaration: ""),
            AnySetting(Setting<Set<Secret<Int>>>("d", default: [], suite: suite), declaration: ""),
        ]
        let plain = [
            AnySetting(Setting<[Int]>("a", default: [], suite: suite), declaration: ""),
            AnySetting(Setting<[String: Int]>("b", default: [:], suite: suite), declaration: ""),
            AnySetting(Setting<[Int]?>("c", suite: suite), declaration: ""),
            AnySetting(Setting<Set<Int>>("d", default: [], suite: suite), declaration: ""),
        ]
        for (secret, plain) in zip(secrets, plain) {
            let type = SettingsCatalog(secret).jsonSchema()
            #expect(
                !type.contains("default")
                    && type.contains("items") == SettingsCatalog(plain).jsonSchema().contains("items")
            )
        }
    }

    @Test("a flag and a variable set a secret")
    func overrides() {
        let sources: [SettingsSource] = [
            .commandLine(["--token", "5"]), .environment(["ACME_PIN": "7"], prefix: "ACME_"),
        ]
        let suite = SettingsSuite.inMemory(sources: sources)
        #expect(Setting("token", default: Self.secret, suite: suite).value.reveal() == "5")
        #expect(Setting("pin", default: Secret(1), suite: suite).value.reveal() == 7)
    }
}
