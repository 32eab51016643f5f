// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("SettingsCatalog", .deadlockLimit)
struct SettingsCatalogTests {
    enum Level: String, CaseIterable, StoredValueConvertible { case debug, info }
    enum Mode: Int, CaseIterable, StoredValueConvertible { case slow, fast }
    struct Limits: Codable, Equatable, StoredValueConvertible { var burst = 1 }

    struct Server {
        @DefaultStorage(key: "port", in: 1...65_535, help: "Port to listen on.", traits: .requiresRestart) var port =
            8080
        @DefaultStorage(key: "level") var level = Level.info
        @DefaultStorageOptional(key: "mode") var mode: Mode?
        @DefaultStorage(key: "limits") var limits = Limits()
        @DefaultStorageOptional(key: "token", traits: .secret) var token: String?
        var database = Database()
        var name = "not a setting"
    }

    struct Database {
        @DefaultStorage(key: "db.hosts") var hosts = ["localhost"]
        let timeout = Setting("db.timeout", default: 1.5)
    }

    class Base {
        @DefaultStorage(key: "base") var base = true
        var other: Derived?
    }

    final class Derived: Base {
        @DefaultStorage(key: "derived") var derived = 2
        var pair: (Database, Int)? = (Database(), 1)
    }

    private func catalog(
        _ values: [String: StoredValue] = [:],
        sources: [SettingsSource] = []
    ) -> (SettingsCatalog, SettingsSuite) {
        let suite = SettingsSuite.inMemory(values, sources: sources)
        return (SettingsSuite.withStandard(suite) { SettingsCatalog(Server()) }, suite)
    }

    @Test("contains the settings of structs inside of each other, in the order of declaration")
    func structs() {
        let (catalog, suite) = catalog()
        #expect(catalog.map(\.key) == ["port", "level", "mode", "limits", "token", "db.hosts", "db.timeout"])
        #expect(catalog.map(\.declaration).prefix(1) == ["Server.port"])
        #expect(catalog["db.hosts"]?.declaration == "Server.database.hosts")
        #expect(catalog["db.timeout"]?.declaration == "Server.database.timeout")
        #expect(catalog.allSatisfy { $0.suite == suite } as Bool)
        #expect(catalog["name"] == nil)
    }

    @Test("contains the settings of classes, superclasses, optionals and tuples, also if objects refer to each other")
    func classes() {
        SettingsSuite.withStandard(.inMemory()) {
            let derived = Derived()
            derived.other = derived
            let catalog = SettingsCatalog(derived, 1, "x", [Server()])
            #expect(catalog.map(\.key).sorted() == ["base", "db.hosts", "db.timeout", "derived"])
        }
    }

    @Test("describes each setting")
    func descriptions() throws {
        let (catalog, _) = catalog()
        let port = try #require(catalog["port"])
        #expect(port.help.summary == "Port to listen on.")
        #expect(port.traits.requiresRestart)
        #expect(port.typeName == "Int")
        #expect(port.validValues == "1...65535")
        #expect(port.choices == nil)
        #expect(port.defaultText == "8080")
        #expect(catalog["level"]?.choices == ["debug", "info"])
        #expect(catalog["mode"]?.choices == ["0", "1"])
        #expect(catalog["mode"]?.typeName == "Optional<Mode>")
        #expect(catalog["mode"]?.defaultText == nil)
        #expect(catalog["limits"]?.defaultText == #"{"burst":1}"#)
        #expect(catalog["db.hosts"]?.defaultText == #"["localhost"]"#)
        #expect(port.base.valid?.limits?.lower == 1)
        #expect(port.base.valid?.limits?.upper == 65_535)
    }

    @Test("has the values as texts, with their layer")
    func texts() throws {
        let (catalog, suite) = catalog(["port": 9090, "level": "debug"], sources: [.commandLine(["--port", "1"])])
        #expect(catalog["port"]?.text == "1")
        #expect(catalog["port"]?.layer == .commandLine)
        #expect(catalog["level"]?.text == "debug")
        #expect(catalog["level"]?.layer == .store)
        #expect(catalog["mode"]?.text == nil)
        #expect(catalog["mode"]?.layer == .default)
        #expect(catalog["port"]?.isSet == true)
        #expect(catalog["port"]?.explain().hasPrefix("port = 1, given by --port") == true)
        try catalog["level"]?.reset()
        #expect(suite.snapshot() == ["port": 9090])
        try catalog["port"]?.reset()
        #expect(suite.snapshot() == [:])
    }

    @Test("stores a text with the parser of overrides, and rejects one that is no valid value")
    func setting() throws {
        let (catalog, suite) = catalog()
        try catalog["port"]?.set(text: "9090")
        try catalog["level"]?.set(text: "debug")
        try catalog["mode"]?.set(text: "1")
        try catalog["limits"]?.set(text: #"{"burst": 5}"#)
        try catalog["db.hosts"]?.set(text: "a,b")
        try catalog["db.timeout"]?.set(text: "2")
        #expect(
            suite.snapshot() == [
                "port": 9090, "level": "debug", "mode": 1, "limits": ["burst": 5], "db.hosts": ["a", "b"],
                "db.timeout": .double(2),
            ]
        )
        for (key, text) in [("port", "70000"), ("port", "#"), ("level", "loud"), ("db.hosts", "[1")] {
            let error = #expect(throws: SettingsError.self) { try catalog[key]?.set(text: text) }
            #expect(error?.key == key)
            #expect(error?.consequence == "the setting keeps the value it had")
            #expect(error?.remedy.isEmpty == false)
            #expect(error?.message.contains(text) == false)
            let checked = #expect(throws: SettingsError.self) { try catalog[key]?.check(text: text) }
            #expect(checked?.consequence == "the setting does not accept it")
            #expect(checked?.remedy.hasPrefix("use ") == true)
        }
        try catalog["port"]?.check(text: "1")
        #expect(suite[storedValueFor: "port"] == 9090)
    }

    @Test("names its flag and its environment variable, if the suite reads them")
    func names() {
        let sources: [SettingsSource] = [
            .commandLine([]), .environment([:], prefix: "ACME_"), .environment([:], prefix: "B_"),
        ]
        func setting(_ key: String, _ sources: [SettingsSource], _ traits: SettingTraits = []) -> AnySetting? {
            SettingsCatalog(Setting(key, default: 1, suite: .inMemory(sources: sources), traits: traits))[key]
        }
        #expect(setting("logLevel", sources)?.flag == "log-level")
        #expect(setting("logLevel", sources)?.environmentVariable == "ACME_LOG_LEVEL")
        let traits: SettingTraits = [.flag("level"), .environment("LEVEL")]
        #expect(setting("logLevel", sources, traits)?.flag == "level")
        #expect(setting("logLevel", sources, traits)?.environmentVariable == "LEVEL")
        #expect(setting("logLevel", [])?.flag == nil)
        #expect(setting("logLevel", [])?.environmentVariable == nil)
        #expect(setting("?", sources)?.flag == nil)
        #expect(setting("?", sources)?.environmentVariable == nil)
    }

    @Test("accepts every text that it shows")
    func roundTrip() throws {
        struct Values {
            @DefaultStorage(key: "bool") var bool = true
            @DefaultStorage(key: "string") var string = "5, \"x\""
            @DefaultStorage(key: "empty") var empty = ""
            @DefaultStorage(key: "double") var double = -0.0
            @DefaultStorage(key: "infinite") var infinite = -Double.infinity
            @DefaultStorage(key: "list") var list = [["a,b"], []]
            @DefaultStorage(key: "set") var set: Set<Int> = [3, 1]
            @DefaultStorage(key: "map") var map = ["a=b": [1.5]]
            @DefaultStorage(key: "any") var any: StoredValue = "5"
            @DefaultStorage(key: "duration") var duration = Duration.milliseconds(1_500)
            @DefaultStorage(key: "moment") var moment = Duration.microseconds(20)
            @DefaultStorage(key: "day") var day = Duration.seconds(86_400)
            @DefaultStorage(key: "level") var level = Level.debug
        }
        let suite = SettingsSuite.inMemory()
        let catalog = SettingsSuite.withStandard(suite) { SettingsCatalog(Values()) }
        for setting in catalog {
            let text = try #require(setting.text)
            try setting.set(text: text)
            #expect(setting.isSet)
            #expect(setting.text == text, "\(setting.key)")
            let base = setting.base.defaultStoredValue?.storedAsJSON
            #expect(suite[storedValueFor: setting.key] == base, "\(setting.key)")
        }
    }

    @Test("has no text for nil, stored or not")
    func null() throws {
        let suite = SettingsSuite.inMemory(["maybe": nil])
        let catalog = SettingsCatalog(Setting<String?>("maybe", default: "x", suite: suite))
        #expect(catalog["maybe"]?.text == nil)
        try catalog["maybe"]?.set(text: "null")
        #expect(suite[storedValueFor: "maybe"] == "null")
    }

    @Test("streams the texts of a value")
    func streams() async throws {
        let (catalog, suite) = catalog(["token": "hush"])
        let mode = try #require(catalog["mode"])
        var texts = mode.texts.makeAsyncIterator()
        #expect(await texts.next() == .some(nil))
        try await mode.set(text: "1")
        #expect(await texts.next() == "1")
        await expectError(.invalidValue) { try await mode.set(text: "5") }
        try await mode.reset()
        #expect(await texts.next() == .some(nil))
        var secrets = try #require(catalog["token"]).texts.makeAsyncIterator()
        #expect(await secrets.next() == "••••")
        await suite.finish()
        #expect(await texts.next() == .none)
    }

    @Test("two declarations of one setting are one element, and an error names both if they differ")
    func conflicts() {
        struct Other {
            @DefaultStorage(key: "port", in: 1...65_535, traits: .requiresRestart) var port = 8080
            @DefaultStorage(key: "level") var level = "info"
            @DefaultStorage(key: "limits") var limits = Limits(burst: 2)
            @DefaultStorage(key: "db.hosts", validate: { !$0.isEmpty }) var hosts = ["localhost"]
            @DefaultStorage(key: "db.timeout", in: 0...) var timeout = 1.5
        }
        let catalog = SettingsSuite.withStandard(.inMemory()) { SettingsCatalog(Server(), Server(), Other()) }
        #expect(catalog.count == 7)
        #expect(
            catalog.conflicts.map(\.fact) == [
                "Server.level and Other.level declare it with different types",
                "Server.limits and Other.limits declare it with different defaults",
                "Server.database.timeout and Other.timeout declare it with different valid values",
            ]
        )
        #expect(throws: SettingsValidationError.self) { try catalog.validate() }
    }

    @Test("contains the settings of an object only if it is passed as a value")
    func objects() {
        final class Inner { @DefaultStorage(key: "inner") var inner = 1 }
        struct Outer {
            @DefaultStorage(key: "outer") var outer = 1
            let object = Inner()
        }
        SettingsSuite.withStandard(.inMemory()) {
            let outer = Outer()
            #expect(SettingsCatalog(outer).map(\.key) == ["outer"])
            #expect(SettingsCatalog(outer, outer.object).map(\.key) == ["outer", "inner"])
        }
    }
}
