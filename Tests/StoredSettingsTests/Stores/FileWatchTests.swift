// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("File watches")
struct FileWatchTests {
    @Test("frequent writes to other files in the directory invalidate no cached value")
    func busyDirectory() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let store = makeStore(path)
            try store.commit { $0["n"] = 1 }
            try store.checkpoint()
            store.watch()
            let before = store.storeVersion.version.local
            for round in 0..<200 {
                for name in ["other", "settings.json.lock", "settings.json.last-good", "settings.json.new"] {
                    try "\(directory)/\(name)".overwriteFile(with: "\(round)")
                }
                // Longer than the interval in which events are coalesced.
                try await Task.sleep(for: .milliseconds(2))
            }
            try path.replaceFile(with: #"{"n": 2}"#)
            await eventually("the edit is noticed") {
                store.storeVersion.contentsVersion.map { _ in store.withValue(forKey: "n") { $0 } == 2 } ?? false
            }
            // One check per event of the edit, and one after the file has settled.
            #expect(store.storeVersion.version.local - before < 20)
            store.close()
        }
    }

    @Test(
        "a subscriber receives what is in the target of a link that appears later",
        arguments: ["target.json", "elsewhere/target.json"]
    )
    func danglingLink(target: String) async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: directory + "/elsewhere",
                withIntermediateDirectories: false
            )
            let path = directory + "/settings.json"
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
            let suite = SettingsSuite(fileAt: path, reporter: RecordingReporter())
            let received = Mutex<[Int]>([])
            // A read would look at the file by itself: nothing but the watch notices this.
            let observation = Setting("n", default: 0, suite: suite)
                .observe { change in
                    received.withLock { $0.append(change.new) }
                }
            try "\(directory)/\(target)".overwriteFile(with: #"{"n": 1}"#)
            await eventually("the value is received") { received.withLock { $0.last } == 1 }
            observation.invalidate()
            await suite.finish()
        }
    }

    @Test("a subscriber receives the values of a journal that is moved over another one")
    func movedJournal() async throws {
        try await withTemporaryDirectory { directory in
            let (path, other) = (directory + "/settings.json", directory + "/other/settings.json")
            try makeStore(path).commit { $0["a"] = 1 }
            try makeStore(other).commit { $0["n"] = 1 }
            let suite = SettingsSuite(store: makeStore(path))
            #expect(suite.storedValue(forKey: "a") == 1)
            let received = Mutex<Int?>(nil)
            let observation = Setting("n", default: 0, suite: suite)
                .observe { change in received.withLock { $0 = change.new } }
            #expect(rename(other + ".journal", path + ".journal") == 0)
            await eventually("the value is received") { received.withLock { $0 } == 1 }
            observation.invalidate()
            await suite.finish()
        }
    }

    @Test("an edit is not missed for a write to the journal that comes just after it")
    func editBeforeRecord() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let edits = Mutex(0)
            let names = DirectoryWatcher.Names(
                files: [Array("settings.json".utf8)],
                journal: Array("settings.json.journal".utf8)
            )
            try (path + ".journal").overwriteFile(with: "")
            let watch = try DirectoryWatcher.shared.watch(FilePath(directory), for: names, SystemCalls()) { isChanged in
                if isChanged { edits.withLock { $0 += 1 } }
            }
            let journal = try SystemCalls().open(path + ".journal", O_RDWR)
            for round in 1...30 {
                let before = edits.withLock { $0 }
                try path.overwriteFile(with: "\(round)")
                // The watcher receives both together, mostly.
                for _ in 1...3 { try SystemCalls().write([0], to: journal) }
                await eventually("the edit is noticed") { edits.withLock { $0 > before } }
            }
            withExtendedLifetime(watch) {}
        }
    }

    @Test("before the journal exists, a cached value is invalidated before the file is watched")
    func firstSet() async throws {
        try await withTemporaryDirectory { directory in
            var isInTime = false
            while !isInTime {
                let cached = Mutex<(storeVersion: StoreVersion, version: StoreVersion.Version)?>(nil)
                let isStale = Mutex<Bool?>(nil)
                let system = SystemCalls { call, path in
                    guard call == .watch, path.hasPrefix(directory), let cached = cached.withLock({ $0 }) else {
                        return nil
                    }
                    isStale.withLock { $0 = $0 ?? !cached.storeVersion.isCurrent(cached.version) }
                    return nil
                }
                let store = FileStore(path: directory + "/settings.json", system: system)
                let start = ContinuousClock.now
                #expect(store.contents() == [:])
                cached.withLock { $0 = (store.storeVersion, store.storeVersion.version) }
                // What is cached later may miss the last look before the watch, which begins after a second.
                isInTime = ContinuousClock.now - start < .seconds(0.5)
                if isInTime {
                    await eventually("the directory is watched") { isStale.withLock { $0 != nil } }
                    #expect(isStale.withLock { $0 } == true)
                }
                store.close()
            }
        }
    }

    @Test("a change that a checkpoint finds reaches its subscribers before the first fsync")
    func changeFoundByCheckpoint() async throws {
        try await withTemporaryDirectory { directory in
            let events = Mutex<[String]>([])
            let path = directory + "/settings.json"
            let isCheckpointing = Atomic(false)
            let system = SystemCalls { call, callPath in
                guard isCheckpointing.load(ordering: .relaxed) else { return nil }
                do {
                    // The edit happens between the last check of the file and the checkpoint.
                    if call == .lock, callPath.hasSuffix(".lock") { try path.replaceFile(with: #"{"n": 2}"#) }
                } catch {
                    Issue.record(error)
                }
                if call == .sync { events.withLock { $0.append("sync") } }
                return nil
            }
            let store = makeStore(path, system)
            let observer = WokenObserver { _ in events.withLock { $0.append("change") } }
            try store.commit { $0["n"] = 1 }
            try store.checkpoint()
            // Otherwise, another thread may look again during the next checkpoint, and notice the edit.
            await eventually("the file has settled") { store.peek { $0.settings.reading?.isCertain == true } }
            try store.commit { $0["other"] = 1 }
            store.setObserver(observer)
            isCheckpointing.store(true, ordering: .relaxed)
            try store.checkpoint()
            isCheckpointing.store(false, ordering: .relaxed)
            #expect(events.withLock { $0.first } == "change")
            #expect(events.withLock { $0.contains("sync") })
            store.close()
        }
    }

    @Test("the first observation creates the directory of the file")
    func createsDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let suite = SettingsSuite(fileAt: directory + "/new/settings.json")
            let observation = Setting("n", default: 0, suite: suite).observe { _ in }
            let contents = try FileManager.default.contentsOfDirectory(atPath: directory + "/new")
            #expect(contents == [])
            observation.invalidate()
            suite.finish()
        }
    }

    @Test("a link further up the path that is swapped is noticed by the next checkpoint")
    func swappedFurtherUp() async throws {
        try await withTemporaryDirectory { directory in
            for version in [1, 2] {
                let inner = "\(directory)/v\(version)/sub"
                try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
                try "\(inner)/settings.json".overwriteFile(with: #"{"n": \#(version)}"#)
            }
            #expect(symlink("v1", directory + "/current") == 0)
            let store = makeStore(directory + "/current/sub/settings.json")
            #expect(store.value(forKey: "n") == 1)
            #expect(symlink("v2", directory + "/new") == 0)
            #expect(rename(directory + "/new", directory + "/current") == 0)
            try store.checkpoint()
            #expect(store.value(forKey: "n") == 2)
            store.close()
        }
    }
}
