// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// The last good value of a key whose earlier values were not read by the program that needs it.
@Suite("The history of a key")
struct LastGoodHistoryTests {
    private let reporter = RecordingReporter()

    private func withStores(
        _ body: (_ path: String, _ own: FileStore, _ limit: Setting<Int>, _ other: FileStore) async throws -> Void
    ) async throws {
        try await withSettingsPath(inMemory: true) { path in
            let stores = (0..<2).map { _ in FileStore(path: FilePath(path), checkpointsInBackground: false) }
            let suite = SettingsSuite(store: stores[0], reporter: reporter)
            let limit = Setting("limit", default: 64, suite: suite, in: 1...100)
            try await body(path, stores[0], limit, stores[1])
        }
    }

    private func edit(_ path: String, _ text: String, _ store: FileStore) throws {
        try path.replaceFile(with: text)
        store.lookAndWait()
    }

    @Test("the last good value is the newest one, also if only another thread has read it")
    func otherThread() throws {
        let suite = SettingsSuite.inMemory(reporter: RecordingReporter())
        let name = Setting("name", default: "none", suite: suite)
        try name.set("A")
        #expect(name.value == "A")
        try suite.setStoredValue(1, forKey: "name")
        #expect(name.value == "A")
        try onAnotherThread {
            try name.set("B")
            #expect(name.value == "B")
            try suite.setStoredValue(1, forKey: "name")
        }
        #expect(name.value == "B")
    }

    @Test("observers and streams that begin with an unusable value receive its correction", .deadlockLimit)
    func correction() async throws {
        try await withStores { path, store, limit, _ in
            try path.overwriteFile(with: #"{"limit": 200}"#)
            let seen = Mutex<[[Int]]>([])
            let several = Mutex<[Int]>([])
            let observations = [
                limit.observe { change in seen.withLock { $0.append([change.old, change.new]) } },
                limit.suite.observe(limit) { several.withLock { $0.append(limit.value) } },
            ]
            var changes = limit.changes().makeAsyncIterator()
            try edit(path, #"{"limit": 30}"#, store)
            let change = try #require(await changes.next())
            #expect(change.old == 64)
            #expect(change.new == 30)
            await eventually("the observers receive the change") {
                seen.withLock { $0 } == [[64, 30]] && several.withLock { $0 } == [30]
            }
            withExtendedLifetime(observations) {}
        }
    }

    /// Changes of the value that no read comes between, and the value that is used in the end.
    private static let sequences: [(name: String, steps: [Int?], used: Int)] = [
        ("removed", [nil, 200], 64), ("replaced", [30, 200], 30), ("replaced and removed", [30, nil, 200], 64),
        ("two unusable ones", [30, 200, 300], 30), ("two after a removal", [nil, 200, 300], 64),
        ("unusable", [200], 23), ("removed between unusable ones", [200, nil, 300], 64),
    ]

    @Test(
        "a value that was removed or replaced is not the last good one, even if no read comes between",
        arguments: sequences.indices,
        ["edits", "another process", "another process and checkpoints"]
    )
    func unread(index: Int, by writer: String) async throws {
        let (name, steps, used) = Self.sequences[index]
        try await withStores { path, store, limit, other in
            try await limit.set(23)
            try store.checkpoint()
            #expect(limit.value == 23)
            for value in steps {
                if writer == "edits" {
                    try edit(path, value.map { #"{"limit": \#($0)}"# } ?? "{}", store)
                } else {
                    let stored = value.map { StoredValue.integer(Int128($0)) }
                    try other.commit { $0["limit"] = stored }
                    store.lookAndWait()
                    if writer != "another process" {
                        try other.checkpoint()
                        store.lookAndWait()
                    }
                }
            }
            #expect(limit.value == used, "\(name)")
            try await limit.suite.setStoredValue(1, forKey: "a")
            try store.checkpoint()
            let isRetained = try (path + ".last-good").fileContents.contains("23")
            #expect(isRetained == (used == 23), "\(name)")
        }
    }

    @Test("a removal by this process ends the last good value, even if no read comes between")
    func removed() async throws {
        try await withStores { path, store, limit, _ in
            try await limit.set(23)
            #expect(limit.value == 23)
            try await limit.reset()
            try await limit.suite.setStoredValue(200, forKey: "limit")
            #expect(limit.value == 64)
            try store.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("23"))
        }
    }

    @Test("values of other processes that were missed are not taken for those that an edit has replaced")
    func missed() async throws {
        try await withStores { path, store, limit, other in
            try await limit.set(23)
            try store.checkpoint()
            #expect(limit.value == 23)
            // This process does not look meanwhile. Each checkpoint begins an epoch, and the second one cannot be continued.
            for value in [30, 40, nil, 200] as [StoredValue?] {
                try other.commit { $0["limit"] = value }
                try other.checkpoint()
                try other.commit { $0["other"] = value }
                try other.checkpoint()
            }
            store.lookAndWait()
            #expect(store.contents()["limit"] == 200)
            _ = limit.value
            try await limit.suite.setStoredValue(1, forKey: "a")
            try store.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("23"))
        }
    }

    @Test("a key that any declaration calls secret has no last good value on the disk")
    func secret() async throws {
        try await withStores { path, store, limit, _ in
            let secret = Setting("limit", default: 64, suite: limit.suite, traits: .secret)
            try await secret.set(23)
            try store.checkpoint()
            #expect(limit.value == 23)
            try edit(path, #"{"limit": 200}"#, store)
            #expect(limit.value == 23)
            try await limit.suite.setStoredValue(1, forKey: "a")
            try store.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("23"))
        }
    }

    @Test(
        "a copied last good value ends when the key had another value or none, also if the same unusable one follows",
        arguments: [nil, 30] as [StoredValue?]
    )
    func sameUnusableValue(between: StoredValue?) async throws {
        try await withStores { path, store, limit, other in
            try await limit.set(23)
            try store.checkpoint()
            try other.commit { $0["limit"] = 200 }
            store.lookAndWait()
            #expect(limit.value == 23)
            try await limit.suite.setStoredValue(1, forKey: "a")
            try store.checkpoint()
            #expect(try (path + ".last-good").fileContents.contains("23"))
            for value in [between, 200] { try other.commit { $0["limit"] = value } }
            try other.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("23"))
        }
    }

    @Test("a value that was used because of a requirement leaves the disk when the stored one is used")
    func metRequirement() async throws {
        try await withStores { path, store, limit, _ in
            let low = Setting("low", default: 0, suite: limit.suite)
            let high = Setting("high", default: 0, suite: limit.suite)
            SettingsCatalog(low, high).require("low is at most high", low, high) { $0 <= $1 }
            try await high.set(5)
            try await low.set(1)
            try store.checkpoint()
            try edit(path, #"{"high": 5, "low": 10}"#, store)
            #expect(low.value == 1)
            try await high.set(20)
            #expect(low.value == 10)
            try store.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("lastGood"))
        }
    }

    @Test("a process that changes nothing writes the last good value that it knows, if the copy has lost it")
    func idleProcess() async throws {
        try await withSettingsPath { path in
            let other = FileStore(path: FilePath(path), checkpointsInBackground: false)
            for value in [22, 23] as [StoredValue] {
                try other.commit { $0["limit"] = value }
                try other.checkpoint()
            }
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            let limit = Setting("limit", default: 64, suite: suite, in: 1...100)
            #expect(limit.value == 23)
            try other.commit { $0["limit"] = 200 }
            #expect(limit.value == 23)
            try other.checkpoint()
            try await eventually("the copy has the last good value") {
                try (path + ".last-good").fileContents.contains("23")
            }
            let later = SettingsSuite(store: makeStore(path), reporter: reporter)
            #expect(Setting("limit", default: 64, suite: later, in: 1...100).value == 23)
            await suite.finish()
        }
    }
}
