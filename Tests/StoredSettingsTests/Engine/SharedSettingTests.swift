// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Settings that are named more than once")
struct SharedSettingTests {
    private struct Doubled: StoredValueBridge {
        func storedValue(from value: Int) throws -> StoredValue { (2 * value).storedValue() }
        func value(from storedValue: StoredValue) throws -> Int { try Int(storedValue: storedValue) / 2 }
    }

    /// Equal to all others, but not stored alike.
    private struct Vague: Equatable, StoredValueConvertible {
        let number: Int
        let text = "more than fits into two words"

        init(_ number: Int) { self.number = number }
        init(storedValue: StoredValue) throws { self.init(try Int(storedValue: storedValue)) }
        func storedValue() throws -> StoredValue { number.storedValue() }
        static func == (left: Vague, right: Vague) -> Bool { true }
    }

    /// Stored alike, but not equal.
    private struct Lossy: Equatable, StoredValueConvertible {
        let text: String

        init(_ text: String) { self.text = text }
        init(storedValue: StoredValue) throws { self.init("") }
        func storedValue() throws -> StoredValue { 1.storedValue() }
    }

    private final class Watched: Sendable {}

    /// A text that is made anew, so that its bits are no other's.
    private func text(_ base: String) -> String { String(repeating: base, count: 30) }

    private let suite = SettingsSuite.inMemory()

    @Test("report to the reporter of the suite that each was named with")
    func reporterOfSuite() {
        let store = InMemoryStore(["a": "no number"])
        let reporters = (0..<2).map { _ in RecordingReporter() }
        let suites = reporters.map { SettingsSuite(store: store, reporter: $0) }
        for (index, suite) in suites.enumerated() {
            #expect(Setting("a", default: 1, suite: suite).value == 1)
            #expect(reporters.map(\.errors.count) == (index == 0 ? [1, 0] : [1, 1]))
        }
    }

    @Test("share what is decoded, when key, type and default are the same")
    func shared() {
        func settings() -> [AnyObject] {
            [
                Setting("a", default: 1, suite: suite).box,
                Setting("a", default: 1.5, suite: suite).box,
                Setting("a", default: text("b"), suite: suite).box,
                Setting("a", default: [text("b")], suite: suite).box,
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

    @Test("are told apart by defaults that only look the same")
    func defaults() {
        #expect(Setting("a", default: 0.0, suite: suite).box !== Setting("a", default: -0.0, suite: suite).box)
        let accented = [text("\u{E9}"), text("e\u{301}")]
        #expect(accented[0] == accented[1])
        #expect(
            Setting("a", default: accented[0], suite: suite).box
                !== Setting("a", default: accented[1], suite: suite).box
        )
        #expect(Setting("b", default: Vague(1), suite: suite).box !== Setting("b", default: Vague(2), suite: suite).box)
        let lossy = (
            Setting("c", default: Lossy(text("d")), suite: suite), Setting("c", default: Lossy("e"), suite: suite)
        )
        #expect(lossy.0.value.text == text("d"))
        #expect(lossy.1.value.text == "e")
        let optional = SettingKey<Int?>("f")
        let stored = DefaultStorage(wrappedValue: Int?.some(5), key: "f", suite: suite)
        let absent = DefaultStorage(wrappedValue: 5, optional, suite: suite)
        stored.wrappedValue = nil
        #expect(absent.wrappedValue == 5, "null is a value for the one that stores it alone")
        #expect(stored.wrappedValue == nil)
        #expect(stored.projectedValue.box !== absent.projectedValue.box)
    }

    @Test("share nothing where a closure decides, and are not kept, since it may hold the suite")
    func closures() async {
        func validated() -> Setting<Int> {
            DefaultStorage(wrappedValue: 1, key: "a", suite: suite) { $0 > 0 }.projectedValue
        }
        #expect(validated().box !== validated().box)
        weak var engine: SettingsEngine?
        do {
            let suite = SettingsSuite.inMemory()
            engine = suite.engine
            let other = Setting("other", default: 1, suite: suite)
            #expect(Setting(SettingKey("a", default: { other.value + 1 }), suite: suite).value == 2)
            #expect(Setting(SettingKey("b", default: 3) { $0 > other.value }, suite: suite).value == 3)
            let key = SettingKey("c", default: 1)
            #expect(Setting(key, suite: suite).box === DefaultStorage(key, suite: suite).projectedValue.box)
        }
        // A thread that looks through the open engines may hold it for a moment.
        await eventually("the engine is gone") { engine == nil }
    }

    /// Reads a store when it ends.
    private struct Reading: Equatable, StoredValueConvertible {
        final class End: Sendable {
            let store: InMemoryStore
            init(_ store: InMemoryStore) { self.store = store }
            deinit { _ = store.contents() }
        }

        let end: End?

        init(_ store: InMemoryStore) { end = End(store) }
        init(storedValue: StoredValue) throws { end = nil }
        func storedValue() throws -> StoredValue { .null }
        static func == (left: Reading, right: Reading) -> Bool { left.end === right.end }
    }

    @Test("end under no lock of their store, when the last suite goes while something is committed")
    func endDuringCommit() {
        for _ in 0..<1_000 {
            let store = InMemoryStore()
            let last = Mutex<SettingsSuite?>(SettingsSuite(store: store))
            DispatchQueue.concurrentPerform(iterations: 2) { thread in
                if thread == 0 {
                    guard let suite = last.withLock({ $0.take() }) else { return }
                    #expect(Setting("a", default: Reading(store), suite: suite).defaultValue.end != nil)
                } else {
                    for number in 0..<Int128(20) {
                        #expect(throws: Never.self) { try store.commit { $0["b"] = .integer(number) } }
                    }
                }
            }
        }
    }

    @Test("are let go of when there are many that nobody uses")
    func bounded() {
        weak var early: AnyObject?
        let kept = Setting("kept", default: 1, suite: suite)
        for number in 0..<3 * SettingRegistry.leastLimit {
            let setting = Setting("key\(number)", default: number, suite: suite)
            #expect(setting.value == number)
            if number == 0 { early = setting.box }
            #expect(suite.engine.settings.withLock { $0.count } <= SettingRegistry.leastLimit + 1)
        }
        #expect(early == nil)
        #expect(Setting("kept", default: 1, suite: suite).box === kept.box)
    }

    @Test("are not looked for among endlessly many of one key")
    func manyOfOneKey() {
        let settings = (0..<1_000).map { Setting("a", default: $0, suite: suite) }
        #expect(suite.engine.settings.withLock { $0.count } <= 16)
        #expect(settings.map(\.value) == Array(0..<1_000))
    }

    @Test("keep neither their suite nor their store open")
    func ending() async throws {
        try await withTemporaryDirectory { directory in
            weak var engine: SettingsEngine?
            weak var box: AnyObject?
            do {
                let suite = SettingsSuite(fileAt: "\(directory)/settings.json")
                let setting = Setting("a", default: "text", suite: suite)
                #expect(setting.value == "text")
                (engine, box) = (suite.engine, setting.box)
                #expect(engine != nil)
            }
            // A thread that looks through the open engines may hold it for a moment.
            await eventually("the engine is gone") { engine == nil }
            await eventually("the box is gone") { box == nil }
        }
    }
}
