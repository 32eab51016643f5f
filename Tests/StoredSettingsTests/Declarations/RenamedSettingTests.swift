// SPDX-License-Identifier: Apache-2.0

import Foundation
import Observation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A renamed setting", .deadlockLimit)
struct RenamedSettingTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite
    private let limit: Setting<Int>

    init() {
        suite = .inMemory(["oldLimit": 5], reporter: reporter)
        limit = Setting("limit", default: 1, suite: suite, traits: .renamed(from: "oldLimit", "oldestLimit"))
    }

    /// The ways to change a setting, with the contents that remain.
    static let changes: [(String, @Sendable (Setting<Int>) throws -> Void, [String: StoredValue])] = [
        ("set", { try $0.set(7) }, ["limit": 7]),
        ("assignment", { $0.value = 7 }, ["limit": 7]),
        ("update", { try $0.update { $0 += 2 } }, ["limit": 7]),
        ("update without a change", { try $0.update { _ in } }, ["limit": 5]),
        ("transaction", { setting in try setting.suite.transaction { $0[setting] += 2 } }, ["limit": 7]),
        ("reset", { try $0.reset() }, [:]),
        ("reset in a transaction", { setting in try setting.suite.transaction { try $0.reset(setting) } }, [:]),
        ("reset of a key", { try $0.suite.reset(key) }, [:]),
        ("reset of a key in a transaction", { try $0.suite.transaction { try $0.reset(key) } }, [:]),
    ]

    private static let key = SettingKey("limit", default: 1, traits: .renamed(from: "oldLimit", "oldestLimit"))

    @Test("has the value of its old key while none is stored under the new one")
    func reading() throws {
        #expect(limit.value == 5)
        #expect(limit.value == 5)
        #expect(limit.isSet)
        #expect(try limit.load() == 5)
        #expect(limit.explain().layer == .store)
        #expect(suite[Self.key] == 5)
        #expect(suite.contains(Self.key))
        #expect(suite.snapshot() == ["oldLimit": 5])
        try suite.setStoredValue(6, forKey: "oldLimit")
        #expect(limit.value == 6)
        try suite.setStoredValue(nil, forKey: "oldLimit")
        #expect(limit.value == 1)
        try suite.setStoredValue(9, forKey: "oldestLimit")
        #expect(limit.value == 9)
        #expect(reporter.errors.isEmpty)
    }

    @Test("is moved to its new key in one commit by the first change", arguments: 0..<changes.count)
    func changing(_ index: Int) throws {
        let (name, change, contents) = Self.changes[index]
        // Observers are called after each commit.
        let commits = CallLog<[String: StoredValue]>()
        let observations = ["limit", "oldLimit"]
            .map { key in
                Setting(key, default: 0, suite: suite).observe { [suite] _ in commits.add(suite.snapshot()) }
            }
        try change(limit)
        #expect(suite.snapshot() == contents, "\(name)")
        #expect(!commits.all.isEmpty && commits.all.allSatisfy { $0 == contents }, "\(name)")
        #expect(reporter.errors.isEmpty)
        withExtendedLifetime(observations) {}
    }

    @Test("uses the new key, and reports that once, when both keys have a value")
    func both() throws {
        try suite.setStoredValue(2, forKey: "limit")
        #expect(limit.value == 2)
        try suite.setStoredValue(3, forKey: "limit")
        #expect(limit.value == 3)
        #expect(reporter.errors.map(\.code) == [.oldKeyIgnored])
        #expect(reporter.errors.first?.message.contains("'oldLimit'") == true)
        try limit.set(4)
        #expect(suite.snapshot() == ["limit": 4])
    }

    @Test("is observed, streamed and tracked under all of its keys, and its move is no change")
    func observing() async throws {
        let suite = SettingsSuite.inMemory(["oldLimit": 5]).observable()
        let limit = Setting("limit", default: 1, suite: suite, traits: .renamed(from: "oldLimit"))
        let other = Setting("other", default: 0, suite: suite)
        let (seen, calls, notified) = (CallLog<[Int]>(), Counter(), Counter())
        let observations = [
            limit.observe(initial: true) { seen.add([$0.old, $0.new]) }, suite.observe(limit, other) { calls.add() },
        ]
        var values = limit.values.makeAsyncIterator()
        var tuples = suite.values(of: limit, other).makeAsyncIterator()
        func expect(_ value: Int, _ count: Int, after change: () async throws -> Void) async throws {
            withObservationTracking {
                _ = limit.value
            } onChange: {
                notified.add()
            }
            try await change()
            #expect(await values.next() == value)
            #expect(await tuples.next().map { [$0, $1] } == [value, 0])
            #expect(calls.count == count && notified.count == count)
        }
        #expect(await values.next() == 5)
        #expect(await tuples.next().map { [$0, $1] } == [5, 0])
        try await expect(6, 1) { try await suite.setStoredValue(6, forKey: "oldLimit") }
        try await expect(7, 2) {
            try await limit.set(6)
            #expect(calls.count == 1)
            try await limit.set(7)
        }
        try await expect(1, 3) {
            try await suite.setStoredValue(8, forKey: "oldLimit")
            try await limit.reset()
        }
        #expect(seen.all == [[5, 5], [5, 6], [6, 7], [7, 1]])
        try await other.set(1)
        #expect(calls.count == 4)
        withExtendedLifetime(observations) {}
    }

    @Test("keeps the value of its old key when an assignment is rejected")
    func rejected() throws {
        let deep = (0..<1_000).reduce(StoredValue.null) { value, _ in .array([value]) }
        let any = Setting("any", default: StoredValue.null, suite: suite, traits: .renamed(from: "oldLimit"))
        any.value = deep
        #expect(reporter.errors.map(\.code) == [.unstorable])
        #expect(any.value == 5)
        #expect(suite.snapshot() == ["oldLimit": 5])
    }

    @Test("is moved before a migration converts it")
    func converting() throws {
        struct Text: StoredValueBridge {
            func value(from storedValue: StoredValue) throws -> Int { Int(try storedValue.as(String.self)) ?? 0 }
            func storedValue(from value: Int) -> StoredValue { .string("\(value)") }
        }
        try suite.setStoredValue("42", forKey: "oldLimit")
        try suite.transaction { try $0.convert(limit, from: Text()) }
        #expect(suite.snapshot() == ["limit": 42])
    }

    private static let moves = TestRun.count(quick: 1_500, exhaustive: 20_000)

    /// Lets another thread move a value between the keys of `n`, in memory or in a suite, while a body runs.
    ///
    /// Each transaction stores a new number under one of the two keys, and under `other`.
    private func whileMoving(
        in given: SettingsSuite? = nil,
        _ body: @escaping @Sendable (SettingsSuite, Setting<Int>, Setting<Int>) throws -> Void
    ) async throws {
        let suite = given ?? .inMemory(reporter: reporter)
        try await suite.transaction { ($0[storedValueFor: "oldN"], $0[storedValueFor: "other"]) = (1, 1) }
        let number = Setting("n", default: 0, suite: suite, traits: .renamed(from: "oldN"))
        let other = Setting("other", default: 0, suite: suite)
        let (isOver, count) = (Flag(), Self.moves)
        // Threads of their own: the loops would occupy the threads that tasks need.
        Thread.detachNewThread {
            defer { isOver.set() }
            do {
                for value in 2...Int128(count) {
                    try suite.transaction {
                        let keys = value.isMultiple(of: 2) ? ("n", "oldN") : ("oldN", "n")
                        $0[storedValueFor: keys.0] = .integer(value)
                        $0[storedValueFor: keys.1] = nil
                        $0[storedValueFor: "other"] = .integer(value)
                    }
                }
            } catch {
                Issue.record(error)
            }
        }
        await blocking {
            do {
                while !isOver.isSet { try body(suite, number, other) }
            } catch {
                Issue.record(error)
            }
        }
        #expect(number.value == count)
        #expect(reporter.errors.isEmpty, "no state has both keys")
    }

    /// Reads in every way.
    ///
    /// The values of a setting that is only moved and increased never decrease.
    private let readWhileMoving: @Sendable (SettingsSuite, Setting<Int>, Setting<Int>) throws -> Void = {
        _,
        number,
        _ in
        let first = number.value
        #expect(first > 0)
        #expect(number.isSet)
        let loaded = try number.load()
        #expect(loaded != nil)
        #expect(number.explain().layer == .store)
        #expect(number.value >= first)
    }

    @Test("has a value at any time while another thread moves it, in memory and in a file")
    func moving() async throws {
        try await whileMoving(readWhileMoving)
        try await withFileSuite(reporter: reporter) { suite, _ in try await whileMoving(in: suite, readWhileMoving) }
    }

    @Test("is part of tuples of one moment while another thread moves it")
    func tuples() async throws {
        let (pairs, tasks) = (CallLog<[Int]>(), Tasks())
        try await whileMoving { suite, number, other in
            tasks.start {
                for await (number, other) in suite.values(of: number, other) { pairs.add([number, other]) }
            }
        }
        await eventually("the last values arrive") { pairs.all.last == [Self.moves, Self.moves] }
        tasks.cancel()
        #expect(pairs.all.filter { $0[0] != $0[1] } == [])
    }

    private final class Tasks: Sendable {
        private let task = Mutex<Task<Void, Never>?>(nil)

        /// Starts a task, unless one was started before.
        func start(_ body: @escaping @Sendable () async -> Void) {
            task.withLock { task in
                if task == nil { task = Task { await body() } }
            }
        }

        func cancel() { task.withLock { $0?.cancel() } }
    }

    @Test("notifies the observers of several settings of every change while another thread moves it")
    func observedWhileMoving() async throws {
        let seen = Mutex([Int]())
        let observation = Mutex<SettingObservation?>(nil)
        try await whileMoving { suite, number, _ in
            guard observation.withLock({ $0 == nil }) else { return }
            let new = suite.observe(number) { seen.withLock { $0.append(number.value) } }
            observation.withLock { $0 = new }
        }
        #expect(seen.withLock { $0.last } == Self.moves)
        observation.withLock { $0 }?.invalidate()
    }
}
