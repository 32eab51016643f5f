// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Reads while the store and a layer change", .deadlockLimit)
struct ConsistentReadTests {
    @Test("a read returns no value of a base that a stored value hid at that time")
    func reads() throws {
        let number = try LayeredLevel(1, unusable: 99)
        #expect(number.setting.value == 1)
        try number.changeDuringNextRead(base: 2, thenStored: 3, andBase: 4)
        #expect(number.setting.value == 3)
        #expect(number.setting.value == 3)

        // Its values do not fit into the cache of a word.
        let text = try LayeredLevel("one", unusable: "99")
        #expect(text.setting.value == "one")
        try text.changeDuringNextRead(base: "two", thenStored: "three", andBase: "four")
        #expect(text.setting.value == "three")
        try text.setting.reset()
        #expect(text.setting.value == "four")
    }

    @Test("a transaction reads the values of a file at its start")
    func transaction() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/base.json"
            try path.writeLayer(#"{"a": 1, "b": 1}"#)
            let suite = SettingsSuite.inMemory(sources: [.stored, .file(path)])
            let (a, b) = (Setting("a", default: 0, suite: suite), Setting("b", default: 0, suite: suite))
            #expect(a.value == b.value)
            let values = try await suite.transaction { settings in
                let first = settings[a]
                try path.replaceFile(with: #"{"a": 2, "b": 2}"#)
                for files in suite.engine.layerFiles.withLock(\.self) { files.look() }
                return [first, settings[b]]
            }
            #expect(values == [1, 1])
            #expect([a.value, b.value] == [2, 2])
        }
    }

    @Test("neither does a first read, which determines the value in use until a restart")
    func startValue() throws {
        let level = try LayeredLevel(1, unusable: 99, traits: .requiresRestart)
        try level.changeDuringNextRead(base: 2, thenStored: 3, andBase: 4)
        #expect(level.setting.value == 3)
        #expect(!level.setting.explain().isRestartPending)
    }

    @Test("a stream begins with no such value, and receives none")
    func values() async throws {
        let level = try LayeredLevel(1, unusable: 99)
        try level.changeDuringNextRead(base: 2, thenStored: 3, andBase: 4)
        var values = level.setting.values.makeAsyncIterator()
        #expect(await values.next() == 3)
        try await level.setting.reset()
        #expect(await values.next() == 4)
        try level.changeDuringNextRead(base: 5, thenStored: 6, andBase: 7)
        #expect(await values.next() == 6)
        // A change of the store is read with the layers, too.
        try await level.setting.reset()
        try await level.setting.set(8)
        try await level.fleet.setStoredValue(9, forKey: "level")
        #expect(await values.next() == 8)
    }

    @Test("a stream of changes and an observer receive none")
    func changes() async throws {
        let level = try LayeredLevel(1, unusable: 99)
        #expect(level.setting.value == 1)
        var changes = level.setting.changes().makeAsyncIterator()
        try level.changeDuringNextRead(base: 2, thenStored: 3, andBase: 4)
        let change = try #require(await changes.next())
        #expect([change.old, change.new] == [1, 3])

        let observed = try LayeredLevel(1, unusable: 99)
        #expect(observed.setting.value == 1)
        let seen = ObservedChanges(of: observed.setting)
        try observed.changeDuringNextRead(base: 2, thenStored: 3, andBase: 4)
        await eventually("the observer has received the last change") { seen.new.last == 3 }
        #expect(seen.pairs == [[1, 3]])
    }

    @Test("a stream of several settings has no such value, and repeats none")
    func tuples() async throws {
        let level = try LayeredLevel(1, unusable: 99)
        let other = Setting("other", default: 0, suite: level.suite)
        try level.changeDuringNextRead(base: 2, thenStored: 3, andBase: 4)
        var values = level.suite.values(of: level.setting, other).makeAsyncIterator()
        #expect(await values.next() ?? (0, 0) == (3, 0))
        try await level.setting.reset()
        #expect(await values.next() ?? (0, 0) == (4, 0))
        try level.changeDuringNextRead(base: 5, thenStored: 4, andBase: 6)
        try await other.set(7)
        #expect(await values.next() ?? (0, 0) == (4, 7))
    }
}

/// A setting with an override and a base.
///
/// The override is never valid. So each change of the base makes a read validate it, after reading the store and before reading
/// the base, and there the test changes both.
private struct LayeredLevel<Value: StoredValueConvertible & Sendable>: Sendable {
    let fleet: SettingsSuite
    let suite: SettingsSuite
    let setting: Setting<Value>
    private let change = NextAction()

    /// - Parameters:
    ///   - value: The value of the base.
    ///   - unusable: The value of the override, `99`.
    ///   - traits: The traits of the setting.
    /// - Throws: The error of a value without a stored form.
    init(_ value: Value, unusable: Value, traits: SettingTraits = []) throws {
        fleet = .inMemory(["level": try value.storedValue()])
        suite = .inMemory(
            sources: [.environment(["LEVEL": "99"], prefix: ""), .suite(fleet)],
            reporter: RecordingReporter()
        )
        let unusable = try unusable.storedValue()
        setting = Setting(
            "level",
            default: value,
            suite: suite,
            validate: { [change] value in
                guard try value.storedValue() == unusable else { return true }
                try change.perform()
                return false
            },
            traits: traits
        )
    }

    /// Changes the base now, and the store and then the base in the next read.
    func changeDuringNextRead(base: Value, thenStored stored: Value, andBase hidden: Value) throws {
        let (fleet, setting) = (fleet, setting)
        let value = try hidden.storedValue()
        change.set {
            try setting.set(stored)
            try fleet.setStoredValue(value, forKey: "level")
        }
        try fleet.setStoredValue(base.storedValue(), forKey: "level")
    }
}
