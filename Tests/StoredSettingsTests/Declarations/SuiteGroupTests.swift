// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

extension SettingKeys {
    fileprivate static let level = SettingKey("level", default: 1, traits: .renamed(from: "oldLevel"))
    fileprivate static let odd = SettingKey("odd", default: 1, validate: { $0 % 2 == 1 })
}

@Suite("A group of a suite", .deadlockLimit)
struct SuiteGroupTests {
    struct Database: Sendable {
        @DefaultStorage(key: "host", help: "Host name.", traits: .renamed(from: "hostname")) var host = "localhost"
        @DefaultStorage(key: "port", in: 1...65_535, traits: [.flag("port"), .environment("DATABASE_PORT")]) var port =
            5_432
        @DefaultStorageOptional(key: "password", traits: .secret) var password: String?
    }

    struct Server: Sendable {
        let primary = SettingsSuite.standard.group("primary") { Database() }
        let replica = SettingsSuite.standard.group("replica") { Database() }
        @DefaultStorage(key: "name") var name = "server"
    }

    private let reporter = RecordingReporter()

    private func suite(
        _ values: [String: StoredValue] = [:],
        sources: [SettingsSource] = []
    ) -> SettingsSuite {
        .inMemory(values, sources: sources, reporter: reporter)
    }

    @Test("gives two values of one type separate settings, and the catalog lists them with their whole keys")
    func twice() throws {
        let suite = suite(["replica.host": "b"])
        let server = SettingsSuite.withStandard(suite) { Server() }
        server.primary.host = "a"
        #expect((server.primary.host, server.replica.host) == ("a", "b"))
        #expect(suite.snapshot() == ["primary.host": "a", "replica.host": "b"])
        let catalog = SettingsCatalog(server)
        let keys = ["host", "port", "password"]
        #expect(catalog.map(\.key) == keys.map { "primary." + $0 } + keys.map { "replica." + $0 } + ["name"])
        #expect(catalog.allSatisfy { $0.suite == suite } as Bool)
        try catalog.validate()
        try catalog["replica.port"]?.set(text: "7")
        #expect(server.replica.port == 7)
        #expect(catalog.explain().contains("  replica.port = 7"))
        #expect(catalog.sampleFile().contains(#""primary.host": "localhost""#))
    }

    @Test("has the same setting as the whole suite with the whole key, and shares its decoded value")
    func sameSetting() {
        let suite = suite()
        let group = suite.group("db")
        let one = Setting("host", default: "x", suite: group, traits: [.renamed(from: "old"), .flag("h")])
        let traits: SettingTraits = [.renamed(from: "db.old"), .flag("db-h")]
        let other = Setting("db.host", default: "x", suite: suite, traits: traits)
        #expect(one.box === other.box)
        #expect(one.suite == suite && one.key == "db.host")
        #expect("\(one)" == "setting 'db.host' of suite 'in memory'")
        #expect(Setting<String?>("token", suite: group).box === Setting<String?>("db.token", suite: suite).box)
        let level = Setting("db.level", default: 1, suite: suite, traits: .renamed(from: "db.oldLevel"))
        #expect(Setting(.level, suite: group).box === level.box)
        #expect(Setting(.level, suite: group).box === Setting(.level, suite: group).box)
        group[.odd] = 3
        group[.odd] = 4
        #expect(suite[storedValueFor: "db.odd"] == 3)
        #expect(reporter.errors.map(\.key) == ["db.odd"])
    }

    @Test("is identified by its suite and its prefix, however it was created")
    func identity() {
        let suite = suite()
        #expect(suite.group("a").group("b") == suite.group("a.b"))
        #expect(suite.group("a").group("b").hashValue == suite.group("a.b").hashValue)
        #expect(suite.group("a") != suite.group("b"))
        #expect(suite.group("a") != suite)
        #expect(suite.group("a") != self.suite().group("a"))
        #expect(suite.group("") == suite)
        #expect(suite.group("a").observable().group("b") == suite.group("a.b"))
        #expect(suite.group("a").observable().isObservable)
        #expect("\(suite.group("a.b"))" == "group 'a.b' of \(suite)")
    }

    @Test("reads and writes keys without its prefix, and only its own")
    func keys() async throws {
        let suite = suite(["a": 1, "db.a": 2, "db.b": 3, "db.c.a": 4, "dba": 5, "db.": 6])
        let group = suite.group("db")
        #expect(group.keys == ["a", "b", "c.a"])
        #expect(group.snapshot() == ["a": 2, "b": 3, "c.a": 4])
        #expect(group[storedValueFor: "a"] == 2 && group[storedValueFor: "dba"] == nil)
        #expect(group.contains("b") && !group.contains("db.b"))
        try await group.setStoredValue(7, forKey: "b")
        group[storedValueFor: "d"] = 8
        try await group.setStoredValue(9, forKey: "e")
        try await group.group("c").setStoredValue(nil, forKey: "a")
        try await group.setStoredValue(nil, forKey: "a")
        #expect(suite.snapshot() == ["a": 1, "db.b": 7, "db.d": 8, "db.e": 9, "dba": 5, "db.": 6])
        try await group.removeAll()
        #expect(suite.snapshot() == ["a": 1, "dba": 5, "db.": 6])
        let error = #expect(throws: SettingsError.self) { try group.setStoredValue(1, forKey: "") }
        #expect(error?.code == .invalidKey)
        Setting("", default: 1, suite: group).value = 2
        #expect(reporter.errors.map(\.code) == [.invalidKey])
    }

    @Test(
        "has keys of any characters",
        arguments: ["\u{301}x", "é", "e\u{301}", ".", "..x", "👩‍👩‍👧", "\u{0}", "a@b", " ", "a/b"]
    )
    func characters(key: String) throws {
        for name in ["db", "e\u{301}", "👩"] {
            let suite = suite()
            let group = suite.group(name)
            try group.setStoredValue(1, forKey: key)
            #expect(group.keys.map { Array($0.utf8) } == [Array(key.utf8)])
            #expect(suite.keys == [name + "." + key])
            try group.removeAll()
            #expect(suite.keys == [])
        }
        let suite = suite(["e\u{301}.a": 1])
        #expect(suite.group("é").snapshot() == ["a": 1])
    }

    @Test("resets and finds the values of keys, under their old keys as well")
    func typedKeys() async throws {
        let suite = suite(["oldLevel": 5, "db.oldLevel": 6])
        let group = suite.group("db")
        #expect(group[.level] == 6 && group.contains(.level))
        try await group.reset(.level)
        #expect(suite.snapshot() == ["oldLevel": 5])
        #expect(!group.contains(.level) && suite.contains(.level))
        group[.level] = 7
        try await group.reset(.level)
        let setting = Setting(.level, suite: group)
        setting.value = 8
        try await setting.reset()
        #expect(suite.snapshot() == ["oldLevel": 5])
    }

    @Test("has transactions on its keys, in which settings have their whole keys")
    func transactions() throws {
        let suite = suite(["a": 1, "db.a": 2, "db.b": 3])
        let group = suite.group("db")
        let (inside, outside) = (Setting("a", default: 0, suite: group), Setting("a", default: 0, suite: suite))
        try group.transaction { values in
            #expect(values.keys == ["a", "b"])
            #expect(values[inside] == 2 && values[outside] == 1 && values[storedValueFor: "a"] == 2)
            values[inside] += 10
            values[outside] += 20
            values[.level] = 5
            values[storedValueFor: "c"] = 6
            values[storedValueFor: "b"] = nil
            values.rename("c", to: "d")
        }
        #expect(suite.snapshot() == ["a": 21, "db.a": 12, "db.level": 5, "db.d": 6])
        try group.transaction { values in
            try values.reset(.level)
            try values.reset(inside)
        }
        #expect(suite.snapshot() == ["a": 21, "db.d": 6])
        try group.transaction { try $0.removeAll() }
        #expect(suite.snapshot() == ["a": 21])
        try inside.update { $0 += 1 }
        #expect(suite[storedValueFor: "db.a"] == 1)
    }

    @Test("delivers the changes of its keys, without its prefix")
    func changes() async throws {
        let suite = suite()
        let group = suite.group("db")
        let setting = Setting("a", default: 0, suite: group)
        var all = group.changes().makeAsyncIterator()
        var some = group.changes(of: "a").makeAsyncIterator()
        try await suite.setStoredValue(1, forKey: "z")
        try await suite.setStoredValue(1, forKey: "a")
        try await group.transaction { values in
            values[storedValueFor: "a"] = 2
            values[storedValueFor: "b"] = 3
        }
        #expect(await all.next()?.keys == ["a", "b"])
        #expect(await some.next()?.keys == ["a"])
        var values = group.values(of: setting).makeAsyncIterator()
        #expect(await values.next() == 2)
        let count = Mutex(0)
        let observation = group.observe(.level) { count.withLock { $0 += 1 } }
        suite[.level] = 5
        #expect(count.withLock { $0 } == 0)
        group[.level] = 6
        #expect(count.withLock { $0 } == 1)
        observation.invalidate()
    }

    @Test("has flags and variables that follow from whole keys, also where a trait names them")
    func sources() {
        let variables = ["ACME_PRIMARY_HOST": "v", "REPLICA_DATABASE_PORT": "2", "DATABASE_PORT": "3"]
        let arguments = ["--replica-host", "f", "--primary-port", "1", "--port", "4"]
        let suite = suite(sources: [.commandLine(arguments), .environment(variables, prefix: "ACME_")])
        let server = SettingsSuite.withStandard(suite) { Server() }
        #expect(server.primary.host == "v")
        #expect(server.replica.host == "f")
        #expect(server.primary.port == 1)
        #expect(server.replica.port == 2)
        #expect(server.primary.$port.explain().source == "--primary-port")
        #expect(server.replica.$port.explain().source == "REPLICA_DATABASE_PORT")
        #expect(SettingsCatalog(server).findProblems().errors.isEmpty)
        #expect(SettingsCatalog(server).markdown().contains("`REPLICA_DATABASE_PORT`"))
    }

    @Test("has errors with whole keys")
    func errors() throws {
        let suite = suite(["db.port": 70_000, "db.x": 1])
        let group = suite.group("db")
        let port = Setting("port", default: 1, suite: group, in: 1...65_535)
        #expect(port.value == 1)
        #expect(reporter.errors.map(\.key) == ["db.port"])
        #expect(port.explain().description.hasPrefix("db.port = 1, the default"))
        #expect(throws: SettingsError.self) { try port.set(0) }
        let error = #expect(throws: SettingsError.self) {
            try group.transaction { try $0.convert("x") { _ in throw Unreadable() } }
        }
        #expect(error?.key == "db.x")
    }

    private struct Unreadable: Error {}

    @Test("is migrated by itself, with a record of its own")
    func migrations() throws {
        let suite = suite(["old": 1, "db.old": 2, "db.oldLevel": "7"])
        var migrator = SettingsMigrator()
        migrator.addStep("rename") { $0.rename("old", to: "new") }
        migrator.addStep("convert") { try $0.convert(.level, from: Text()) }
        #expect(try migrator.migrate(suite.group("db")) == ["rename", "convert"])
        #expect(
            suite.snapshot() == [
                "old": 1, "db.new": 2, "db.level": 7, "db.storedSettings.migrations": ["rename", "convert"],
            ]
        )
        #expect(try migrator.migrate(suite.group("db")) == [])
        let settings = SettingsCatalog(
            Setting("old", default: 1, suite: suite),
            Setting(.level, suite: suite.group("db")),
            Setting("new", default: 1, suite: suite.group("db"))
        )
        #expect(settings.findProblems().errors.isEmpty)
    }

    private struct Text: StoredValueBridge {
        func value(from storedValue: StoredValue) throws -> Int { Int(try storedValue.as(String.self)) ?? 0 }
        func storedValue(from value: Int) throws -> StoredValue { .string("\(value)") }
    }

    @Test("replaces named and standard suites, and is found in a struct that names its suite")
    func replacing() {
        let suite = suite()
        struct Named: Sendable { @DefaultStorage(key: "port", suite: "test.group.named") var port = 1 }
        SettingsSuite.withSuites(["test.group.named": suite]) {
            let named: SettingsSuite = "test.group.named"
            let (first, second) = (named.group("first") { Named() }, Named())
            first.port = 5
            second.port = 6
            #expect(suite.snapshot() == ["first.port": 5, "port": 6])
        }
        SettingsSuite.withSuites(["test.group.named": suite.group("second")]) {
            Named().port = 7
            let other = SettingsSuite("test.group.named", reporter: RecordingReporter())
            Setting("port", default: 1, suite: other).value = 8
        }
        SettingsSuite.withStandard(suite.group("third")) {
            Setting("port", default: 1).value = 9
            SettingsSuite.standard.group("fourth") { Setting("port", default: 1).value = 10 }
        }
        #expect(
            suite.snapshot() == [
                "first.port": 5, "port": 6, "second.port": 8, "third.port": 9, "third.fourth.port": 10,
            ]
        )
    }

    @Test("shares the file, the checkpoints and the end of its suite")
    func wholeSuite() async throws {
        try await withSettingsPath { path in
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            let group = suite.group("db")
            try await suite.setStoredValue(1, forKey: "a")
            try await group.checkpoint()
            try await group.synchronize()
            #expect(try path.fileContents == "{\n  \"a\": 1\n}\n")
            #expect(group.persistence == .durable(path: path))
            await group.finish()
            expectError(.suiteFinished) { try suite.setStoredValue(2, forKey: "a") }
        }
    }

    @Test("derives a flag from a trait also if its name has no letters")
    func flagWithoutLetters() {
        let suite = SettingsSuite.inMemory(sources: [.commandLine(["--listen", "7"])], reporter: reporter)
        let port = Setting("port", default: 1, suite: suite.group("?"), traits: .flag("listen"))
        #expect(port.value == 7)
    }
}
