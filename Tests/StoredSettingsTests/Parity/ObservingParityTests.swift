// SPDX-License-Identifier: Apache-2.0

import Observation
import StoredSettings
import Synchronization
import TestSupport
import Testing

extension SettingKeys {
    fileprivate static let parityPort = SettingKey("port", default: 1)
    fileprivate static let parityHost = SettingKey("host", default: "localhost")
}

/// The rows about observing.
///
/// Row 32, publishers, is in SettingPublisherTests.swift because it requires Combine.
@Suite("Parity: observing", .deadlockLimit)
struct ObservingParityTests {
    private final class Log<Element: Sendable>: Sendable {
        private let elements = Mutex<[Element]>([])

        func add(_ element: Element) { elements.withLock { $0.append(element) } }

        var all: [Element] { elements.withLock { $0 } }
    }

    fileprivate struct Settings: Sendable {
        @DefaultStorage var port: Int
        @DefaultStorage var host: String

        init(_ suite: SettingsSuite) {
            _port = DefaultStorage(.parityPort, suite: suite)
            _host = DefaultStorage(.parityHost, suite: suite)
        }
    }

    private let suite = SettingsSuite.inMemory().observable()
    private let settings: Settings
    private let log = Log<SettingChange<Int>>()

    init() {
        settings = Settings(suite)
    }

    @Test("Row 28: a callback receives the old and new values, and the initial value on request")
    func callback() {
        let observation = settings.$port.observe(initial: true) { [log] in log.add($0) }
        settings.port = 2
        #expect(log.all.map { [$0.old, $0.new] } == [[1, 1], [1, 2]])
        let later = settings.$port.observe { [log] in log.add($0) }
        #expect(log.all.count == 2)
        _ = (observation, later)
    }

    @Test("Row 29: an observation is invalidated, tied to the lifetime of an object, and untied")
    func lifetimeTie() async {
        final class Owner: Sendable {}
        var owner: Owner? = Owner()
        settings.$port.observe { [log] in log.add($0) }.tieToLifetime(of: owner!)
        settings.port = 2
        #expect(log.all.count == 1)
        weak var weakOwner: Owner?
        weakOwner = owner
        owner = nil
        // A thread that iterates over the ties may hold it briefly.
        await eventually("the object is released") { weakOwner == nil }
        settings.port = 3
        #expect(log.all.count == 1)

        owner = Owner()
        let observation = settings.$port.observe { [log] in log.add($0) }.tieToLifetime(of: owner!)
        observation.removeLifetimeTie()
        owner = nil
        settings.port = 4
        #expect(log.all.count == 2)
        observation.invalidate()
        settings.port = 5
        #expect(log.all.count == 2)
    }

    @Test("Row 30: several keys of different types share one callback or one stream")
    func severalKeys() async {
        let calls = Log<Int>()
        let observations = [
            suite.observe(settings.$port, settings.$host) { calls.add(1) },
            suite.observe(.parityPort, .parityHost) { calls.add(2) },
        ]
        let changes = suite.changes(of: .parityPort, .parityHost)
        settings.port = 2
        settings.host = "example.org"
        #expect(calls.all.sorted() == [1, 1, 2, 2])
        for await change in changes {
            #expect(change.keys == ["host", "port"])
            break
        }
        for observation in observations { observation.invalidate() }
    }

    @Test("Row 31: changes inside a block are not propagated")
    func withoutPropagation() async {
        let observation = settings.$port.observe { [log] in log.add($0) }
        let changes = settings.$port.changes()
        suite.withoutPropagation { settings.port = 2 }
        #expect(settings.port == 2)
        settings.port = 3
        #expect(log.all == [SettingChange(old: 2, new: 3, origin: .local)])
        for await change in changes {
            #expect(change == SettingChange(old: 2, new: 3, origin: .local))
            break
        }
        _ = consume observation
    }

    @Test("Row 33: changes are an asynchronous sequence")
    func sequences() async {
        var values = settings.$port.values.makeAsyncIterator()
        #expect(await values.next() == 1)
        let changes = settings.$port.changes()
        settings.port = 2
        #expect(await values.next() == 2)
        for await change in changes {
            #expect(change == SettingChange(old: 1, new: 2, origin: .local))
            break
        }
    }

    @Test("Row 34: values are cached, and current after a change by another process")
    func caching() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"port": 5, "host": "example.org"}"#)
            let suite = SettingsSuite(fileAt: path)
            let decodings = Atomic(0)
            let key = SettingKey("port", default: 1) { _ in
                decodings.add(1, ordering: .relaxed)
                return true
            }
            let port = Setting(key, suite: suite)
            for _ in 0..<100 { #expect(port.value == 5) }
            #expect(decodings.load(ordering: .relaxed) == 1)
            // The observation watches the file, so the edit is noticed immediately.
            let observation = port.observe { _ in }
            try path.replaceFile(with: #"{"port": 6}"#)
            await eventually("the edit is read") { port.value == 6 }
            observation.invalidate()
            await suite.finish()
        }
    }

    @Test("Row 35: Observation tracks settings, also in observable models")
    func tracking() {
        let model = Model(suite)
        let calls = Log<String>()
        withObservationTracking {
            _ = settings.port
        } onChange: {
            calls.add("setting")
        }
        withObservationTracking {
            _ = model.port
        } onChange: {
            calls.add("model")
        }
        settings.port = 2
        #expect(calls.all.sorted() == ["model", "setting"])
        withObservationTracking {
            _ = model.port
        } onChange: {
            calls.add("model again")
        }
        settings.host = "example.org"
        model.port = 3
        #expect(calls.all.last == "model again")
        #expect(settings.port == 3)
    }

    @Observable
    fileprivate final class Model {
        @ObservationIgnored @DefaultStorage private var storedPort: Int

        init(_ suite: SettingsSuite) { _storedPort = DefaultStorage(.parityPort, suite: suite) }

        var port: Int {
            get { storedPort }
            set { storedPort = newValue }
        }
    }

    @Test("Row 36: observers, streams and Observation report edits of the file")
    func edits() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = SettingsSuite(fileAt: path).observable()
            let settings = Settings(suite)
            let tracked = Log<Int>()
            var values = settings.$port.values.makeAsyncIterator()
            #expect(await values.next() == 1)
            let observation = settings.$port.observe { [log] in log.add($0) }
            withObservationTracking {
                _ = settings.port
            } onChange: {
                tracked.add(1)
            }
            try path.replaceFile(with: #"{"port": 6}"#)
            #expect(await values.next() == 6)
            await eventually("the observers receive the edit") {
                log.all == [SettingChange(old: 1, new: 6, origin: .external)] && tracked.all == [1]
            }
            observation.invalidate()
            await suite.finish()
        }
    }
}
