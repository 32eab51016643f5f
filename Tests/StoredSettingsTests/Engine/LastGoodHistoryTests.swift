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

    /// Sets 23, which another process replaces by a value that the setting cannot use.
    private func replaceByUnusable(_ limit: Setting<Int>, _ store: FileStore, _ other: FileStore) async throws {
        try await limit.set(23)
        try store.checkpoint()
        try other.commit { $0["limit"] = 200 }
        store.lookAndWait()
        #expect(limit.value == 23)
    }

    private func edit(_ path: String, _ text: String, _ store: FileStore) throws {
        try path.replaceFile(with: text)
        store.lookAndWait()
    }

    @Test("a value that was not used is no last good one, and a late reader of it still finds the one before it")
    func unusedValue() {
        var history = ValueHistory()
        history.note(StoreChange(key: "key", old: nil, new: 40))
        history.note(StoreChange(key: "key", old: 40, new: 5_000))
        history.note(ValueReplacement(key: "key", stored: 5_000, used: 40))
        history.note(StoreChange(key: "key", old: 5_000, new: 464))
        #expect(history.candidates(insteadOf: 5_000).first.map(\.value) == [40, 464])
        #expect(history.candidates(insteadOf: 464).first.map(\.value) == [40])
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

    @Test("after several unusable values, the last good value is still the newest one")
    func severalUnusable() throws {
        let suite = SettingsSuite.inMemory(reporter: RecordingReporter())
        let number = Setting("number", default: 0, suite: suite)
        for value in 1...3 { try number.set(value) }
        for text in 1...10 {
            try suite.setStoredValue(.string("\(text) pieces"), forKey: "number")
            #expect(number.value == 3)
        }
    }

    @Test("an observer of a renamed setting receives the value under the old key while that of the new one is unusable")
    func oldKeyBesideUnusable() throws {
        let suite = SettingsSuite.inMemory(["old": 4], reporter: RecordingReporter())
        let number = Setting("new", default: 0, suite: suite, traits: .renamed(from: "old"))
        try suite.setStoredValue("unusable", forKey: "new")
        let seen = ObservedChanges(of: number)
        #expect(number.value == 4)
        try suite.setStoredValue(9, forKey: "old")
        #expect(number.value == 9)
        try suite.setStoredValue(nil, forKey: "old")
        #expect(number.value == 0)
        #expect(seen.pairs == [[4, 9], [9, 0]])
    }

    @Test("an observer receives the last good value that the checkpoint of another process has written into the copy")
    func copiedLater() async throws {
        try await withStores { path, store, limit, other in
            try await limit.set(23)
            try store.checkpoint()
            try await limit.suite.setStoredValue(200, forKey: "limit")
            let later = Setting(
                "limit",
                default: 64,
                suite: SettingsSuite(store: other, reporter: reporter),
                in: 1...100
            )
            let seen = ObservedChanges(of: later)
            // The copy does not count while the journal has a newer value.
            #expect(later.value == 64)
            try store.checkpoint()
            other.lookAndWait()
            #expect(later.value == 23)
            await eventually("the observer receives it") { seen.pairs == [[64, 23]] }
        }
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
            try await replaceByUnusable(limit, store, other)
            try await limit.suite.setStoredValue(1, forKey: "a")
            try store.checkpoint()
            #expect(try (path + ".last-good").fileContents.contains("23"))
            for value in [between, 200] { try other.commit { $0["limit"] = value } }
            try other.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("23"))
        }
    }

    @Test(
        "a last good value that this process uses ends when the key had another value or none, also if the same one follows",
        arguments: [nil, 30] as [StoredValue?],
        ["records", "a checkpoint", "two checkpoints"]
    )
    func sameUnusableValueAgain(between: StoredValue?, written: String) async throws {
        try await withStores { path, store, limit, other in
            try await replaceByUnusable(limit, store, other)
            for value in [between, 200] { try other.commit { $0["limit"] = value } }
            // After the second one, this process cannot continue with the records that it knows.
            for number in 0..<(written == "records" ? 0 : written == "a checkpoint" ? 1 : 2) {
                try other.checkpoint()
                try other.commit { $0["other"] = .integer(Int128(number)) }
            }
            try store.checkpoint()
            #expect(store.contents()["limit"] == 200)
            #expect(try !(path + ".last-good").fileContents.contains("23"))
        }
    }

    @Test("a set that was not read is the last good value of a later one without conversion")
    func unreadSet() async throws {
        try await withStores { path, store, limit, _ in
            try await limit.set(20)
            try await limit.set(23)
            try await limit.suite.setStoredValue(200, forKey: "limit")
            #expect(limit.value == 23)
            try await limit.set(30)
            limit.suite[storedValueFor: "limit"] = 200
            #expect(limit.value == 30)
            try store.checkpoint()
            #expect(try (path + ".last-good").fileContents.contains(#"{"limit":30}"#))
        }
    }

    @Test("the old key of a renamed setting does not end the last good value of the new one, and is used without one")
    func renamed() async throws {
        try await withStores { path, store, limit, _ in
            let suite = limit.suite
            let port = Setting("port", default: 64, suite: suite, in: 1...100, traits: .renamed(from: "old"))
            try edit(path, #"{"old": 11, "port": 12}"#, store)
            #expect(port.value == 12)
            try edit(path, #"{"old": 11, "port": 200}"#, store)
            #expect(port.value == 12)
            try edit(path, #"{"port": 200}"#, store)
            #expect(port.value == 12)
            try edit(path, #"{"old": 13}"#, store)
            #expect(port.value == 13)
            try edit(path, #"{"old": 13, "port": 200}"#, store)
            #expect(port.value == 13)
            try edit(path, #"{"old": 200}"#, store)
            #expect(port.value == 13)
        }
    }

    @Test("a value that was not read since an edit is retained, also with a validator, and when the suite is finished")
    func unreadSettings() async throws {
        for end in ["checkpoint", "finish"] {
            try await withSettingsPath(inMemory: true) { path in
                let store = FileStore(path: FilePath(path), checkpointsInBackground: end == "finish")
                let suite = SettingsSuite(store: store, reporter: reporter)
                let plain = Setting("plain", default: 64, suite: suite, in: 1...100)
                let validated = Setting("validated", default: 64, suite: suite, validate: { $0 <= 100 })
                try await plain.set(23)
                try await validated.set(24)
                try store.checkpoint()
                try path.replaceFile(with: #"{"plain": 200, "validated": 201}"#)
                store.lookAndWait()
                try await suite.setStoredValue(1, forKey: "a")
                if end == "finish" { await suite.finish() } else { try store.checkpoint() }
                let copy = try (path + ".last-good").fileContents
                for text in ["200", "201", #"{"plain":23,"validated":24}"#] {
                    #expect(copy.contains(text), "\(end): \(copy)")
                }
                withExtendedLifetime((plain, validated)) {}
            }
        }
    }

    @Test("a suite that is released retains the last good values that it used", .deadlockLimit)
    func released() async throws {
        try await withSettingsPath { path in
            do {
                let suite = SettingsSuite(fileAt: path, reporter: reporter)
                let limit = Setting("limit", default: 64, suite: suite, in: 1...100)
                try await limit.set(23)
                try await suite.checkpoint()
                try path.replaceFile(with: #"{"limit": 200}"#)
                await eventually("the edit is used") { suite[storedValueFor: "limit"] == 200 }
                #expect(limit.value == 23)
                try await suite.setStoredValue(1, forKey: "a")
            }
            try await eventually("the last checkpoint is made") { try path.fileContents.contains(#""a": 1"#) }
            #expect(try (path + ".last-good").fileContents.contains("23"))
        }
    }

    @Test("a validator that blocks does not delay the checkpoint of other values", .deadlockLimit)
    func blockedExamination() async throws {
        try await withSettingsPath { path in
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            let gate = Mutex(())
            let isBlocking = Mutex(false)
            let limit = Setting(
                "limit",
                default: 64,
                suite: suite,
                validate: { value in
                    if isBlocking.withLock(\.self) { gate.withLock { _ in } }
                    return value <= 100
                }
            )
            try await limit.set(23)
            try await suite.checkpoint()
            try path.replaceFile(with: #"{"limit": 200}"#)
            await eventually("the edit is used") { suite[storedValueFor: "limit"] == 200 }
            try onAnotherThread {
                try gate.withLock { _ in
                    isBlocking.withLock { $0 = true }
                    try suite.setStoredValue(1, forKey: "a")
                    let deadline = ContinuousClock.now + .seconds(30)
                    while try !path.fileContents.contains(#""a": 1"#), .now < deadline { usleep(10_000) }
                    #expect(try path.fileContents.contains(#""a": 1"#))
                    isBlocking.withLock { $0 = false }
                }
            }
            // The validator may run again, so the value is found, and written by a checkpoint of its own.
            try await eventually("the copy has the last good value") {
                try (path + ".last-good").fileContents.contains("23")
            }
            await suite.finish()
            withExtendedLifetime(limit) {}
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

    @Test("a value that is used again ends the last good one, for new processes and a later violation as well")
    func metAgain() async throws {
        try await withStores { path, store, limit, _ in
            func pool(_ suite: SettingsSuite) -> (low: Setting<Int>, high: Setting<Int>) {
                let low = Setting("low", default: 10, suite: suite)
                let high = Setting("high", default: 90, suite: suite)
                SettingsCatalog(low, high).require("low is at most high", low, high) { $0 <= $1 }
                return (low, high)
            }
            let own = pool(limit.suite)
            try await own.high.set(40)
            try await own.low.set(20)
            try store.checkpoint()
            try edit(path, #"{"high": 3, "low": 20}"#, store)
            #expect(own.high.value == 40)
            try await limit.suite.setStoredValue("a", forKey: "name")
            try store.checkpoint()
            #expect(try (path + ".last-good").fileContents.contains(#"{"high":40}"#))
            // Not read again.
            try await own.low.set(1)
            try store.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("40"))
            #expect(own.high.value == 3)
            try edit(path, #"{"high": 3, "low": 5, "name": "a"}"#, store)
            #expect(own.low.value == 1)
            try await limit.suite.setStoredValue("b", forKey: "name")
            try store.checkpoint()
            let later = pool(SettingsSuite(store: makeStore(path), reporter: reporter))
            #expect(later.low.value == 1)
            #expect(later.high.value == 3)
        }
    }

    @Test("a key that became secret keeps no last good value on the disk")
    func becameSecret() async throws {
        try await withStores { path, store, limit, other in
            try await limit.set(23)
            try store.checkpoint()
            try edit(path, #"{"limit": 200}"#, store)
            #expect(limit.value == 23)
            try await limit.suite.setStoredValue(1, forKey: "a")
            try store.checkpoint()
            #expect(try (path + ".last-good").fileContents.contains("23"))
            let suite = SettingsSuite(store: other, reporter: reporter)
            let secret = Setting("limit", default: 64, suite: suite, in: 1...100, traits: .secret)
            #expect(secret.value == 23)
            try await suite.setStoredValue(2, forKey: "a")
            try other.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("23"))
        }
    }

    /// A suite with checkpoints in the background, whose setting was not read since an edit made its value unusable.
    private func withUnreadEdit(
        _ body: (_ path: String, _ store: FileStore, _ limit: Setting<Int>) async throws -> Void
    ) async throws {
        try await withSettingsPath(inMemory: true) { path in
            let first = makeStore(path)
            try first.commit { $0["limit"] = 20 }
            try first.checkpoint()
            let store = FileStore(path: FilePath(path))
            let suite = SettingsSuite(store: store, reporter: reporter)
            let limit = Setting("limit", default: 64, suite: suite, in: 1...100)
            #expect(suite[storedValueFor: "limit"] == 20)
            try edit(path, #"{"limit": 200}"#, store)
            try await body(path, store, limit)
            let later = SettingsSuite(store: makeStore(path), reporter: reporter)
            #expect(Setting("limit", default: 64, suite: later, in: 1...100).value == 20)
        }
    }

    @Test(
        "a suite that is finished right after a checkpoint in the background retains a last good value that was not read"
    )
    func finishedSoon() async throws {
        try await withUnreadEdit { path, store, limit in
            try await limit.suite.setStoredValue(1, forKey: "a")
            try await eventually("the checkpoint is made") { try path.fileContents.contains("\"a\"") }
            await limit.suite.finish()
        }
    }

    @Test("a process retains a last good value that was not read if another process has written the copy without it")
    func writtenByOther() async throws {
        try await withUnreadEdit { path, store, limit in
            let other = makeStore(path)
            try other.commit { $0["a"] = 1 }
            store.lookAndWait()
            try other.checkpoint()
            store.lookAndWait()
            try await eventually("the copy has the last good value") {
                try (path + ".last-good").fileContents.contains("20}")
            }
            await limit.suite.finish()
        }
    }

    @Test("a set between two unusable values is the last good one, also if it was not read", arguments: [false, true])
    func setInBetween(isRead: Bool) async throws {
        try await withSettingsPath(inMemory: true) { path in
            let store = FileStore(path: FilePath(path))
            let suite = SettingsSuite(store: store, reporter: reporter)
            let narrow = Setting("limit", default: 64, suite: suite, in: 1...100)
            let wide = Setting("limit", default: 64, suite: suite)
            try await narrow.set(20)
            try store.checkpoint()
            try edit(path, #"{"limit": 200}"#, store)
            #expect(narrow.value == 20)
            narrow.value = 50
            if isRead { #expect(narrow.value == 50) }
            wide.value = 200
            #expect(narrow.value == 50)
            try store.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("20}"))
            await suite.finish()
        }
    }

    @Test("a setting that is declared after others were examined is examined, too")
    func declaredLater() async throws {
        try await withStores { path, store, limit, _ in
            let wide = Setting("size", default: 64, suite: limit.suite)
            try await wide.set(20)
            try store.checkpoint()
            try edit(path, #"{"size": 200}"#, store)
            for number in 1...2 {
                try await limit.suite.setStoredValue(.integer(Int128(number)), forKey: "a")
                if number == 2 {
                    let narrow = Setting("size", default: 64, suite: limit.suite, in: 1...100)
                    try store.checkpoint()
                    withExtendedLifetime(narrow) {}
                } else {
                    try store.checkpoint()
                }
            }
            #expect(try (path + ".last-good").fileContents.contains(#"{"size":20}"#))
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
