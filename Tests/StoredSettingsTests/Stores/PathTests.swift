// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Paths as bytes")
struct PathTests {
    @Test("a link to a name that is not valid UTF-8 leads to that file")
    func notUnicode() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let target = FilePath(directory)
                .appending(FilePath(bytes: Array("caf".utf8) + [0xE9] + Array(".json".utf8)))
            #expect(target.name.withCString { name in path.withCString { symlink(name, $0) } } == 0)
            let suite = SettingsSuite(store: makeStore(path))
            try await suite.setStoredValue(1, forKey: "a")
            try await suite.synchronize()
            try await suite.checkpoint()
            let file = try #require(try SystemCalls().openIfPresent(target, O_RDONLY))
            #expect(try String(decoding: SystemCalls().contents(of: file), as: UTF8.self) == "{\n  \"a\": 1\n}\n")
            let handle = try SystemCalls().openDirectory(FilePath(directory))
            let names = try SystemCalls().names(in: handle).filter { ![".", ".."].contains($0) }
            let siblings = ["", ".journal", ".lock", ".last-good"].map { target.name.adding($0) }
            #expect(Set(names) == Set(siblings + ["settings.json"]))
        }
    }

    @Test("two Unicode spellings of one string are two files")
    func normalization() async throws {
        try await withTemporaryDirectory { directory in
            let (one, two) = ("\(directory)/\u{E9}.json", "\(directory)/e\u{301}.json")
            #expect(one == two)
            let (first, second) = (SettingsSuite(fileAt: one), SettingsSuite(fileAt: two))
            try await first.setStoredValue(1, forKey: "a")
            try await second.setStoredValue(2, forKey: "a")
            try await first.checkpoint()
            try await second.checkpoint()
            #expect(first[storedValueFor: "a"] == 1)
            #expect(try one.fileContents == "{\n  \"a\": 1\n}\n")
            #expect(try two.fileContents == "{\n  \"a\": 2\n}\n")
        }
    }

    @Test(
        "a file with a long name is written, and drafts of it that were left are removed",
        arguments: (229...245).sampled(4)
    )
    func longName(length: Int) async throws {
        try await withTemporaryDirectory { directory in
            let name = String(repeating: "n", count: length)
            let path = "\(directory)/\(name)"
            let store = FileStore(path: path, checkpointsInBackground: false, journalBound: 1_000)
            try store.commit { $0["a"] = 1 }
            let other = FilePath(String(name.dropLast()) + "m").randomDraft().description
            for draft in [FilePath(name).randomDraft().description, other] {
                try "\(directory)/\(draft)".overwriteFile(with: "abandoned")
            }
            // Other users have access, so the lock is created by its draft.
            try store.checkpoint()
            #expect(chmod(path, 0o666) == 0 && unlink(path + ".lock") == 0)
            // The journal becomes so long that it is replaced.
            for number in 1...100 { try store.commit { $0["a"] = .string(String(repeating: "\(number)", count: 50)) } }
            try store.checkpoint()
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(Set(names) == Set(["", ".journal", ".lock", ".last-good"].map { name + $0 } + [other]))
            #expect(try path.fileContents.contains("100100"))
        }
    }

    @Test("a file whose name leaves no room for those beside it is refused by the first set", arguments: 246...255)
    func tooLongName(length: Int) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/" + String(repeating: "n", count: length)
            let suite = SettingsSuite(fileAt: path, reporter: RecordingReporter())
            let error = settingsError { try suite.setStoredValue(1, forKey: "a") }
            #expect(error?.code == .writeFailed)
            #expect(error?.remedy == "give the suite or its file a shorter name")
            guard case .readOnly = suite.persistence else {
                Issue.record("the suite claims that it can store values")
                return
            }
            suite.finish()
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(names.isEmpty)
        }
    }

    @Test("a suite does not claim to be durable below a link that leads to nothing", arguments: ["link", "link/below"])
    func danglingLink(name: String) async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createSymbolicLink(atPath: directory + "/link", withDestinationPath: "missing")
            let path = "\(directory)/\(name)/settings.json"
            let suite = SettingsSuite(fileAt: path, reporter: RecordingReporter())
            #expect(suite.persistence == .readOnly(path: path, reason: "No such file or directory"))
            #expect(settingsError { try suite.setStoredValue(1, forKey: "a") }?.code == .writeFailed)
            try FileManager.default.createDirectory(atPath: directory + "/missing", withIntermediateDirectories: false)
            try await suite.setStoredValue(1, forKey: "a")
            #expect(suite.persistence == .durable(path: path))
            await suite.finish()
        }
    }

    @Test(
        "a path that cannot name a file stores nothing and reports it",
        arguments: ["\0", "/x\0.journal", "/..", "/.", "/"]
    )
    func impossible(suffix: String) async throws {
        try await withTemporaryDirectory { directory in
            let reporter = RecordingReporter()
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            let suite = SettingsSuite(fileAt: (suffix.hasPrefix("/") ? directory : path) + suffix, reporter: reporter)
            #expect(suite[storedValueFor: "a"] == nil)
            #expect(reporter.errors.map(\.code) == [.locationUnavailable])
            guard case .ephemeral = suite.persistence else {
                Issue.record("the suite claims to be persistent: \(suite.persistence)")
                return
            }
            expectError(.locationUnavailable) {
                try suite.setStoredValue(2, forKey: "a")
            }
            #expect(try path.fileContents == #"{"a": 1}"#)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["settings.json"])
        }
    }

    @Test("a suite whose path leads to no regular file accepts no change, and creates nothing", arguments: 0..<3)
    func notAFile(kind: Int) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            switch kind {
            case 0: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            case 1: #expect(mkfifo(path, 0o600) == 0)
            default:
                try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: false)
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "real")
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            let store = makeStore(path)
            let error = try #require(settingsError { try store.commit(isBlind: true) { $0["a"] = 1 } })
            #expect(error.code == .writeFailed)
            #expect(error.fact.contains(kind == 1 ? "leads to a device" : "leads to a directory"))
            #expect(!error.remedy.isEmpty && !error.remedy.contains(path + "/"))
            #expect(error.remedy.contains("Docker") == (kind != 1))
            #expect(store.contents() == [:])
            guard case .readOnly = store.persistence else {
                Issue.record("the store claims to be writable: \(store.persistence)")
                return
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == names)
        }
    }

    @Test("a settings file with a length of a terabyte is rejected without being read")
    func enormous() async throws {
        try await withSettingsPath { path in
            let reporter = RecordingReporter()
            let suite = SettingsSuite(store: makeStore(path), reporter: reporter)
            try await suite.setStoredValue(1, forKey: "a")
            try await suite.checkpoint()
            #expect(truncate(path, 1 << 40) == 0)
            let other = SettingsSuite(store: makeStore(path), reporter: reporter)
            for suite in [suite, other] {
                #expect(suite[storedValueFor: "a"] == 1)
                try await suite.setStoredValue(3, forKey: "c")
                expectError(.readFailed) { try suite.checkpoint() }
            }
            let error = try #require(reporter.errors.first)
            #expect(error.message.contains("64 MiB"))
            try path.replaceFile(with: #"{"b": 2}"#)
            try await other.checkpoint()
            #expect(other.snapshot() == ["b": 2, "c": 3])
        }
    }
}
