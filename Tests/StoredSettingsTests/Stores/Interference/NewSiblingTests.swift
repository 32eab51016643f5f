// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("New journals and locks that other users have access to")
struct NewSiblingTests {
    private static let (user, group): (uid_t, gid_t) = (4_321, 4_322)

    /// The system calls of a process that performs a body once, just before it names a new file.
    private func system(before name: String, _ body: @escaping @Sendable () throws -> CInt?) -> SystemCalls {
        let body = Mutex<(@Sendable () throws -> CInt?)?>(body)
        return SystemCalls(fault: { call, path in
            guard call == .rename, path == name else { return nil }
            do {
                return try body.withLock { $0.take() }?() ?? nil
            } catch {
                Issue.record(error)
                return nil
            }
        })
    }

    /// Creates a settings file to which all users have access.
    private func share(_ path: String) throws {
        try path.overwriteFile(with: "{}")
        #expect(chmod(path, 0o666) == 0)
    }

    /// Expects only the files of a suite in its directory, all of which have the permissions of a shared file.
    private func expectFiles(of path: String, _ suffixes: [String]) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: FilePath(path).directory.description)
        #expect(Set(names) == Set(suffixes.map { "settings.json" + $0 }))
        for suffix in suffixes { #expect(try (path + suffix).filePermissions == 0o666, "\(suffix)") }
    }

    @Test(
        "they belong to the user of the directory from the moment they have their names",
        .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: [0o600, 0o660]
    )
    func ownerFromTheStart(mode: Int) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            #expect(chown(directory, Self.user, Self.group) == 0)
            if mode != 0o600 {
                try path.overwriteFile(with: "{}")
                #expect(chown(path, Self.user, Self.group) == 0 && chmod(path, mode_t(mode)) == 0)
            }
            let seen = Mutex<[String: Set<String>]>([:])
            let system = SystemCalls(witness: { _, _ in
                for suffix in [".journal", ".lock"] {
                    guard let access = (path + suffix).access else { continue }
                    seen.withLock { _ = $0[suffix, default: []].insert(access) }
                }
            })
            let store = makeStore(path, system)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            let access: Set = ["\(Self.user):\(Self.group) \(String(mode, radix: 8))"]
            #expect(seen.withLock { $0 } == [".journal": access, ".lock": access])
        }
    }

    @Test("a file that another process creates first is used", arguments: [".journal", ".lock"])
    func createdFirst(suffix: String) async throws {
        try await withSettingsPath { path in
            try share(path)
            let other = makeStore(path)
            let system = system(before: path + suffix) {
                try other.commit { $0["other"] = 1 }
                if suffix == ".lock" { try other.checkpoint() }
                return nil
            }
            let store = makeStore(path, system)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            for store in [store, other] { #expect(store.contents() == ["a": 1, "other": 1]) }
            try expectFiles(of: path, ["", ".journal", ".lock", ".last-good"])
        }
    }

    @Test("a file is created after another process has removed its draft", arguments: [".journal", ".lock"])
    func removedDraft(suffix: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try share(path)
            let base = suffix == ".journal" ? "settings.json.journal" : "settings.json"
            let system = system(before: path + suffix) {
                let names = try FileManager.default.contentsOfDirectory(atPath: directory)
                let drafts = names.filter { FilePath($0).isDraft(of: FilePath(base)) }
                #expect(drafts.count == 1)
                for draft in drafts { try FileManager.default.removeItem(atPath: "\(directory)/\(draft)") }
                return nil
            }
            let store = makeStore(path, system)
            // Another process has created the journal before it could remove a draft.
            if suffix == ".journal" {
                expectError(.writeFailed) { try store.commit { $0["a"] = 1 } }
            }
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            try expectFiles(of: path, ["", ".journal", ".lock", ".last-good"])
        }
    }

    @Test(
        "they are created on a file system that cannot refuse to replace a file",
        arguments: [".journal", ".lock"],
        [EINVAL, ENOSYS, ENOTSUP, EPERM]
    )
    func withoutExclusiveRename(suffix: String, number: CInt) async throws {
        try await withSettingsPath { path in
            try share(path)
            let hasFailed = Mutex(false)
            let system = system(before: path + suffix) {
                hasFailed.withLock { $0 = true }
                return number
            }
            let store = makeStore(path, system)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            #expect(hasFailed.withLock { $0 })
            try expectFiles(of: path, ["", ".journal", ".lock", ".last-good"])
        }
    }

    @Test("no draft remains when one cannot be named", arguments: [".journal", ".lock"])
    func failedRename(suffix: String) async throws {
        try await withSettingsPath { path in
            try share(path)
            let store = makeStore(path, system(before: path + suffix) { ENOSPC })
            expectError(.writeFailed) {
                try store.commit { $0["a"] = 1 }
                try store.checkpoint()
            }
            try expectFiles(of: path, suffix == ".lock" ? ["", ".journal"] : [""])
            try store.commit { $0["a"] = 2 }
            try store.checkpoint()
            try expectFiles(of: path, ["", ".journal", ".lock", ".last-good"])
        }
    }
}
