// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import Testing

@Suite("Help and traits")
struct SettingTraitsTests {
    @Test("an array has the traits of all elements")
    func array() {
        let traits: SettingTraits = [
            .secret, .requiresRestart, .renamed(from: "a"), .renamed(from: "b", "c"), .deprecated("Use x."), .flag("f"),
            .environment("E"),
        ]
        #expect(traits.isSecret && traits.requiresRestart)
        #expect(traits.oldKeys == ["a", "b", "c"])
        #expect(traits.deprecation == "Use x.")
        #expect(traits.flag == "f")
        #expect(traits.environmentVariable == "E")
        let none: SettingTraits = []
        #expect(!none.isSecret && !none.requiresRestart && none.oldKeys.isEmpty)
        #expect(SettingTraits.secret != .requiresRestart)
    }

    @Test("a help may contain interpolations")
    func interpolatedHelp() {
        let limit = 5
        let setting = Setting("n", default: 1, suite: .inMemory(), help: "At most \(limit).")
        #expect(SettingsCatalog(setting)[0].help == SettingHelp("At most 5."))
    }

    @Test("the dashes of a flag may be written", arguments: ["port", "-port", "--port"])
    func dashes(flag: String) {
        let suite = SettingsSuite.inMemory(sources: [.commandLine(["--port", "5"])])
        #expect(SettingTraits.flag(flag).flag == "port")
        #expect(Setting("n", default: 1, suite: suite, traits: .flag(flag)).value == 5)
    }

    @Test("declarations that differ only in help or traits have the same value")
    func sharing() throws {
        let suite = SettingsSuite.inMemory()
        let settings = [
            Setting("n", default: 1, suite: suite), Setting("n", default: 1, suite: suite, help: "A number."),
            Setting("n", default: 1, suite: suite, traits: .secret),
        ]
        try settings[0].set(2)
        #expect(settings.map(\.value) == [2, 2, 2])
        let catalogs = settings.map { SettingsCatalog($0)[0] }
        #expect(catalogs.map(\.help.summary) == ["", "A number.", ""])
        #expect(catalogs.map(\.traits.isSecret) == [false, false, true])
    }

    @Test("every kind of declaration has help and traits")
    func declarations() {
        struct Settings {
            @DefaultStorage(key: "a", in: 1...3, help: "A", traits: .secret) var a = 1
            @DefaultStorageOptional(key: "b", in: 1...3, help: "B", traits: .secret) var b: Int?
            @DefaultStorage(SettingKey("c", default: 1, in: 1...3, help: "C", traits: .secret)) var c
            @DefaultStorageOptional(SettingKey<Int?>("d", help: "D", traits: .secret)) var d
        }
        SettingsSuite.withStandard(.inMemory()) {
            let catalog = SettingsCatalog(Settings())
            #expect(catalog.map(\.help.summary) == ["A", "B", "C", "D"])
            #expect(catalog.map(\.traits.isSecret) == [true, true, true, true])
        }
    }

    @Test("an explanation contains no secret value, neither the one in use nor a shadowed one")
    func secret() throws {
        let suite = SettingsSuite.inMemory(
            ["token": "stored-secret", "codes": ["c-secret"]],
            sources: [.environment(["TOKEN": "given-secret"], prefix: "")]
        )
        let token = Setting("token", default: "default-secret", suite: suite, traits: .secret)
        let codes = Setting<[String]?>("codes", suite: suite, traits: .secret)
        #expect(
            token.explain().description
                == "token = ••••, given by TOKEN, over the stored ••••, over the default ••••"
        )
        for text in [codes.explain().description, "\(token)", String(reflecting: token)] {
            #expect(!text.contains("secret"), "\(text)")
        }
        var dumped = ""
        dump(DefaultStorage(wrappedValue: "x-secret", key: "token", suite: suite, traits: .secret), to: &dumped)
        #expect(!dumped.contains("secret"), "\(dumped)")
        try codes.reset()
        #expect(codes.explain().description.hasPrefix("codes = nil"))
    }

    @Test("no error contains a text that a validator or a conversion of a secret setting has chosen")
    func secretErrors() throws {
        struct Rejected: Error, CustomStringConvertible { var description: String }
        struct Bridge: StoredValueBridge {
            func value(from storedValue: StoredValue) throws -> String {
                throw SettingsError.invalidValue("bad \(try storedValue.as(String.self))")
            }
            func storedValue(from value: String) throws -> StoredValue {
                throw SettingsError.unstorable("bad \(value)")
            }
        }
        let reporter = RecordingReporter()
        let suite = SettingsSuite.inMemory(
            ["a": "hunter2", "b": "hunter2"],
            sources: [.environment(["A": "hunter2"], prefix: "")],
            reporter: reporter
        )
        let checked = Setting(
            "a",
            default: "",
            suite: suite,
            validate: { if $0.isEmpty { true } else { throw Rejected(description: "bad \($0)") } },
            traits: .secret
        )
        let bridged = Setting("b", default: "", suite: suite, as: Bridge(), traits: .secret)
        let catalog = SettingsCatalog(checked, bridged)
        var errors = catalog.findProblems().errors
        #expect(errors.count == 3)
        for setting in [checked, bridged] {
            #expect(setting.value.isEmpty)
            let error = #expect(throws: SettingsError.self) { try setting.set("hunter2") }
            errors += [error, #expect(throws: SettingsError.self) { try setting.load() }].compactMap { $0 }
            let text = #expect(throws: SettingsError.self) { try catalog[setting.key]?.set(text: "hunter2") }
            errors += [text].compactMap { $0 }
            var dumped = ""
            dump(setting.explain(), to: &dumped)
            #expect(!(dumped + catalog.explain()).contains("hunter"))
        }
        #expect(errors.count == 9)
        for error in errors + reporter.errors {
            #expect(!error.message.contains("hunter"), "\(error)")
            #expect(error.underlying == nil)
        }
    }

    @Test("a change that needs a restart is pending until the value is again the one that was read first")
    func restart() throws {
        let suite = SettingsSuite.inMemory(["port": 1])
        let port = Setting("port", default: 8080, suite: suite, traits: .requiresRestart)
        #expect(!port.explain().isRestartPending, "nothing has read it")
        #expect(port.value == 1)
        #expect(!port.explain().isRestartPending)
        try port.set(2)
        #expect(port.explain().isRestartPending)
        #expect(port.explain().description.contains("it takes effect when the program is started again"))
        #expect(port.value == 2)
        #expect(port.explain().isRestartPending, "a later read is not the first")
        try port.set(1)
        #expect(!port.explain().isRestartPending)
        let other = Setting("port", default: 8080, suite: suite)
        #expect(other.value == 1)
        try other.set(3)
        #expect(!other.explain().isRestartPending)
    }

    @Test("no error contains a key of a secret dictionary")
    func secretKeys() {
        let reporter = RecordingReporter()
        let suite = SettingsSuite.inMemory(["tokens": ["hunter2": "x"]], reporter: reporter)
        #expect(Setting("tokens", default: [String: Int](), suite: suite, traits: .secret).value.isEmpty)
        #expect(reporter.errors.map(\.code) == [.typeMismatch])
        #expect(reporter.errors.allSatisfy { !$0.message.contains("hunter2") })
    }
}
