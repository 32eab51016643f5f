// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

private struct UnixSeconds: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Date {
        Date(timeIntervalSince1970: try storedValue.as(Double.self))
    }

    func storedValue(from value: Date) throws -> StoredValue {
        .double(value.timeIntervalSince1970)
    }
}

extension SettingKeys {
    fileprivate static let startedAt = SettingKey("startedAt", default: Date(timeIntervalSince1970: 0))
    fileprivate static let stoppedAt = SettingKey<Date?>("stoppedAt")
    fileprivate static let level = SettingKey("logLevel", default: "info") { $0 != "" }
    fileprivate static let port = SettingKey("port", default: 8080, in: 1...65_535)
}

private let record = "storedSettings.migrations"

@Suite("Parity: migrations", .deadlockLimit)
struct MigratingParityTests {
    private let suite = SettingsSuite.inMemory(["log_level": "debug", "startedAt": 100, "unknown": [1]])

    private var migrator: SettingsMigrator {
        var migrator = SettingsMigrator()
        migrator.addStep("rename the level") { $0.rename("log_level", to: "logLevel") }
        migrator.addStep("convert the date") { try $0.convert(.startedAt, from: UnixSeconds()) }
        return migrator
    }

    @Test("Row 43: stored values are renamed and converted once, as one change")
    func once() async throws {
        var changes = suite.changes().makeAsyncIterator()
        await #expect(try migrator.migrate(suite) == ["rename the level", "convert the date"])
        let expected: [String: StoredValue] = [
            "logLevel": "debug", "startedAt": "1970-01-01T00:01:40Z", "unknown": [1],
            record: ["rename the level", "convert the date"],
        ]
        #expect(suite.snapshot() == expected)
        #expect(suite[.level] == "debug")
        #expect(await changes.next()?.keys == ["logLevel", "log_level", "startedAt", record])

        // A converted value is not converted again.
        await #expect(try migrator.migrate(suite) == [])
        #expect(suite.snapshot() == expected)
    }

    @Test("Row 43: a later version adds steps, and only those run")
    func later() throws {
        try migrator.migrate(suite)
        var later = migrator
        later.addStep("split the hosts") { settings in
            settings[storedValueFor: "hosts"] = "a,b"
            try settings.convert("hosts") { stored in
                .array(try stored.as(String.self).split(separator: ",").map { .string(String($0)) })
            }
            try settings.convert("absent") { _ in 1 }
            try settings.convert("unknown") { _ in nil }
        }
        #expect(try later.migrate(suite) == ["split the hosts"])
        #expect(suite[storedValueFor: "hosts"] == ["a", "b"])
        #expect(!suite.contains("absent") && !suite.contains("unknown"))
        // The older version runs again: it does nothing and preserves the record.
        #expect(try migrator.migrate(suite) == [])
        #expect(try suite[storedValueFor: record]?.as([String].self).count == 3)
    }

    @Test("Row 43: recorded steps that only another version knows stay in the record when further steps run")
    func unknownSteps() throws {
        try suite.setStoredValue(["a step of another version", "rename the level"], forKey: record)
        #expect(try migrator.migrate(suite) == ["convert the date"])
        let expected: StoredValue = ["a step of another version", "rename the level", "convert the date"]
        #expect(suite[storedValueFor: record] == expected)
        #expect(suite.contains("log_level"))
    }

    @Test("Row 43: a failed step is named, and all steps are undone")
    func failing() throws {
        try suite.setStoredValue(["no", "date"], forKey: "startedAt")
        let before = suite.snapshot()
        let error = try #require(settingsError { try migrator.migrate(suite) })
        #expect(error.code == .migrationFailed)
        #expect(error.key == "startedAt")
        #expect((error.underlying as? SettingsError)?.code == .typeMismatch)
        #expect(error.message.contains("'convert the date'"))
        #expect(suite.snapshot() == before)
        // All steps run after the value has been corrected.
        try suite.setStoredValue(5, forKey: "startedAt")
        #expect(try migrator.migrate(suite).count == 2)
    }

    @Test("Row 43: a step fails if it assigns an invalid value")
    func invalidValue() throws {
        var migrator = SettingsMigrator()
        migrator.addStep("too high") { $0[.port] = 70_000 }
        migrator.addStep("fine") { $0[.port] = 80 }
        let error = try #require(settingsError { try migrator.migrate(suite) })
        #expect(error.message.contains("'too high'"))
        #expect((error.underlying as? SettingsError)?.code == .validationFailed)

        struct Empty: StoredValueBridge {
            func value(from storedValue: StoredValue) -> String { "" }
            func storedValue(from value: String) -> StoredValue { "" }
        }
        var other = SettingsMigrator()
        other.addStep("rejected") { settings in
            settings.rename("log_level", to: "logLevel")
            try settings.convert(.level, from: Empty())
        }
        #expect((settingsError { try other.migrate(suite) }?.underlying as? SettingsError)?.code == .validationFailed)
        #expect(suite.contains("log_level") && !suite.contains(.level) && !suite.contains(record))
    }

    @Test("bridges of optionals convert optional keys and optional settings")
    func optional() throws {
        let endedAt = Setting(SettingKey<Date?>("endedAt", default: Date(timeIntervalSince1970: 9)), suite: suite)
        try suite.setStoredValue(200, forKey: "stoppedAt")
        try suite.setStoredValue(300, forKey: "endedAt")
        try suite.transaction { settings in
            try settings.convert(.stoppedAt, from: UnixSeconds().optional)
            try settings.convert(endedAt, from: UnixSeconds().optional)
            try settings.convert(SettingKey<Date?>("absent"), from: UnixSeconds().optional)
        }
        #expect(try Setting(.stoppedAt, suite: suite).load() == Date(timeIntervalSince1970: 200))
        #expect(try endedAt.load() == Date(timeIntervalSince1970: 300))
        #expect(suite[storedValueFor: "stoppedAt"] != 200 && !suite.contains("absent"))

        try suite.setStoredValue(200, forKey: "stoppedAt")
        try suite.setStoredValue(.null, forKey: "endedAt")
        try suite.transaction { settings in
            try settings.convert(.stoppedAt, from: UnixSeconds().optional)
            try settings.convert(endedAt, from: UnixSeconds().optional)
        }
        #expect(suite[.stoppedAt] == Date(timeIntervalSince1970: 200))
        #expect(endedAt.value == nil && endedAt.isSet)
    }

    @Test("Row 43: renaming to a key that has a value changes neither value")
    func existingKey() throws {
        try suite.setStoredValue("error", forKey: "logLevel")
        try migrator.migrate(suite)
        #expect(suite[.level] == "error")
        #expect(suite[storedValueFor: "log_level"] == "debug")
    }

    @Test("Row 43: values are imported from another suite, which retains them")
    func importing() throws {
        let old = SettingsSuite.inMemory(["a": 1, "b": 2])
        let new = SettingsSuite.inMemory(["b": 3])
        var migrator = SettingsMigrator(recordKey: "imports")
        migrator.addStep("import from the old suite") { settings in
            for (key, value) in old.snapshot() where settings[storedValueFor: key] == nil {
                settings[storedValueFor: key] = value
            }
        }
        try migrator.migrate(new)
        #expect(new.snapshot() == ["a": 1, "b": 3, "imports": ["import from the old suite"]])
        try new.setStoredValue(nil, forKey: "a")
        try migrator.migrate(new)
        #expect(!new.contains("a"))
        #expect(old.keys == ["a", "b"])
    }

    @Test("Row 43: steps that another process runs first do not run again")
    func concurrentMigration() throws {
        let store = ConcurrentlyChangedStore(["number": 20]) { transaction in
            transaction["number"] = 40
            transaction[record] = ["double"]
        }
        var migrator = SettingsMigrator()
        for name in ["double", "double again"] {
            migrator.addStep(name) { try $0.convert("number") { .integer(Int128(try $0.as(Int.self) * 2)) } }
        }
        let suite = SettingsSuite(store: store)
        #expect(try migrator.migrate(suite) == ["double again"])
        #expect(suite.snapshot() == ["number": 80, record: ["double", "double again"]])
    }

    @Test("Row 43: an unreadable record, or two steps with one name, change nothing")
    func invalidRecord() throws {
        try suite.setStoredValue("all of them", forKey: record)
        let before = suite.snapshot()
        let error = try #require(settingsError { try migrator.migrate(suite) })
        #expect(error.code == .typeMismatch)
        #expect(error.key == record)
        #expect(suite.snapshot() == before)

        var twice = migrator
        twice.addStep("convert the date") { _ in }
        expectError(.migrationFailed) { try twice.migrate(.inMemory()) }
    }

    @Test("Row 43: a migration without steps to run writes nothing, and a malformed file is not migrated")
    func files() async throws {
        try await withSettingsPath { path in
            try path.replaceFile(with: #"{ "startedAt": 100 }"#)
            let before = SettingsSuite(fileAt: path)
            try await before.setStoredValue(1, forKey: "other")
            await before.finish()

            // A program that starts with a malformed file reads the last good copy and does not migrate it.
            try path.replaceFile(with: "{ broken")
            let suite = SettingsSuite(fileAt: path, reporter: RecordingReporter())
            let error = try #require(settingsError { try migrator.migrate(suite) })
            #expect(error.code == .malformedFile)
            #expect(error.consequence.contains("no setting is migrated"))
            #expect(suite[storedValueFor: "startedAt"] == 100)
            #expect(!suite.contains(record))

            // The corrected file is migrated.
            try path.replaceFile(with: #"{ "startedAt": 200 }"#)
            await eventually("the corrected file is read") { suite[storedValueFor: "startedAt"] == 200 }
            try await migrator.migrate(suite)
            #expect(suite[.startedAt] == Date(timeIntervalSince1970: 200))
            try await suite.checkpoint()
            let journal = try JournalFile(of: path).bytes
            try await migrator.migrate(suite)
            #expect(try JournalFile(of: path).bytes == journal)
            await suite.finish()
        }
    }

    @Test("a migration throws if its changes cannot be saved, and does not if no step is pending")
    func unsaved() throws {
        let store = FailingStore(["log_level": "debug"])
        let suite = SettingsSuite(store: store, reporter: RecordingReporter())
        let readOnly = SettingsError(.readOnly, fact: "the directory cannot be written")
        store.fail(with: readOnly)
        expectError(.readOnly) { try migrator.migrate(suite) }
        store.fail(with: nil)
        try migrator.migrate(suite)
        store.fail(with: readOnly)
        #expect(try migrator.migrate(suite) == [])
    }

    @Test("removing all values removes the record, so that the steps run again")
    func removedRecord() throws {
        try migrator.migrate(suite)
        try suite.removeAll()
        #expect(suite.keys.isEmpty)
        #expect(try migrator.migrate(suite).count == 2)
        #expect(suite.keys == [record])
    }
}

/// A store that another process changes just before its first commit.
private final class ConcurrentlyChangedStore: ForwardingStore {
    typealias Body = @Sendable (inout StoreTransaction) -> Void

    let memory: InMemoryStore
    private let externalChange: Mutex<Body?>

    init(_ values: [String: StoredValue], externalChange: @escaping Body) {
        memory = InMemoryStore(values)
        self.externalChange = Mutex(externalChange)
    }

    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        if let change = externalChange.withLock({ $0.take() }) { try memory.commit { change(&$0) } }
        return try memory.commit(body)
    }
}
