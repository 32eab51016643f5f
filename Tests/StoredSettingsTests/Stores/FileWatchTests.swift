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
            #expect(suite[storedValueFor: "a"] == 1)
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

    /// A change of what a path leads to, above the directory of the file.
    enum AncestorChange: CaseIterable, Sendable {
        case renamed, linkReplaced, removedAndCreated, created, linkCreated

        private func write(_ value: Int, _ directory: String) throws {
            try FileManager.default.createDirectory(atPath: directory + "/app", withIntermediateDirectories: true)
            // Without a journal, no checkpoint looks at the path.
            try "\(directory)/app/settings.json".overwriteFile(with: "{\"n\": \(value)}")
        }

        func prepare(_ directory: String) throws {
            let manager = FileManager.default
            switch self {
            case .renamed, .removedAndCreated:
                try write(1, directory + "/current")
                try write(2, directory + "/next")
            case .linkReplaced:
                try write(1, directory + "/first")
                try write(2, directory + "/next")
                try manager.createSymbolicLink(atPath: directory + "/current", withDestinationPath: "first")
            case .created: break
            case .linkCreated: try write(2, directory + "/next")
            }
        }

        /// Makes the path lead to another directory, whose value is 2.
        func perform(_ directory: String) throws {
            let manager = FileManager.default
            let current = directory + "/current"
            switch self {
            case .renamed:
                #expect(rename(current, directory + "/old") == 0)
                #expect(rename(directory + "/next", current) == 0)
            case .linkReplaced:
                try manager.createSymbolicLink(atPath: directory + "/link", withDestinationPath: "next")
                #expect(rename(directory + "/link", current) == 0)
            case .removedAndCreated:
                try manager.removeItem(atPath: current)
                #expect(rename(directory + "/next", current) == 0)
            case .created: try write(2, current)
            case .linkCreated: try manager.createSymbolicLink(atPath: current, withDestinationPath: "next")
            }
        }
    }

    @Test("a subscriber receives the values of another directory at the path", arguments: AncestorChange.allCases)
    func changedAncestor(_ change: AncestorChange) async throws {
        try await withTemporaryDirectory { directory in
            try change.prepare(directory)
            let path = directory + "/current/app/settings.json"
            let suite = SettingsSuite(fileAt: path, reporter: RecordingReporter())
            let setting = Setting("n", default: 0, suite: suite)
            _ = setting.value
            let received = CallLog<Int>()
            // A read would look at the path by itself: nothing but the watch notices this.
            let observation = setting.observe { received.add($0.new) }
            // Looks that are due because the file was written a moment ago would find it, too.
            try await Task.sleep(for: .seconds(0.5))
            try change.perform(directory)
            await eventually("the value is received") { received.all.last == 2 }
            observation.invalidate()
            await suite.finish()
        }
    }

    @Test("an observation creates no directory")
    func createsNoDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let suite = SettingsSuite(fileAt: directory + "/new/settings.json")
            let observation = Setting("n", default: 0, suite: suite).observe { _ in }
            #expect(!FileManager.default.fileExists(atPath: directory + "/new"))
            observation.invalidate()
            await suite.finish()
        }
    }
}
