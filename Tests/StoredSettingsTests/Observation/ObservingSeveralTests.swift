// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Testing

@testable import StoredSettings

extension SettingKeys {
    fileprivate static let host = SettingKey("host", default: "localhost")
    fileprivate static let retries = SettingKey<Int?>("retries")
}

@Suite("Observers of several settings")
struct ObservingSeveralTests {
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

    @Test("an observer of several settings is called for their changes, whatever their types, and for no others")
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

    @Test("an observer of several settings is called once for a transaction, and initially on request")
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

    @Test("an observer of several settings is not called when a stored value changes but the setting's value does not")
    func values() throws {
        let observation = suite.observe(port, host) { [counter] in counter.add() }
        port.value = 1
        try suite.setStoredValue("none", forKey: "port")
        try port.reset()
        #expect(counter.count == 0)
        _ = consume observation
    }

    @Test("an observer with parameters receives the values of one moment")
    func parameters() throws {
        let seen = CallLog<String>()
        let observation = suite.observe(host, port, initial: true) { host, port in seen.add("\(host):\(port)") }
        try suite.transaction { settings in
            settings[port] = 2
            settings[host] = "example.org"
        }
        observation.invalidate()
        let single = suite.observe(port) { port in seen.add("\(port)") }
        port.value = 3
        #expect(seen.all == ["localhost:1", "example.org:2", "3"])
        single.invalidate()
        port.value = 4
        #expect(seen.all.count == 3 && suite.engine.subscriberCount == 0)
    }

    @Test("a setting of another suite is reported, and the observer is called for the others")
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

    @Test("an observer of several settings is called for every set of a file, without another subscriber")
    func everySet() async throws {
        try await withFileSuite { suite, _ in
            let observation = suite.observe(SettingKey("n", default: 0)) { [counter] in counter.add() }
            for number in 1...Int128(100) { try await suite.setStoredValue(.integer(number), forKey: "n") }
            #expect(counter.count == 100)
            observation.invalidate()
        }
    }
}
