// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Observation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Settings that are declared more than once")
struct SharedSettingTests {
    private struct Doubled: StoredValueBridge {
        func storedValue(from value: Int) throws -> StoredValue { (2 * value).storedValue() }
        func value(from storedValue: StoredValue) throws -> Int { try Int(storedValue: storedValue) / 2 }
    }

    /// A type whose values are all equal, but stored differently.
    private struct Vague: Equatable, StoredValueConvertible {
        let number: Int
        let text = "more than fits into two words"

        init(_ number: Int) { self.number = number }
        init(storedValue: StoredValue) throws { self.init(try Int(storedValue: storedValue)) }
        func storedValue() throws -> StoredValue { number.storedValue() }
        static func == (left: Vague, right: Vague) -> Bool { true }
    }

    /// A type whose values are all stored as the same value, but not equal.
    private struct Lossy: Equatable, StoredValueConvertible {
        let text: String

        init(_ text: String) { self.text = text }
        init(storedValue: StoredValue) throws { self.init("") }
        func storedValue() throws -> StoredValue { 1.storedValue() }
    }

    /// Creates a string with its own storage.
    private func uniqueString(_ base: String) -> String { String(repeating: base, count: 30) }

    private let suite = SettingsSuite.inMemory()

    @Test("settings of suites with one store are reported to the reporters, and under the names, of their suites")
    func reporters() {
        let store = InMemoryStore(["a": "no number"])
        let (one, other) = (RecordingReporter(), RecordingReporter())
        for (name, reporter) in [("one", one), ("two", one), ("three", other)] {
            let suite = SettingsSuite(store: store, name: name, reporter: reporter)
            #expect(Setting("a", default: 1, suite: suite).value == 1)
        }
        #expect(one.errors.map(\.suite) == ["one", "two"])
        #expect(other.errors.map(\.suite) == ["three"])
    }

    @Test("settings with the same key, type and default share a cache")
    func shared() {
        func settings() -> [AnyObject] {
            [
                Setting("a", default: 1, suite: suite).box,
                Setting("a", default: 1.5, suite: suite).box,
                Setting("a", default: uniqueString("b"), suite: suite).box,
                Setting("a", default: [uniqueString("b")], suite: suite).box,
                DefaultStorage(wrappedValue: 2, key: "a", suite: suite, in: 1...9).projectedValue.box,
                DefaultStorage(wrappedValue: 2, key: "a", suite: suite, in: 2...9).projectedValue.box,
                DefaultStorage(wrappedValue: 2, key: "a", suite: suite, in: 1..<9).projectedValue.box,
                DefaultStorage(wrappedValue: 1, key: "a", suite: suite, as: Doubled()).projectedValue.box,
                DefaultStorage(wrappedValue: Int?.none, key: "a", suite: suite).projectedValue.box,
                DefaultStorageOptional<Int>(key: "a", suite: suite).projectedValue.box,
                DefaultStorageOptional<Int>(key: "a", suite: suite, in: 1...9).projectedValue.box,
                DefaultStorageOptional<Int>(key: "a", suite: suite, as: Doubled()).projectedValue.box,
            ]
        }
        let (first, second) = (settings(), settings())
        #expect(first.map(ObjectIdentifier.init) == second.map(ObjectIdentifier.init))
        #expect(Set(first.map(ObjectIdentifier.init)).count == first.count)
    }

    @Test("settings whose defaults are equal but not identical are distinct")
    func defaults() {
        let zeros = [0.0, -0.0].map { Setting("a", default: $0, suite: suite) }
        #expect(zeros.map(\.value.sign) == [.plus, .minus])
        let accented = [uniqueString("\u{E9}"), uniqueString("e\u{301}")]
        #expect(accented[0] == accented[1])
        let names = accented.map { Setting("a", default: $0, suite: suite) }
        #expect(names.map { Array($0.value.utf8) } == accented.map { Array($0.utf8) })
        let vague = [1, 2].map { Setting("b", default: Vague($0), suite: suite) }
        #expect(vague.map(\.value.number) == [1, 2])
        let lossy = (
            Setting("c", default: Lossy(uniqueString("d")), suite: suite),
            Setting("c", default: Lossy("e"), suite: suite)
        )
        #expect(lossy.0.value.text == uniqueString("d"))
        #expect(lossy.1.value.text == "e")
        let optional = SettingKey<Int?>("f")
        let stored = DefaultStorage(wrappedValue: Int?.some(5), key: "f", suite: suite)
        let absent = DefaultStorage(wrappedValue: 5, optional, suite: suite)
        stored.wrappedValue = nil
        #expect(absent.wrappedValue == 5, "null is a value only for the setting that stores it")
        #expect(stored.wrappedValue == nil)
    }

    @Test("settings with closures share nothing, because a closure may reference the suite")
    func closures() {
        func validated() -> Setting<Int> {
            DefaultStorage(wrappedValue: 1, key: "a", suite: suite) { $0 > 0 }.projectedValue
        }
        #expect(validated().box !== validated().box)
        let key = SettingKey("c", default: 1)
        #expect(Setting(key, suite: suite).box === DefaultStorage(key, suite: suite).projectedValue.box)
    }

    /// A value that reads a store when it is released.
    private struct ReadingOnRelease: Equatable, StoredValueConvertible {
        final class Reference: Sendable {
            let store: InMemoryStore
            init(_ store: InMemoryStore) { self.store = store }
            deinit { _ = store.contents() }
        }

        let reference: Reference?

        init(_ store: InMemoryStore) { reference = Reference(store) }
        init(storedValue: StoredValue) throws { reference = nil }
        func storedValue() throws -> StoredValue { .null }
        static func == (left: ReadingOnRelease, right: ReadingOnRelease) -> Bool { left.reference === right.reference }
    }

    @Test("settings are released under no lock of their store when the last suite is released during a commit")
    func releaseDuringCommit() {
        for _ in 0..<1_000 {
            let store = InMemoryStore()
            let last = Mutex<SettingsSuite?>(SettingsSuite(store: store))
            DispatchQueue.concurrentPerform(iterations: 2) { thread in
                if thread == 0 {
                    guard let suite = last.withLock({ $0.take() }) else { return }
                    #expect(Setting("a", default: ReadingOnRelease(store), suite: suite).defaultValue.reference != nil)
                } else {
                    for number in 0..<Int128(20) {
                        #expect(throws: Never.self) { try store.commit { $0["b"] = .integer(number) } }
                    }
                }
            }
        }
    }

    @Test("unused settings are released when there are many")
    func bounded() {
        weak var early: AnyObject?
        let retained = Setting("kept", default: 1, suite: suite)
        for number in 0..<3 * SettingRegistry.leastLimit {
            let setting = Setting("key\(number)", default: number, suite: suite)
            #expect(setting.value == number)
            if number == 0 { early = setting.box }
            #expect(suite.engine.settings.withLock { $0.count } <= SettingRegistry.leastLimit + 1)
        }
        #expect(early == nil)
        #expect(Setting("kept", default: 1, suite: suite).box === retained.box)
    }

    /// What a program does with a suite before it releases the suite, and what must be released as well.
    private static let uses: [(name: String, use: @Sendable (SettingsSuite) -> AnyObject)] = [
        (
            "a setting",
            { suite in
                let setting = Setting("a", default: "text", suite: suite)
                #expect(setting.value == "text")
                return setting.box
            }
        ),
        (
            "a computed default",
            { suite in
                let other = Setting("other", default: 1, suite: suite)
                #expect(Setting(SettingKey("a", default: { other.value + 1 }), suite: suite).value == 2)
                return other.box
            }
        ),
        (
            "a validator",
            { suite in
                let other = Setting("other", default: 1, suite: suite)
                #expect(Setting(SettingKey("b", default: 3) { $0 > other.value }, suite: suite).value == 3)
                return other.box
            }
        ),
        (
            "a requirement",
            { suite in
                let pool = PoolSettings(suite)
                #expect(pool.values == [1, 10])
                return pool.$least.box
            }
        ),
        (
            "a tracked read",
            { suite in
                let setting = Setting("a", default: 1, suite: suite.observable())
                withObservationTracking {
                    #expect(setting.value == 1)
                } onChange: {
                }
                return setting.box
            }
        ),
    ]

    @Test("nothing that a program does with a suite retains it", arguments: uses.indices)
    func release(index: Int) async throws {
        try await withTemporaryDirectory { directory in
            weak var engine: SettingsEngine?
            weak var box: AnyObject?
            do {
                let suite = SettingsSuite(fileAt: "\(directory)/settings.json")
                engine = suite.engine
                box = Self.uses[index].use(suite)
                #expect(engine != nil)
            }
            // A thread that iterates over the open engines may hold it briefly.
            await eventually("the engine is released after \(Self.uses[index].name)") { engine == nil }
            await eventually("the box is released after \(Self.uses[index].name)") { box == nil }
        }
    }
}
