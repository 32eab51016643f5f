// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("Validating a catalog")
struct CatalogValidationTests {
    enum Level: String, CaseIterable, StoredValueConvertible { case debug, info }

    struct Server {
        @DefaultStorage(key: "port", in: 1...65_535) var port = 8080
        @DefaultStorage(key: "level") var level = Level.info
        @DefaultStorage(key: "hosts") var hosts = ["localhost"]
        @DefaultStorage(key: "workers", validate: { $0 != 3 }) var workers = 4
        @DefaultStorage(key: "limit", traits: [.renamed(from: "max"), .deprecated("Set 'workers'.")]) var limit = 1
    }

    private let reporter = RecordingReporter()

    /// The problems with a settings file, variables and flags.
    private func problems(
        _ file: String,
        _ variables: [String: String] = [:],
        _ arguments: String...,
        unknownKeys: SettingsCatalog.UnknownKeys = .reject
    ) async throws -> [String] {
        try await withSettingsPath { path in
            try path.replaceFile(with: file)
            let suite = SettingsSuite(
                fileAt: path,
                sources: [.commandLine(arguments), .environment(variables, prefix: "ACME_")],
                reporter: reporter
            )
            let catalog = SettingsSuite.withStandard(suite) { SettingsCatalog(Server()) }
            defer { suite.finish() }
            do {
                try catalog.validate(unknownKeys: unknownKeys)
                return []
            } catch let error as SettingsValidationError {
                #expect(error.description.split(separator: "\n").count == error.problems.count + 1)
                return error.problems.map { $0.message.replacing(path, with: "FILE") }
            }
        }
    }

    @Test("throws one error with all problems and their places")
    func all() async throws {
        let file = """
            {
              "prot": 1,
              "port": 70000,
              "level": 5,
              "workers": 3
            }
            """
        let found = try await problems(file, ["ACME_HOSTS": "[\"a\"", "ACME_WORKRES": "2"], "--port", "none")
        #expect(
            found.map { $0.prefix { $0 != "." } } == [
                "setting 'port' of suite 'FILE': --port cannot be used: expected an integer, found a string",
                "setting 'port' (FILE:3:11): the value is outside 1",
                "setting 'level' (FILE:4:12): expected a string, found an integer",
                "setting 'hosts' of suite 'FILE': ACME_HOSTS cannot be used: the value begins like JSON, but is not valid JSON: "
                    + "unexpected end of input (line 1, column 5)",
                "setting 'workers' (FILE:5:14): the setting's validator rejected the value",
                "setting 'prot' (FILE:2:11): no setting has this key",
                "suite 'FILE': no setting has the environment variable ACME_WORKRES",
            ]
        )
        #expect(reporter.errors.isEmpty, "what is thrown is not reported as well")
        #expect(found[5].hasSuffix("Its value has no effect. Remove it."))
        #expect(found[6].contains("Set ACME_WORKERS if that is meant"))
        for message in found { #expect(!message.contains("70000") && !message.contains("none ")) }
    }

    @Test("finds a problem that another layer hides")
    func hidden() async throws {
        #expect(try await problems(#"{"port": 0}"#, [:], "--port", "3").count == 1)
        #expect(try await problems("{}", ["ACME_PORT": "0"], "--port", "3").count == 1)
    }

    @Test("suggests the present name of a renamed setting, also if the old name is the similar one")
    func renamed() async throws {
        let key = try await problems(#"{"maxx": 1, "limti": 2}"#)
        #expect(key.count == 2)
        for message in key { #expect(message.contains("Rename it to 'limit' if that is meant")) }
        #expect(try await problems(#"{"maxx": 1, "max": 2}"#).first?.hasSuffix("Remove it.") == true)
        let variable = try await problems("{}", ["ACME_MAXX": "1"])
        #expect(variable.count == 1)
        #expect(variable.first?.contains("Set ACME_LIMIT if that is meant") == true)
    }

    @Test("suggests the file of the present variable of a renamed setting")
    func renamedFile() {
        let variables = ["ACME_MAXX_FILE": "/x"]
        let suite = SettingsSuite.inMemory(sources: [.environment(variables, prefix: "ACME_", files: true)])
        let setting = Setting("limit", default: 1, suite: suite, traits: .renamed(from: "max"))
        let errors = SettingsCatalog(setting).findProblems().errors
        #expect(errors.map(\.remedy) == ["set ACME_LIMIT_FILE if that is meant, or unset ACME_MAXX_FILE"])
    }

    @Test("reports a file that cannot be read once, with its line")
    func broken() async throws {
        let found = try await problems("{\n  \"port\": }")
        #expect(found.count == 1)
        #expect(found.first?.contains("FILE:2:11") == true)
        #expect(reporter.errors.map(\.code) == [.malformedFile], "the read of the validation reports the file")
    }

    @Test("accepts unknown keys and variables, or reports them as warnings, by choice")
    func unknown() async throws {
        #expect(try await problems(#"{"x": 0}"#, ["ACME_X": ""], unknownKeys: .accept) == [])
        #expect(reporter.errors.isEmpty)
        #expect(try await problems(#"{"x": 0}"#, ["ACME_X": ""], unknownKeys: .warn) == [])
        #expect(reporter.errors.map(\.code) == [.unknownKey, .unknownVariable])
    }

    @Test("warns of deprecated settings that have a value, and of old keys beside new ones")
    func warnings() async throws {
        #expect(try await problems("{}") == [])
        #expect(reporter.errors.isEmpty)
        #expect(try await problems(#"{"max": 1, "limit": 2}"#) == [])
        #expect(reporter.errors.map(\.code) == [.oldKeyIgnored, .deprecatedKey])
        #expect(reporter.errors.last?.fact == "the setting is deprecated, and has a value from the key 'limit'")
        #expect(reporter.errors.last?.remedy == "Set 'workers'.")
        #expect(try await problems("{}", ["ACME_LIMIT": "3"]) == [])
        #expect(reporter.errors.last?.fact == "the setting is deprecated, and has a value from ACME_LIMIT")
    }

    @Test("finds an old key that another setting uses")
    func sharedOldKeys() {
        let suite = SettingsSuite.inMemory(["b": 5])
        let catalog = SettingsCatalog(
            Setting("a", default: 1, suite: suite, traits: .renamed(from: "b")),
            Setting("b", default: 1, suite: suite),
            Setting("c", default: 1, suite: suite, traits: .renamed(from: "x")),
            Setting("d", default: 1, suite: suite, traits: .renamed(from: "x")),
            Setting("b", default: 1, suite: .inMemory())
        )
        let errors = catalog.findProblems().errors
        #expect(errors.map(\.code) == [.conflictingDeclarations, .conflictingDeclarations])
        #expect(errors.map(\.key) == ["b", "x"])
    }

    @Test("fails for a value without settings, and for an actor, whose properties are isolated")
    func empty() {
        actor Server { let port = Setting("port", default: 1, suite: .inMemory()) }
        let catalog = SettingsCatalog(SettingsCatalogTests.self, [1], Server())
        #expect(catalog.isEmpty)
        #expect(catalog.findProblems().errors.map(\.code) == [.emptyCatalog, .emptyCatalog, .emptyCatalog])
    }

    @Test("knows the variables of all suites, and assigns a variable to the longest prefix")
    func prefixes() {
        let variables = ["A_PORT": "1", "A_DB_HOST": "x", "A_DB_HSOT": "x"]
        let one = SettingsSuite.inMemory(sources: [.environment(variables, prefix: "A_")])
        let two = SettingsSuite(
            store: InMemoryStore(),
            name: "two",
            sources: [.environment(variables, prefix: "A_DB_"), .environment(variables, prefix: "A_")]
        )
        let port = Setting("port", default: 1, suite: one)
        let host = Setting("host", default: "", suite: two)
        let errors = SettingsCatalog(port, host).findProblems().errors
        #expect(errors.map(\.fact) == ["no setting has the environment variable A_DB_HSOT"])
        #expect(errors.map(\.suite) == ["two"])
        #expect(errors.first?.remedy == "set A_DB_HOST if that is meant, or unset A_DB_HSOT")
    }

    @Test("warns of a missing file whose values are known, also at each further start")
    func missingFile() async throws {
        try await withSettingsPath { path in
            let first = SettingsSuite(fileAt: path, reporter: reporter)
            try await first.setStoredValue(2, forKey: "workers")
            try await first.checkpoint()
            await first.finish()
            try FileManager.default.removeItem(atPath: path)
            for _ in 0..<2 {
                reporter.removeAll()
                let store = FileStore(path: FilePath(path), checkpointsInBackground: false)
                let suite = SettingsSuite(store: store, reporter: reporter)
                let catalog = SettingsSuite.withStandard(suite) { SettingsCatalog(Server()) }
                try catalog.validate()
                #expect(reporter.errors.map(\.fact) == ["the file is missing"], "the read of the validation reports it")
                let found = catalog.findProblems()
                #expect(found.errors.isEmpty)
                #expect(found.warnings.map(\.fact) == ["the file is missing"])
                #expect(catalog["workers"]?.text == "2")
                let result = await CommandHarness(suite, catalog).run("validate")
                #expect(result.code == 0)
                #expect(result.errors.hasPrefix("warning: "))
            }
        }
    }

    @Test("knows the record of migrations of a base, also in a group, and under another key")
    func recordOfBase() async throws {
        let fleet = SettingsSuite.inMemory()
        let group = fleet.group("db")
        var (migrator, other) = (SettingsMigrator(), SettingsMigrator(recordKey: "my.migrations"))
        migrator.addStep("one") { _ in }
        other.addStep("one") { _ in }
        for base in [fleet, group] {
            try await migrator.migrate(base)
            try await other.migrate(base)
        }
        try await fleet.setStoredValue(1, forKey: "prot")
        try await group.setStoredValue(1, forKey: "prot")
        let whole = SettingsSuite.inMemory(sources: [.suite(group)])
        #expect(SettingsCatalog(Setting("n", default: 1, suite: whole)).findProblems().errors.map(\.key) == ["prot"])
        let suite = SettingsSuite.inMemory(sources: [.suite(fleet)])
        let catalog = SettingsCatalog(
            Setting("n", default: 1, suite: suite),
            Setting("db.prot", default: 1, suite: suite),
            Setting("db.storedSettings.migrations", default: [""], suite: suite),
            Setting("db.my.migrations", default: [""], suite: suite)
        )
        #expect(catalog.findProblems().errors.map(\.key) == ["prot"])
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/base.json"
            try path.replaceFile(with: #"{"storedSettings.migrations": ["one"], "prot": 1}"#)
            let based = SettingsSuite.inMemory(sources: [.file(path)])
            #expect(
                SettingsCatalog(Setting("n", default: 1, suite: based)).findProblems().errors.map(\.key) == ["prot"]
            )
        }
    }

    @Test("knows the record of a migrator under another key")
    func record() throws {
        let suite = SettingsSuite.inMemory()
        var migrator = SettingsMigrator(recordKey: "my.migrations")
        migrator.addStep("one") { _ in }
        try migrator.migrate(suite)
        #expect(suite.keys == ["my.migrations"])
        #expect(SettingsCatalog(Setting("n", default: 1, suite: suite)).findProblems().errors.isEmpty)
    }

    @Test("lists the problems of a store once, also if two suites share it")
    func sharedStore() {
        let store = InMemoryStore(["x": 1, "n": "x"])
        let one = SettingsSuite(store: store)
        let two = SettingsSuite(store: store, sources: [.commandLine([])])
        let catalog = SettingsCatalog(Setting("n", default: 1, suite: one), Setting("n", default: 1, suite: two))
        #expect(catalog.findProblems().errors.map(\.key) == ["n", "x"])
        #expect(catalog.sampleFile(hasComments: false) == "{\n  \"n\": 1\n}\n")
    }

    @Test("names the value that is used instead of an unusable one, and the place under an old key")
    func consequences() async throws {
        try await withSettingsPath { path in
            try path.replaceFile(with: "{\n  \"max\": \"x\"\n}\n")
            let suite = SettingsSuite(fileAt: path, sources: [.commandLine(["--limit", "3"])], reporter: reporter)
            let catalog = SettingsCatalog(Setting("limit", default: 1, suite: suite, traits: .renamed(from: "max")))
            let error = try #require(catalog.findProblems().errors.first)
            #expect(error.location?.line == 2)
            #expect(error.consequence.hasPrefix("if the program continues, the value of --limit is used, and"))
            suite.finish()
        }
    }

    @Test("says of a flag, a variable and a file what is used if the program continues, since it may stop")
    func continuing() async throws {
        for (values, used) in [([:], "the default"), (["n": 3], "the stored value")]
            as [([String: StoredValue], String)]
        {
            let suite = SettingsSuite.inMemory(
                values,
                sources: [.commandLine(["--n", "x"]), .environment(["A_N": "9"], prefix: "A_")],
                reporter: reporter
            )
            let setting = Setting("n", default: 1, suite: suite, in: 0...5)
            let catalog = SettingsCatalog(setting)
            let error = try #require(throws: SettingsValidationError.self) { try catalog.validate() }
            #expect(error.problems.count == 2)
            for problem in error.problems {
                #expect(problem.consequence == "if the program continues, \(used) is used")
            }
            #expect(catalog["n"]?.findProblems().map(\.consequence) == error.problems.map(\.consequence))
            #expect(reporter.errors.isEmpty)
            _ = setting.value
            #expect(reporter.errors.map(\.consequence).allSatisfy { $0 == "it is ignored, and the next layer is used" })
            #expect(!reporter.errors.isEmpty)
            reporter.removeAll()
        }
        #expect(try await problems("{").first?.contains("If the program continues, it is left unchanged") == true)
    }

    @Test("tells how to correct a flag or a variable that is outside of the range, or that a validator rejects")
    func remedies() {
        let suite = SettingsSuite.inMemory(sources: [
            .commandLine(["--n", "8", "--even", "3", "--strict", "3"]), .environment(["A_N": "9"], prefix: "A_"),
        ])
        let strict = Setting("strict", default: 2, suite: suite) { number in
            guard number % 2 == 0 else { throw SettingsError.invalidValue("the number is odd") }
            return true
        }
        let catalog = SettingsCatalog(
            Setting("n", default: 1, suite: suite, in: 0...5),
            Setting("even", default: 2, suite: suite) { $0 % 2 == 0 },
            strict
        )
        #expect(
            catalog.findProblems().errors.map(\.remedy) == [
                "give --n a value in 0...5, or omit it", "set A_N to a value in 0...5, or unset it",
                "give --even a value that the validator accepts, or omit it",
                "give --strict a value that the validator accepts, or omit it",
            ]
        )
    }

    @Test("reads the variables of the process if no others are given")
    func processEnvironment() throws {
        let suite = SettingsSuite.inMemory(sources: [.environment(prefix: "PA")])
        let catalog = SettingsSuite.withStandard(suite) { SettingsCatalog(Server()) }
        let facts = catalog.findProblems().errors.map(\.fact)
        #expect(facts.contains("no setting has the environment variable PATH"))
    }

    @Test(
        "the most similar name is suggested, and none if all are different",
        arguments: [
            ("prot", "port"), ("PORT", "port"), ("por", "port"), ("ports", "port"), ("maxConections", "maxConnections"),
            ("x", nil), ("something", nil), ("", nil), ("max_connections", "maxConnections"),
        ] as [(String, String?)]
    )
    func similarity(_ name: String, _ best: String?) {
        #expect(Similarity.best(for: name, among: ["maxConnections", "port", "path"]) == best)
    }
}
