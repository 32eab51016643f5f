// SPDX-License-Identifier: Apache-2.0

import Foundation
import Observation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("An observable suite")
struct ObservableSuiteTests {
    /// Counts the changes that tracked reads report, one for each call of `track`.
    private struct Tracker {
        private let calls = Counter()

        var count: Int { calls.count }

        func track(_ read: () -> Void) {
            withObservationTracking(read) { [calls] in calls.add() }
        }
    }

    private struct Settings: Sendable {
        @DefaultStorage var port: Int
        @DefaultStorage var host: String
        @DefaultStorageOptional<Int> var retries: Int?

        init(_ suite: SettingsSuite) {
            _port = DefaultStorage(wrappedValue: 1, key: "port", suite: suite)
            _host = DefaultStorage(wrappedValue: "localhost", key: "host", suite: suite)
            _retries = DefaultStorageOptional(key: "retries", suite: suite)
        }
    }

    @Observable
    fileprivate final class Model: Sendable {
        private let settings: Settings

        init(_ suite: SettingsSuite) { settings = Settings(suite) }

        var address: String {
            get { "\(settings.host):\(settings.port)" }
            set { settings.host = newValue }
        }
    }

    private let suite = SettingsSuite.inMemory().observable()
    private let tracker = Tracker()
    private let settings: Settings

    init() {
        settings = Settings(suite)
    }

    @Test("Row 35: a tracked read reports the next change of its setting, and no other change")
    func tracking() {
        settings.port = 1
        tracker.track { _ = settings.port }
        settings.host = "example.org"
        settings.port = 1
        #expect(tracker.count == 0)
        settings.port = 2
        #expect(tracker.count == 1)
        settings.port = 3
        #expect(tracker.count == 1)
        // The change is not reported again with a later one of another setting.
        tracker.track { _ = settings.port }
        settings.host = "example.com"
        #expect(tracker.count == 1)
        tracker.track { _ = (settings.host, settings.retries) }
        settings.retries = 4
        #expect(tracker.count == 2)
    }

    @Test("a change is reported when it can be read, and the callback may read and track the setting again")
    func reading() {
        let values = Mutex<[Int]>([])
        @Sendable func follow() {
            withObservationTracking {
                let port = settings.port
                values.withLock { $0.append(port) }
            } onChange: {
                follow()
            }
        }
        follow()
        for number in 2...5 { settings.port = number }
        #expect(values.withLock { $0 } == [1, 2, 3, 4, 5])
    }

    @Test("Row 35: an observable model that computes from settings is tracked")
    func models() {
        let model = Model(suite)
        tracker.track { _ = model.address }
        settings.port = 2
        #expect(tracker.count == 1)
        tracker.track { _ = model.address }
        model.address = "example.org"
        #expect(tracker.count == 2)
        #expect(model.address == "example.org:2")
    }

    @Test("isSet, load() and subscripts of the suite are tracked reads")
    func otherReads() throws {
        tracker.track { _ = settings.$port.isSet }
        settings.port = 2
        #expect(tracker.count == 1)
        tracker.track { _ = Result { try settings.$port.load() } }
        settings.port = 3
        #expect(tracker.count == 2)
        let key = SettingKey("port", default: 1)
        tracker.track { _ = suite[key] }
        try settings.$port.reset()
        #expect(tracker.count == 3)
    }

    @Test("a transaction is reported as a whole when it ends")
    func transactions() throws {
        tracker.track { _ = (settings.port, settings.host) }
        try suite.transaction { transaction in
            transaction[settings.$port] = 2
            transaction[settings.$host] = "example.org"
            #expect(tracker.count == 0)
        }
        #expect(tracker.count == 1)
    }

    @Test("an assignment that cannot be saved yet is reported")
    func pendingWrites() {
        let store = FailingStore()
        let suite = SettingsSuite(store: store, reporter: RecordingReporter()).observable()
        let settings = Settings(suite)
        tracker.track { _ = settings.port }
        store.fail(with: SettingsError(.writeFailed, fact: "the disk is full"))
        settings.port = 2
        #expect(tracker.count == 1)
        #expect(settings.port == 2)
    }

    @Test("the first tracked read makes a custom store watch for changes by other processes")
    func watching() {
        let store = FailingStore()
        let suite = SettingsSuite(store: store)
        _ = Settings(suite).port
        #expect(store.watchingCount == 0)
        let settings = Settings(suite.observable())
        for _ in 0..<2 {
            tracker.track { _ = settings.port }
            #expect(store.watchingCount == 1)
        }
    }

    @Test("a change without propagation is not reported")
    func withoutPropagation() {
        tracker.track { _ = settings.port }
        suite.withoutPropagation { settings.port = 2 }
        #expect(tracker.count == 0)
        #expect(settings.port == 2)
        settings.port = 3
        #expect(tracker.count == 1)
    }

    @Test("Row 36: an edit of the file and a change of another store reach tracked reads, observers and streams")
    func edits() async throws {
        try await withTemporaryDirectory { directory in
            let (path, missing) = (directory + "/settings.json", directory + "/missing")
            try path.overwriteFile(with: #"{"port": 5}"#)
            let suite = SettingsSuite(fileAt: path).observable()
            let settings = Settings(suite)
            // The tracked read is the only watch, and creates no directory.
            tracker.track { #expect(settings.port == 5) }
            try path.replaceFile(with: #"{"port": 6}"#)
            await eventually("the edit is reported") { tracker.count == 1 }
            #expect(settings.port == 6)
            tracker.track { _ = settings.port }
            let changes = CallLog<SettingChange<Int>>()
            let observation = settings.$port.observe { changes.add($0) }
            var values = settings.$port.values.makeAsyncIterator()
            #expect(await values.next() == 6)
            let other = SettingsSuite(store: FileStore(path: path))
            Setting("port", default: 1, suite: other).value = 7
            await eventually("the other store's change is reported") { tracker.count == 2 }
            #expect(settings.port == 7)
            #expect(await values.next() == 7)
            await eventually("the observer is called") { !changes.all.isEmpty }
            #expect(changes.all == [SettingChange(old: 6, new: 7, origin: .external)])
            observation.invalidate()
            _ = Settings(SettingsSuite(fileAt: missing + "/settings.json").observable()).port
            #expect(!FileManager.default.fileExists(atPath: missing))
            await suite.finish()
            await other.finish()
            other.engine.store.close()
        }
    }

    @Test("a suite is observable by request, and shares its values with the suite that is not")
    func observableByRequest() {
        let plain = SettingsSuite.inMemory()
        #if canImport(Darwin)
        #expect(plain.isObservable)
        #else
        #expect(!plain.isObservable)
        #endif
        let (off, on) = (plain.observable(false), plain.observable())
        #expect(!off.isObservable && on.isObservable && on.observable().isObservable)
        #expect(off == on)
        let settings = (Settings(off), Settings(on))
        #expect(ObjectIdentifier(settings.0.$port.box) != ObjectIdentifier(settings.1.$port.box))
        #expect(ObjectIdentifier(settings.1.$port.box) == ObjectIdentifier(Settings(on).$port.box))
        tracker.track { _ = settings.0.port }
        settings.1.port = 2
        #expect(settings.0.port == 2)
        #expect(tracker.count == 0)
        tracker.track { _ = settings.1.port }
        settings.0.port = 3
        #expect(tracker.count == 1)
    }

    @Test("a change between a read and the end of the tracked closure is missed")
    func missedChange() {
        tracker.track {
            _ = settings.port
            settings.port = 2
        }
        #expect(tracker.count == 0)
        settings.port = 3
        #expect(tracker.count == 1)
    }
}
