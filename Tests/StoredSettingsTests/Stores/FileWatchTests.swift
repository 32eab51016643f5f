// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("File watches")
struct FileWatchTests {
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
            let received = CallLog<Int>()
            // A read would look at the file by itself: nothing but the watch notices this.
            let observation = Setting("n", default: 0, suite: suite).observe { received.add($0.new) }
            try "\(directory)/\(target)".overwriteFile(with: #"{"n": 1}"#)
            await eventually("the value is received") { received.all.last == 1 }
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
            let received = CallLog<Int>()
            let observation = Setting("n", default: 0, suite: suite).observe { received.add($0.new) }
            #expect(rename(other + ".journal", path + ".journal") == 0)
            await eventually("the value is received") { received.all.last == 1 }
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
}
