// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A suite as the base of another one", .deadlockLimit)
struct BaseSuiteTests {
    private let reporter = RecordingReporter()

    private func suite(over base: SettingsSuite, _ values: [String: StoredValue] = [:]) -> SettingsSuite {
        .inMemory(values, sources: [.suite(base)], reporter: reporter)
    }

    @Test("its values are used where none is stored, and a change of them is visible when it returns")
    func reading() throws {
        let fleet = SettingsSuite.inMemory(["port": 1])
        let port = Setting("port", default: 0, suite: suite(over: fleet))
        #expect(port.value == 1)
        try fleet.setStoredValue(2, forKey: "port")
        #expect(port.value == 2)
        fleet[storedValueFor: "port"] = 3
        #expect(port.value == 3)
        try port.set(10)
        try fleet.setStoredValue(4, forKey: "port")
        #expect(port.value == 10)
        try port.reset()
        #expect(port.value == 4)
        try port.update { _ in }
        #expect(!port.isSet)
        #expect(try port.load() == nil)
        #expect(try port.update { $0 += 1 } == 5)
        #expect(fleet[storedValueFor: "port"] == 4)
        try port.reset()
        try fleet.transaction { $0[storedValueFor: "port"] = nil }
        #expect(port.value == 0)
        #expect(reporter.errors.isEmpty)
    }

    @Test("streams and observers receive its changes once, and none that a stored value hides")
    func streams() async throws {
        let fleet = SettingsSuite.inMemory(["port": 1])
        let port = Setting("port", default: 0, suite: suite(over: fleet))
        let seen = ObservedChanges(of: port)
        var values = port.values.makeAsyncIterator()
        #expect(await values.next() == 1)
        try await fleet.setStoredValue(2, forKey: "port")
        #expect(await values.next() == 2)
        try await fleet.setStoredValue("other", forKey: "other")
        try await port.set(3)
        #expect(await values.next() == 3)
        try await fleet.setStoredValue(4, forKey: "port")
        try await port.set(5)
        #expect(await values.next() == 5)
        await eventually("the observer has received the last change") { seen.new.last == 5 }
        // Changes that arrive faster than the observer runs are merged.
        let all = seen.pairs
        #expect(all.first?.first == 1 && zip(all, all.dropFirst()).allSatisfy { $0.last == $1.first })
        #expect(!all.joined().contains(4))
    }

    @Test("a change by another process reaches streams and reads")
    func otherProcess() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/fleet.json"
            let fleet = SettingsSuite(fileAt: path, reporter: reporter)
            // A store of its own stands for another process.
            let other = FileStore(path: FilePath(path))
            defer { other.close() }
            try other.commit { $0["port"] = 1 }
            let quiet = Setting("port", default: 0, suite: suite(over: fleet))
            #expect(quiet.value == 1)
            let port = Setting("port", default: 0, suite: suite(over: fleet))
            var values = port.values.makeAsyncIterator()
            #expect(await values.next() == 1)
            try other.commit { $0["port"] = 2 }
            #expect(await values.next() == 2)
            await eventually("a read without a stream sees the change") { quiet.value == 2 }
            await fleet.finish()
        }
    }

    @Test("a group can be a base, and its keys have no prefix")
    func group() throws {
        let fleet = SettingsSuite.inMemory(["server.port": 1, "port": 7])
        let port = Setting("port", default: 0, suite: suite(over: fleet.group("server")))
        #expect(port.value == 1)
        try fleet.setStoredValue(8, forKey: "port")
        #expect(port.value == 1)
        try fleet.setStoredValue(2, forKey: "server.port")
        #expect(port.value == 2)
    }

    @Test("a value that a setting rejects is reported with the suite, and the next layer is used")
    func rejected() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/base.json".writeLayer(#"{"port": 5}"#)
            let fleet = SettingsSuite(store: InMemoryStore(["port": "many"]), name: "fleet")
            let suite = SettingsSuite.inMemory(
                sources: [.suite(fleet), .file("\(directory)/base.json")],
                reporter: reporter
            )
            let port = Setting("port", default: 0, suite: suite)
            #expect(port.value == 5)
            #expect(reporter.errors.count == 1)
            #expect(reporter.errors.first?.location?.file == "suite 'fleet'")
            #expect(reporter.errors.first?.message.contains("many") == false)
            try await fleet.setStoredValue(6, forKey: "port")
            #expect(port.value == 6)
            #expect(port.explain().description.contains("6, given by suite 'fleet'"))
        }
    }

    @Test("a change without propagation is visible, too")
    func withoutPropagation() throws {
        let fleet = SettingsSuite.inMemory(["port": 1])
        let port = Setting("port", default: 0, suite: suite(over: fleet))
        #expect(port.value == 1)
        try fleet.withoutPropagation { try fleet.setStoredValue(2, forKey: "port") }
        #expect(port.value == 2)
    }

    @Test("a transaction reads its values, and its changes are visible when it returns")
    func transactions() throws {
        let fleet = SettingsSuite.inMemory(["port": 1])
        let local = suite(over: fleet)
        let port = Setting("port", default: 0, suite: local)
        #expect(port.value == 1)
        try local.transaction { values in
            #expect(values[port] == 1)
            values[storedValueFor: "other"] = 1
        }
        try fleet.transaction { values in
            #expect(port.value == 1)
            values[storedValueFor: "port"] = 3
        }
        #expect(port.value == 3)
    }

    @Test("a suite with the same store, and two suites that are bases of each other, do no harm")
    func circles() throws {
        let store = InMemoryStore(["port": 1])
        let own = SettingsSuite(store: store, sources: [.suite(SettingsSuite(store: store))])
        #expect(Setting("port", default: 0, suite: own).value == 1)

        let (first, second) = (InMemoryStore(), InMemoryStore())
        let left = SettingsSuite(store: first, name: "left", sources: [.suite(SettingsSuite(store: second))])
        let right = SettingsSuite(store: second, name: "right", sources: [.suite(SettingsSuite(store: first))])
        let ports = [left, right].map { Setting("port", default: 0, suite: $0) }
        #expect(ports.map(\.value) == [0, 0])
        try ports[0].set(1)
        #expect(ports.map(\.value) == [1, 1])
        try ports[1].set(2)
        #expect(ports.map(\.value) == [1, 2])
        try ports[0].reset()
        #expect(ports.map(\.value) == [2, 2])
    }

    @Test("the other suite is no longer followed when the suite is gone")
    func release() async throws {
        let fleet = SettingsSuite.inMemory(["port": 1])
        do {
            let port = Setting("port", default: 0, suite: suite(over: fleet))
            #expect(port.value == 1)
            #expect(fleet.engine.subscriberCount == 1)
        }
        // Another test that creates a suite holds all engines for a moment.
        await eventually("the suite is gone") { fleet.engine.subscriberCount == 0 }
    }

    @Test("many threads that read first all see the values")
    func firstReads() async throws {
        for _ in 0..<50 {
            let fleet = SettingsSuite.inMemory(["port": 1])
            let local = suite(over: fleet)
            let values = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<4 { group.addTask { Setting("port", default: 0, suite: local).value } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(values == [1, 1, 1, 1])
            #expect(fleet.engine.subscriberCount == 1)
        }
    }
}
