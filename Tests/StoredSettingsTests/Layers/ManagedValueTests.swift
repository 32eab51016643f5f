// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

/// A way to change the stored value of a managed key.
enum ManagedWrite: String, CaseIterable, Sendable {
    case set, remove, update
    case transactionSubscript, transactionSet, transactionReset, transactionRaw, transactionRemoveAll
    case setStoredValue, resetKey, removeAll
    case catalogText, catalogReset, oldKey, conversion

    private struct SameNumber: StoredValueBridge {
        func value(from storedValue: StoredValue) throws -> Int { try Int(storedValue: storedValue) }
        func storedValue(from value: Int) throws -> StoredValue { value.storedValue() }
    }

    func perform(_ port: Setting<Int>, in suite: SettingsSuite) async throws {
        let catalog = SettingsCatalog(
            ManagedSettings(port: DefaultStorage(wrappedValue: 0, key: port.key, suite: suite))
        )
        switch self {
        case .set: try await port.set(1)
        case .remove: try await port.reset()
        case .update: try await port.update { $0 += 1 }
        case .transactionSubscript: try await suite.transaction { $0[port] = 1 }
        case .transactionSet: try await suite.transaction { try $0.set(1, for: port) }
        case .transactionReset: try await suite.transaction { try $0.reset(port) }
        case .transactionRaw: try await suite.transaction { $0[storedValueFor: port.key] = 1 }
        case .transactionRemoveAll: try await suite.transaction { try $0.removeAll() }
        case .setStoredValue: try await suite.setStoredValue(1, forKey: port.key)
        case .resetKey: try await suite.reset(SettingKey("port", default: 0))
        case .removeAll: try await suite.removeAll()
        case .catalogText: try await catalog["port"]?.set(text: "1")
        case .catalogReset: try await catalog["port"]?.reset()
        case .conversion: try await suite.transaction { try $0.convert(port, from: SameNumber()) }
        case .oldKey: try await Setting("newPort", default: 0, suite: suite, traits: .renamed(from: "port")).set(1)
        }
    }
}

private struct ManagedSettings: Sendable {
    @DefaultStorage var port: Int

    init(port: DefaultStorage<Int>) { _port = port }
}

@Suite("Managed values")
struct ManagedValueTests {
    private let reporter = RecordingReporter()

    @Test(
        "every way to change a managed key fails, and names the file",
        arguments: ManagedWrite.allCases,
        [true, false]
    )
    func writes(_ write: ManagedWrite, isUsable: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/managed.json"
            try file.writeLayer(isUsable ? "{\n  \"port\": 9\n}" : "{\n  \"port\": []\n}")
            let suite = SettingsSuite(
                fileAt: "\(directory)/settings.json",
                sources: [.managed(file)],
                reporter: reporter
            )
            // Stored before it was managed.
            let other = SettingsSuite(fileAt: "\(directory)/settings.json", reporter: reporter)
            try await other.setStoredValue(5, forKey: "port")
            let port = Setting("port", default: 0, suite: suite)
            #expect(port.value == (isUsable ? 9 : 5))
            do {
                try await write.perform(port, in: suite)
                Issue.record("the change has not failed")
            } catch let error as SettingsError {
                #expect(error.code == .managed)
                #expect(error.location == SettingsError.Location(file: file, line: 2, column: 11))
                #expect(error.message.contains("the value is managed in \(file):2:11"))
                #expect(error.suite == suite.name)
            }
            #expect(suite.snapshot() == ["port": 5])
            // Other keys can be changed.
            try await suite.setStoredValue(1, forKey: "other")
            await suite.finish()
        }
    }

    @Test("an assignment to a managed key is reported, and is not saved later")
    func assignments() async throws {
        try await withLayer(#"{ "port": 9 }"#, as: SettingsSource.managed, under: ["port": 5], reporter: reporter) {
            suite,
            file in
            let port = Setting("port", default: 0, suite: suite)
            port.value = 1
            suite[storedValueFor: "port"] = 2
            try await suite.transaction { _ in port.value = 3 }
            #expect(reporter.errors.map(\.code) == [.managed, .managed, .managed])
            #expect(port.value == 9)
            try await suite.synchronize()
            #expect(suite.snapshot() == ["port": 5])
            #expect(
                port.explain().description == "port = 9, given by \(file):1:11, over the stored 5, over the default 0"
            )
        }
    }

    @Test("removing all values leaves a file of managed keys without stored values alone")
    func removingOthers() async throws {
        try await withLayer(#"{ "port": 9 }"#, as: SettingsSource.managed, under: ["other": 5], reporter: reporter) {
            suite,
            _ in
            try await suite.removeAll()
            #expect(suite.snapshot().isEmpty)
        }
    }

    @Test("a setting that is managed in its suite cannot be changed through another suite with the same store")
    func otherSuite() async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/managed.json"
            try file.writeLayer(#"{ "port": 9, "old": 1 }"#)
            let store = InMemoryStore(["port": 5, "free": 1])
            let plain = SettingsSuite(store: store, name: "plain", reporter: reporter)
            let managed = SettingsSuite(store: store, name: "managed", sources: [.managed(file)], reporter: reporter)
            let port = Setting("port", default: 0, suite: managed)
            let renamed = Setting("renamed", default: 0, suite: managed, traits: .renamed(from: "old"))
            let free = Setting("free", default: 0, suite: plain)
            for error in [
                settingsError { try plain.transaction { try $0.set(1, for: port) } },
                settingsError { try plain.transaction { $0[port] = 1 } },
                settingsError { try plain.transaction { $0[renamed] = 1 } },
                settingsError { try plain.transaction { try $0.reset(free, port) } },
            ] {
                #expect(error?.code == .managed)
                #expect(error?.suite == "managed")
                #expect(error?.location?.file == file)
            }
            let harness = CommandHarness(plain, SettingsCatalog((free, port)))
            let new = #"{"plain": {"free": 2}, "managed": {"port": 2}}"#
            let none = #"{"plain": {}, "managed": {}}"#
            for (arguments, input) in [
                (["set", "free=2", "port=2"], ""), (["unset", "free", "port"], ""), (["import", "-"], new),
                (["import", "-", "--replace"], new), (["import", "-", "--replace"], none),
            ] {
                let result = await harness.with(input: input).run(arguments)
                #expect(result.code == 77, "\(arguments)")
                #expect(result.errors.contains(file))
            }
            #expect(await harness.with(editor: "sed -i s/5/6/", in: directory).run("edit").code == 77)
            #expect(store.contents() == ["port": 5, "free": 1])
            // What only another suite manages can be changed.
            try await plain.transaction { $0[free] = 3 }
            #expect(await harness.with(input: #"{"plain": {"free": 4}}"#).run("import", "-").code == 0)
            #expect(store.contents() == ["port": 5, "free": 4])
        }
    }

    @Test("a migration changes the stored value of a managed key")
    func migration() async throws {
        try await withLayer(#"{ "port": 9 }"#, as: SettingsSource.managed, under: ["port": "5"], reporter: reporter) {
            suite,
            _ in
            var migrator = SettingsMigrator()
            migrator.addStep("numbers") { settings in
                try settings.convert("port") { _ in 6 }
            }
            try await migrator.migrate(suite)
            #expect(suite[storedValueFor: "port"] == 6)
        }
    }

    @Test("a managed file that cannot be read at the start prevents every change until it is corrected", .deadlockLimit)
    func unreadableAtStart() async throws {
        try await withLayer("{\n  \"port\": 9,,\n}", as: SettingsSource.managed, under: ["port": 5], reporter: reporter)
        { suite, file in
            let port = Setting("port", default: 0, suite: suite)
            let place = SettingsError.Location(file: file, line: 2, column: 13)
            #expect(port.value == 5)
            #expect(reporter.errors.map(\.code) == [.malformedFile])
            #expect(reporter.errors.first?.location == place)
            #expect(reporter.errors.first?.consequence.hasPrefix("it is skipped, and no setting") == true)
            for key in ["port", "other"] {
                let error = settingsError { try suite.setStoredValue(1, forKey: key) }
                #expect(error?.code == .managed)
                #expect(error?.location == place)
            }
            try file.replaceFile(with: #"{ "port": 9 }"#)
            await eventually("the corrected file is read") { port.value == 9 }
            try await suite.setStoredValue(1, forKey: "other")
            #expect(settingsError { try port.set(1) }?.code == .managed)
        }
    }

    @Test("the last good managed values remain managed while the file is broken", .deadlockLimit)
    func brokenLater() async throws {
        try await withLayer(#"{ "port": 9 }"#, as: SettingsSource.managed, reporter: reporter) { suite, file in
            let port = Setting("port", default: 0, suite: suite)
            #expect(port.value == 9)
            try file.overwriteFile(with: "")
            await eventually("the broken file is reported") { !reporter.errors.isEmpty }
            #expect(reporter.errors.map(\.code) == [.malformedFile])
            #expect(reporter.errors.first?.consequence == "its last good values are used")
            #expect(port.value == 9)
            #expect(settingsError { try port.set(1) }?.code == .managed)
            try await suite.setStoredValue(1, forKey: "other")
            // A file that is gone manages nothing.
            try FileManager.default.removeItem(atPath: file)
            await eventually("the key is no longer managed") { port.value == 0 }
            try await port.set(1)
            #expect(port.value == 1)
        }
    }

    @Test("a file that appears manages its keys before the next set, even if nothing is watched yet")
    func appearing() async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/managed.json"
            let suite = SettingsSuite.inMemory(sources: [.managed(file)], reporter: reporter)
            let port = Setting("port", default: 0, suite: suite)
            try await port.set(1)
            try file.writeLayer(#"{ "port": 9 }"#)
            let error = settingsError { try port.set(2) }
            // A file that is watched is noticed by an event. On a quiet machine, the watch begins later.
            let isWatched = suite.layers?.files?.hasEvents == true
            #expect(error?.code == .managed || isWatched)
            if isWatched { await eventually("the event arrives") { port.value == 9 } }
            #expect(settingsError { try suite.transaction { $0[port] = 2 } }?.code == .managed)
            #expect(port.value == 9)
        }
    }
}
