// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Files that another user has planted beside a settings file")
struct PlantedFileTests {
    private static let otherUser: uid_t = 4_321
    private static let otherGroup: gid_t = 4_322
    private static let isRoot = geteuid() == 0

    private let reporter = RecordingReporter()

    /// The values that a new process reads.
    private func values(_ path: String) -> [String: StoredValue] {
        makeStore(path).contents()
    }

    @Test("a journal that receives another name while it is open is refused, as by processes that begin then")
    func linkedJournal() async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try FileManager.default.linkItem(atPath: path + ".journal", toPath: path + ".backup")
            store.look()
            expectError(.untrustedFile) { try store.commit { $0["a"] = 2 } }
            expectError(.untrustedFile) { try makeStore(path).commit { $0["a"] = 2 } }
            try FileManager.default.removeItem(atPath: path + ".backup")
            store.look()
            try store.commit { $0["a"] = 3 }
            #expect(values(path) == ["a": 3])
        }
    }

    private enum Plant: CaseIterable {
        case linkToNothing, linkToFile, hardLink
    }

    @Test(
        "a sibling file that is a link is rejected, and its target is left unchanged",
        arguments: [".journal", ".lock", ".last-good"],
        Plant.allCases
    )
    private func links(suffix: String, plant: Plant) async throws {
        try await withTemporaryDirectory { directory in
            let (path, target) = (directory + "/suite/settings.json", directory + "/target")
            try FileManager.default.createDirectory(atPath: directory + "/suite", withIntermediateDirectories: false)
            try path.overwriteFile(with: "{\n  \"a\": 1\n}\n")
            if plant != .linkToNothing { try target.overwriteFile(with: "short") }
            if plant == .hardLink {
                try FileManager.default.linkItem(atPath: target, toPath: path + suffix)
            } else {
                try FileManager.default.createSymbolicLink(atPath: path + suffix, withDestinationPath: target)
            }
            let suite = SettingsSuite(store: makeStore(path), reporter: reporter)
            #expect(suite[storedValueFor: "a"] == 1)
            if suffix == ".journal" {
                expectError(.untrustedFile) { try suite.setStoredValue(2, forKey: "a") }
            } else {
                try await suite.setStoredValue(2, forKey: "a")
            }
            if suffix == ".last-good" {
                try await suite.checkpoint()
                #expect(reporter.errors.map(\.code) == [.untrustedFile])
                #expect(try path.fileContents == "{\n  \"a\": 2\n}\n")
            } else {
                expectError(.untrustedFile) { try suite.checkpoint() }
            }
            #expect(FileManager.default.fileExists(atPath: target) == (plant != .linkToNothing))
            if plant != .linkToNothing { #expect(try target.fileContents == "short") }
            try FileManager.default.removeItem(atPath: path + suffix)
            try await suite.setStoredValue(3, forKey: "a")
            try await suite.checkpoint()
            #expect(values(path) == ["a": 3])
        }
    }

    @Test(
        "another user's journal is rejected in a directory that all users can write to",
        .enabled(if: isRoot, "only root can change the owner of a file")
    )
    func foreignJournal() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try makeStore(path).commit { $0["planted"] = true }
            let journal = path + ".journal"
            #expect(chown(journal, Self.otherUser, Self.otherGroup) == 0)
            #expect(chmod(journal, 0o666) == 0)
            #expect(chmod(directory, 0o1777) == 0)
            let before = try JournalFile(of: path).bytes
            let suite = SettingsSuite(store: makeStore(path), reporter: reporter)
            #expect(suite.snapshot() == [:])
            expectError(.untrustedFile) { try suite.setStoredValue("mine", forKey: "a") }
            #expect(try JournalFile(of: path).bytes == before)
            let error = try #require(reporter.errors.first)
            #expect(error.code == .untrustedFile)
            #expect(error.remedy.contains("remove it"))
        }
    }

    @Test(
        "a journal is used if its owner could change the settings anyway",
        .enabled(if: isRoot, "only root can change the owner of a file")
    )
    func trustedOwners() async throws {
        try await withTemporaryDirectory { directory in
            // Root reads a file in a user's directory.
            let path = directory + "/settings.json"
            try makeStore(path).commit { $0["a"] = 1 }
            #expect(chown(path + ".journal", Self.otherUser, Self.otherGroup) == 0)
            #expect(chown(directory, Self.otherUser, Self.otherGroup) == 0)
            #expect(values(path) == ["a": 1])
            // The journal's owner is another member of the group that shares the file.
            #expect(chown(directory, 0, Self.otherGroup) == 0)
            #expect(chmod(directory, 0o770) == 0)
            #expect(values(path) == [:])
            try path.overwriteFile(with: "{}")
            #expect(chown(path, 0, Self.otherGroup) == 0)
            #expect(chmod(path, 0o640) == 0)
            #expect(values(path) == [:])
            #expect(chmod(path, 0o660) == 0)
            #expect(values(path) == ["a": 1])
            // A file of a group that the settings file is not shared with.
            #expect(chown(path + ".journal", Self.otherUser, Self.otherGroup + 1) == 0)
            #expect(values(path) == [:])
            #expect(chown(path + ".journal", Self.otherUser, Self.otherGroup) == 0)
            #expect(values(path) == ["a": 1])
            // The journal's owner owns the settings file, but a member of the group can replace files in the directory.
            #expect(chmod(path, 0o600) == 0)
            #expect(chown(path, Self.otherUser, 0) == 0)
            #expect(values(path) == [:])
            #expect(chmod(directory, 0o750) == 0)
            #expect(values(path) == ["a": 1])
        }
    }

    @Test(
        "a link to the settings file is followed only if the link's owner owns its target",
        .enabled(if: isRoot, "only root can change the owner of a file")
    )
    func foreignLink() async throws {
        try await withTemporaryDirectory { directory in
            let (link, target) = (directory + "/settings.json", directory + "/target.json")
            try target.overwriteFile(with: #"{"a": 1}"#)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            #expect(values(link) == ["a": 1])
            #expect(lchown(link, Self.otherUser, Self.otherGroup) == 0)
            let suite = SettingsSuite(store: makeStore(link), reporter: reporter)
            #expect(suite.snapshot() == [:])
            #expect(Set(reporter.errors.map(\.code)) == [.untrustedFile])
            expectError(.untrustedFile) { try suite.setStoredValue(2, forKey: "a") }
            #expect(chown(target, Self.otherUser, Self.otherGroup) == 0)
            #expect(values(link) == ["a": 1])
            // For a link without a target, the owner of the directory in which the file would be created counts.
            try FileManager.default.removeItem(atPath: target)
            expectError(.untrustedFile) { try makeStore(link).commit { $0["a"] = 2 } }
            #expect(!FileManager.default.fileExists(atPath: target + ".journal"))
            #expect(chown(directory, Self.otherUser, Self.otherGroup) == 0)
            try makeStore(link).commit { $0["a"] = 2 }
            #expect(values(link) == ["a": 2])
        }
    }

    @Test(
        "a foreign link that takes the place of the settings file just before it is opened is not followed",
        .enabled(if: isRoot, "only root can give files away")
    )
    func linkInTime() async throws {
        try await withTemporaryDirectory { directory in
            let (path, target, link) = (directory + "/settings.json", directory + "/target.json", directory + "/link")
            try path.overwriteFile(with: #"{"a": 1}"#)
            try target.overwriteFile(with: #"{"a": 2}"#)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            #expect(lchown(link, Self.otherUser, Self.otherGroup) == 0)
            let system = SystemCalls(fault: { call, other in
                // The file was looked at, and is opened now.
                if call == .open, other == path { rename(link, path) }
                return nil
            })
            let store = makeStore(path, system)
            #expect(store.contents() == [:])
            #expect(!FileManager.default.fileExists(atPath: link), "the link has taken the place of the file")
        }
    }

    @Test("unrelated files with the names of sibling files are left unchanged")
    func foreignFiles() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/notes"
            let text = "My own notes.\n"
            for suffix in [".new", ".last-good", ".last-good.new", ".lock"] {
                try (path + suffix).overwriteFile(with: text)
            }
            let suite = SettingsSuite(store: makeStore(path), reporter: reporter)
            try await suite.setStoredValue(1, forKey: "a")
            try await suite.checkpoint()
            #expect(values(path) == ["a": 1])
            for suffix in [".new", ".last-good", ".last-good.new", ".lock"] {
                #expect(try (path + suffix).fileContents == text)
            }
            #expect(reporter.errors.map(\.code) == [.malformedFile])
        }
    }

    @Test(
        "another program's file that is written over a journal in use is left unchanged",
        arguments: ["notes" + String(repeating: "\0", count: 2_000), String(repeating: "long ", count: 2_000)]
    )
    func textOverJournal(text: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/notes"
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.write(2, forKey: "a")
            try (path + ".journal").overwriteFile(with: text)
            expectError(.malformedJournal) { try store.write(3, forKey: "a") }
            expectError(.malformedJournal) { try store.commit { $0["a"] = 4 } }
            #expect(try (path + ".journal").fileContents == text)
            #expect(store.value(forKey: "a") == 2)
        }
    }

    @Test(
        "a journal of another member is used without a settings file if the group shares it and the directory",
        .enabled(if: isRoot, "only root can give files away")
    )
    func journalOfGroup() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try makeStore(path).commit { $0["a"] = 1 }
            let journal = path + ".journal"
            #expect(chown(directory, 0, Self.otherGroup) == 0 && chown(journal, Self.otherUser, Self.otherGroup) == 0)
            for (directoryMode, mode, group, isUsed) in [
                (0o2770, 0o660, Self.otherGroup, true), (0o2750, 0o660, Self.otherGroup, false),
                (0o2777, 0o660, Self.otherGroup, false), (0o2770, 0o600, Self.otherGroup, false),
                (0o2770, 0o660, Self.otherGroup + 1, false),
            ] as [(mode_t, mode_t, gid_t, Bool)] {
                #expect(chown(journal, Self.otherUser, group) == 0 && chmod(journal, mode) == 0)
                #expect(chmod(directory, directoryMode) == 0)
                #expect(values(path) == (isUsed ? ["a": 1] : [:]), "\(String(directoryMode, radix: 8))")
            }
        }
    }

    @Test("a file of this user in place of the lock keeps its contents, its owner and its mode")
    func ownFileAsLock() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{}")
            #expect(chmod(path, 0o644) == 0)
            if Self.isRoot { #expect(chown(path, Self.otherUser, Self.otherGroup) == 0) }
            try (path + ".lock").overwriteFile(with: "private key")
            #expect(chmod(path + ".lock", 0o600) == 0)
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            #expect(try (path + ".lock").fileContents == "private key")
            let access = try #require((path + ".lock").access)
            #expect(access.hasPrefix("\(geteuid()):") && access.hasSuffix(" 600"))
        }
    }

    /// Creates a socket at a path that begins at the open directory, because it has about 100 bytes at most.
    private func makeSocket(at path: String) throws {
        let parent = open(String(path[..<path.lastIndex(of: "/")!]), O_RDONLY | O_DIRECTORY)
        defer { close(parent) }
        let name = "/proc/self/fd/\(parent)\(path[path.lastIndex(of: "/")!...])"
        let socket = socket(AF_UNIX, CLibrary.streamSocket, 0)
        defer { close(socket) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
    }

    @Test(
        "a socket or a FIFO in place of a sibling file is rejected, and blocks no operation",
        .deadlockLimit,
        arguments: [".journal", ".lock", ".last-good"],
        [false, true]
    )
    func specialFiles(suffix: String, isFIFO: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/s"
            if isFIFO { #expect(mkfifo(path + suffix, 0o600) == 0) } else { try makeSocket(at: path + suffix) }
            let suite = SettingsSuite(store: makeStore(path), reporter: reporter)
            let error = settingsError {
                try suite.setStoredValue(1, forKey: "a")
                try suite.checkpoint()
            }
            #expect((error ?? reporter.errors.first)?.code == .untrustedFile)
            #expect(suite[storedValueFor: "a"] == (suffix == ".journal" ? nil : 1))
        }
    }

    @Test("the next checkpoint removes a draft that a crash has left, and no other file")
    func abandonedDrafts() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let others = [
                ".settings.json.0123abcd.new.txt", ".settings.json.0123abcg.new", "settings.json.0123abcd.new",
                ".settings.json.0123abc.new", ".other.json.0123abcd.new",
            ]
            for name in others + [".settings.json.0123abcd.new", ".settings.json.journal.0123abcd.new"] {
                try "\(directory)/\(name)".overwriteFile(with: "{}")
            }
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(
                Set(names).subtracting(["", ".journal", ".lock", ".last-good"].map { "settings.json" + $0 })
                    == Set(others)
            )
        }
    }
}
