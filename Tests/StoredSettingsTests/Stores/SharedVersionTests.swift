// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import Synchronization
import Testing

@Suite("The version of a store of an application")
struct SharedVersionTests {
    /// A store in memory that counts how often it is asked for values.
    private final class CountingStore: ForwardingStore {
        let memory = InMemoryStore(["port": 1])
        let isShared: Bool
        let reads = Atomic(0)

        init(isShared: Bool) {
            self.isShared = isShared
        }

        var sharedVersion: StoreVersion? { isShared ? memory.sharedVersion : nil }

        func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
            reads.add(1, ordering: .relaxed)
            return memory.withValue(forKey: key, body)
        }

        func location(ofValueForKey key: String) -> SettingsError.Location? {
            SettingsError.Location(file: "/table", line: 7, column: 1)
        }
    }

    @Test("reads ask a store that hands out its version only after a change, and are never outdated")
    func reads() throws {
        let store = CountingStore(isShared: true)
        let port = Setting("port", default: 0, suite: SettingsSuite(store: store))
        #expect(port.value == 1)
        let reads = store.reads.load(ordering: .relaxed)
        for _ in 0..<100 { #expect(port.value == 1) }
        #expect(store.reads.load(ordering: .relaxed) == reads)
        for value in 2...5 {
            try port.set(value)
            #expect(port.value == value)
        }
    }

    @Test("an error names the place that the store finds", arguments: [false, true])
    func places(isShared: Bool) throws {
        let (store, reporter) = (CountingStore(isShared: isShared), RecordingReporter())
        let port = Setting("port", default: 5, suite: SettingsSuite(store: store, reporter: reporter), in: 5...10)
        #expect(port.value == 5)
        #expect(reporter.errors.map(\.location) == [SettingsError.Location(file: "/table", line: 7, column: 1)])
    }
}
