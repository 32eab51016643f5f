// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("When a FileStore looks at its files")
struct FileWatchTests {
    @Test("another file that is written all the time in the same directory makes no cached value stale")
    func busyDirectory() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let store = FileStore(path: path, checkpointsInBackground: false)
            try store.commit { $0["n"] = 1 }
            try store.checkpoint()
            store.watch()
            let before = store.versionStamp.version.local
            for round in 0..<200 {
                for name in ["other", "settings.json.lock", "settings.json.last-good", "settings.json.new"] {
                    try "\(directory)/\(name)".overwriteFile(with: "\(round)")
                }
                // Longer than the pause in which events are gathered.
                try await Task.sleep(for: .milliseconds(2))
            }
            try path.replaceFile(with: #"{"n": 2}"#)
            await eventually("the edit is noticed") {
                store.versionStamp.contentsVersion.map { _ in store.withValue(forKey: "n") { $0 } == 2 } ?? false
            }
            // A look for each event of the edit, and one when it has settled.
            #expect(store.versionStamp.version.local - before < 20)
            store.close()
        }
    }

    @Test("a link to a directory that is replaced beside the file is noticed")
    func replacedLink() async throws {
        try await withTemporaryDirectory { directory in
            for version in [1, 2] {
                let inner = "\(directory)/v\(version)"
                try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
                try "\(inner)/settings.json".overwriteFile(with: #"{"n": \#(version)}"#)
            }
            func link(_ name: String, to target: String) throws {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(directory)/\(name)",
                    withDestinationPath: target
                )
            }
            try link("current", to: "v1")
            try link("settings.json", to: "current/settings.json")
            let suite = SettingsSuite(fileAt: directory + "/settings.json")
            let setting = Setting("n", default: 0, suite: suite)
            let observation = setting.observe { _ in }
            #expect(setting.value == 1)
            try link("next", to: "v2")
            #expect(rename("\(directory)/next", "\(directory)/current") == 0)
            await eventually("the other file is read") { setting.value == 2 }
            observation.invalidate()
            suite.finish()
        }
    }

    @Test("until there is a journal, a cached value is read again before the file is watched")
    func firstSet() async throws {
        try await withTemporaryDirectory { directory in
            let cached = Mutex<(versionStamp: VersionStamp, version: VersionStamp.Version)?>(nil)
            let isStale = Mutex<Bool?>(nil)
            let system = SystemCalls { call, path in
                guard call == .watch, path.hasPrefix(directory), let cached = cached.withLock({ $0 }) else {
                    return nil
                }
                isStale.withLock { $0 = $0 ?? !cached.versionStamp.isCurrent(cached.version) }
                return nil
            }
            let store = FileStore(path: directory + "/settings.json", system: system)
            #expect(store.contents() == [:])
            cached.withLock { $0 = (store.versionStamp, store.versionStamp.version) }
            await eventually("the directory is watched") { isStale.withLock { $0 != nil } }
            #expect(isStale.withLock { $0 } == true)
            store.close()
        }
    }

    @Test("a change that a checkpoint finds reaches its subscribers before the first fsync")
    func changeFoundByCheckpoint() throws {
        let events = Mutex<[String]>([])
        try withDirectory { directory in
            let path = directory + "/settings.json"
            let isCheckpointing = Atomic(false)
            let system = SystemCalls { call, callPath in
                guard isCheckpointing.load(ordering: .relaxed) else { return nil }
                do {
                    // The edit falls between the last look and the checkpoint.
                    if call == .lock, callPath.hasSuffix(".lock") { try path.replaceFile(with: #"{"n": 2}"#) }
                } catch {
                    Issue.record(error)
                }
                if call == .sync { events.withLock { $0.append("sync") } }
                return nil
            }
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            let observer = WokenObserver { events.withLock { $0.append("change") } }
            try store.commit { $0["n"] = 1 }
            try store.checkpoint()
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

    private func withDirectory(_ body: (String) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("StoredSettings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        defer {
            do {
                try FileManager.default.removeItem(at: url)
            } catch {
                Issue.record(error)
            }
        }
        try body(url.path)
    }
}

/// An observer of a store, and its one subscriber.
private final class WokenObserver: StoreObserver, ChangeSubscriber {
    private let didWake: @Sendable () -> Void

    init(didWake: @escaping @Sendable () -> Void) {
        self.didWake = didWake
    }

    func record(_ commit: StoreCommit) -> StoreDelivery {
        StoreDelivery(subscribers: [self], origin: commit.origin, recorder: self)
    }

    func report(_ error: SettingsError) {
        Issue.record(error)
    }

    func offer(_ commit: StoreCommit) -> Bool { true }
    func wake(_ origin: SettingChangeOrigin) { didWake() }
    func finish() {}
}
