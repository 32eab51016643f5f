// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Streams", .deadlockLimit)
struct StreamTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite
    private let port: Setting<Int>

    init() {
        suite = .inMemory(reporter: reporter)
        port = Setting("port", default: 1, suite: suite)
    }

    @Test("Row 33: values start with the current value and continue with each change")
    func values() async throws {
        var iterator = port.values.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        port.value = 2
        #expect(await iterator.next() == 2)
        try await port.reset()
        #expect(await iterator.next() == 1)
    }

    @Test("a slow consumer receives the newest value, and one change for all changes that it missed")
    func slow() async {
        let changes = port.changes()
        var values = port.values.makeAsyncIterator()
        #expect(await values.next() == 1)
        for value in 2...1_000 { port.value = value }
        #expect(await values.next() == 1_000)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next() == SettingChange(old: 1, new: 1_000, origin: .local))
    }

    @Test("equal values, other keys, and a stored default are no changes")
    func onlyRealChanges() async throws {
        var values = port.values.makeAsyncIterator()
        let changes = port.changes()
        #expect(await values.next() == 1)
        port.value = 1
        port.value = 1
        Setting("other", default: 0, suite: suite).value = 7
        try await port.reset()
        port.value = 5
        #expect(await values.next() == 5)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next() == SettingChange(old: 1, new: 5, origin: .local))
    }

    @Test("a value that cannot be decoded is no change, and is reported")
    func undecodable() async throws {
        port.value = 5
        var values = port.values.makeAsyncIterator()
        #expect(await values.next() == 5)
        try await suite.setStoredValue("x", forKey: "port")
        #expect(port.value == 5)
        #expect(reporter.errors.map(\.code) == [.typeMismatch])
        port.value = 7
        #expect(await values.next() == 7)
    }

    @Test("every subscriber has its own stream, and a sequence can be used again")
    func subscribers() async {
        let values = port.values
        var (one, two) = (values.makeAsyncIterator(), values.makeAsyncIterator())
        #expect(await one.next() == 1)
        port.value = 2
        #expect(await one.next() == 2)
        #expect(await two.next() == 1)
        #expect(await two.next() == 2)
    }

    @Test("Row 33: changes start when the property is read, and a second loop starts when it begins")
    func changesBegin() async {
        let changes = port.changes()
        port.value = 2
        var one = changes.makeAsyncIterator()
        var two = changes.makeAsyncIterator()
        port.value = 3
        #expect(await one.next() == SettingChange(old: 1, new: 3, origin: .local))
        #expect(await two.next() == SettingChange(old: 2, new: 3, origin: .local))
    }

    @Test("a suite's changes contain all keys, or some, and a transaction is one change")
    func suiteChanges() async throws {
        let (all, some) = (suite.changes(), suite.changes(of: "port", "low"))
        try await suite.transaction {
            $0[port] = 2
            $0[storedValueFor: "other"] = "x"
        }
        var allIterator = all.makeAsyncIterator()
        let change = try #require(await allIterator.next())
        #expect(change.keys == ["other", "port"])
        #expect(change["port"] == SettingChange(old: nil, new: 2, origin: .local))
        try await suite.setStoredValue("y", forKey: "other")
        try await suite.setStoredValue(1, forKey: "low")
        var someIterator = some.makeAsyncIterator()
        #expect(await someIterator.next()?.keys == ["low", "port"])
    }

    @Test("cancellation ends a loop at once and removes its subscriber")
    func cancellation() async {
        let hasStarted = Mutex(false)
        let loop = Task { [port] in
            for await _ in port.values { hasStarted.withLock { $0 = true } }
            return "ended"
        }
        await eventually("the loop has started") { hasStarted.withLock { $0 } }
        #expect(suite.engine.subscriberCount == 1)
        loop.cancel()
        #expect(await within { await loop.value } == "ended")
        await eventually("the subscriber is removed") { suite.engine.subscriberCount == 0 }
    }

    @Test("a loop in a canceled task ends without a value")
    func canceledTask() async {
        let loop = Task { [port] in
            withUnsafeCurrentTask { $0?.cancel() }
            var count = 0
            for await _ in port.values { count += 1 }
            for await _ in port.changes() { count += 1 }
            return count
        }
        #expect(await within { await loop.value } == 0)
    }

    @Test("leaving a loop removes its subscriber")
    func leaving() async {
        for await _ in port.values { break }
        _ = port.changes()
        #expect(suite.engine.subscriberCount == 0)
    }

    @Test("a stream retains its suite, which is released with the last stream")
    func lifetime() async {
        weak var engine: SettingsEngine?
        do {
            let values = {
                let suite = SettingsSuite.inMemory(["port": 3])
                engine = suite.engine
                return Setting("port", default: 1, suite: suite).values
            }()
            var iterator = values.makeAsyncIterator()
            #expect(await iterator.next() == 3)
            #expect(engine != nil)
        }
        // A thread that creates a suite may hold the engine briefly.
        await eventually("the engine is released") { engine == nil }
    }

    @Test("values of a bridge that cannot encode are compared by their stored values")
    func readingBridge() async throws {
        struct ReadingBridge: StoredValueBridge {
            func value(from storedValue: StoredValue) throws -> String { try String(storedValue: storedValue) }
            func storedValue(from value: String) throws -> StoredValue { throw SettingsError.unstorable("no form") }
        }
        let setting = Setting(SettingKey("name", default: "none", as: ReadingBridge()), suite: suite)
        var values = setting.values.makeAsyncIterator()
        #expect(await values.next() == "none")
        try await suite.setStoredValue("a", forKey: "name")
        #expect(await values.next() == "a")
        try await suite.setStoredValue("b", forKey: "name")
        await suite.finish()
        #expect(await values.next() == "b")
    }

    @Test("the first stream makes a store watch for changes by other processes")
    func watching() async {
        let store = FailingStore()
        let port = Setting("port", default: 1, suite: SettingsSuite(store: store))
        #expect(port.value == 1)
        #expect(store.watchingCount == 0)
        var values = port.values.makeAsyncIterator()
        #expect(await values.next() == 1)
        #expect(store.watchingCount > 0)
    }

    @Test("when a value arrives, a read returns it or a newer one")
    func readsAgree() async {
        let setting = Setting("n", default: 0, suite: .inMemory())
        let loop = Task {
            for await value in setting.values {
                #expect(setting.value >= value)
                if value == 2_000 { break }
            }
            return true
        }
        await blocking { for value in 1...2_000 { setting.value = value } }
        #expect(await within { await loop.value } == true)
    }
}
