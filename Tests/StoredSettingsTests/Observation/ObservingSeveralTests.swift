// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

extension SettingKeys {
    fileprivate static let host = SettingKey("host", default: "localhost")
    fileprivate static let retries = SettingKey<Int?>("retries")
}

@Suite("One observer of several settings")
struct ObservingSeveralTests {
    private final class Counter: Sendable {
        private let calls = Atomic(0)

        func add() { calls.add(1, ordering: .relaxed) }

        var count: Int { calls.load(ordering: .relaxed) }
    }

    private let reporter = RecordingReporter()
    private let suite: SettingsSuite
    private let counter = Counter()
    private let port: Setting<Int>
    private let host: Setting<String>

    init() {
        suite = .inMemory(reporter: reporter)
        port = Setting("port", default: 1, suite: suite)
        host = Setting(.host, suite: suite)
    }

    @Test("is called for a change of each, whatever their types, and of no other")
    func types() {
        let level = Setting("level", default: [1.5], suite: suite)
        let observation = suite.observe(port, host, level) { [counter] in counter.add() }
        port.value = 2
        host.value = "example.org"
        level.value.append(2)
        #expect(counter.count == 3)
        port.value = 2
        Setting("other", default: 0, suite: suite).value = 1
        #expect(counter.count == 3)
        observation.invalidate()
        port.value = 3
        #expect(counter.count == 3)
        #expect(suite.engine.subscriberCount == 0)
    }

    @Test("is called for keys")
    func keys() {
        let observation = suite.observe(.host, .retries) { [counter] in counter.add() }
        suite[.host] = "example.org"
        suite[.retries] = 3
        port.value = 2
        #expect(counter.count == 2)
        suite[.retries] = nil
        #expect(counter.count == 3)
        _ = consume observation
    }

    @Test("is called once for a transaction, and at once on request")
    func transactions() throws {
        let observation = suite.observe(port, host, initial: true) { [counter] in counter.add() }
        let keys = suite.observe(.host, initial: true) { [counter] in counter.add() }
        #expect(counter.count == 2)
        keys.invalidate()
        try suite.transaction { settings in
            settings[port] = 2
            settings[host] = "example.org"
        }
        #expect(counter.count == 3)
        _ = consume observation
    }

    @Test("is not called when what is stored changes and the value does not")
    func values() throws {
        let observation = suite.observe(port, host) { [counter] in counter.add() }
        port.value = 1
        try suite.setStoredValue("none", forKey: "port")
        port.reset()
        #expect(counter.count == 0)
        _ = consume observation
    }

    @Test("reports a setting of another suite, and is called for the others")
    func otherSuites() throws {
        let other = Setting("far", default: 1, suite: .inMemory())
        let observation = suite.observe(port, other) { [counter] in counter.add() }
        #expect(reporter.errors.map(\.code) == [.otherSuite])
        #expect(reporter.errors.first?.key == "far")
        other.value = 2
        #expect(counter.count == 0)
        port.value = 2
        #expect(counter.count == 1)
        _ = consume observation
    }

    @Test("is told of changes from outside")
    func external() async {
        let observation = suite.observe(port, host) { [counter] in counter.add() }
        let changes = [
            StoreChange(key: "host", old: nil, new: "example.org"), StoreChange(key: "port", old: nil, new: 5),
        ]
        suite.engine.record(StoreCommit(changes: changes, origin: .external)).perform()
        await eventually("the change is told") { counter.count == 1 }
        _ = consume observation
    }

    @Test("is tied to an object like any other")
    func ties() {
        final class Owner: Sendable {}
        var owner: Owner? = Owner()
        suite.observe(port, host) { [counter] in counter.add() }.tieToLifetime(of: owner!)
        port.value = 2
        #expect(counter.count == 1)
        owner = nil
        host.value = "example.org"
        #expect(counter.count == 1)
        #expect(suite.engine.subscriberCount == 0)
    }
}
