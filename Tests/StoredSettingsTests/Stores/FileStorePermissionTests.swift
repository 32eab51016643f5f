// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("FileStore permissions and owners")
struct FileStorePermissionTests {
    private let reporter = RecordingReporter()

    private func suite(_ path: String) -> SettingsSuite {
        SettingsSuite(fileAt: path, reporter: reporter)
    }

    @Test(
        "the journal and the last good copy follow a broken file whose mode has become narrower",
        arguments: [false, true]
    )
    func brokenFile(isOpen: Bool) async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            #expect(chmod(path, 0o644) == 0)
            try store.commit { $0["a"] = 2 }
            try store.checkpoint()
            #expect(try (path + ".last-good").filePermissions == 0o644)
            #expect(chmod(path, 0o600) == 0)
            try path.overwriteFile(with: "{bad")
            let later = isOpen ? store : makeStore(path)
            later.look()
            #expect(later.value(forKey: "a") == 2)
            try later.commit { $0["token"] = "secret" }
            for suffix in [".journal", ".last-good"] {
                #expect(try (path + suffix).filePermissions == 0o600, "\(suffix)")
            }
        }
    }

    @Test(
        "root that may not change owners takes no file from its owner",
        .enabled(if: geteuid() == 0, "only root can change owners"),
        arguments: [true, false]
    )
    func withoutOwnerChange(hasJournal: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            let owner: uid_t = 4_321
            #expect(chown(directory, owner, owner) == 0 && chown(path, owner, owner) == 0)
            if hasJournal {
                try makeStore(path).commit { $0["a"] = 2 }
            }
            let system = SystemCalls(fault: { call, _ in call == .changeOwner ? EPERM : nil })
            let store = FileStore(path: FilePath(path), system: system, checkpointsInBackground: false)
            let error = #expect(throws: SettingsError.self) {
                try store.commit { $0["a"] = 3 }
                try store.checkpoint()
            }
            #expect(error?.code == .readOnly && error?.remedy.contains("CAP_CHOWN") == true, "\(error as Any)")
            for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                var status = stat()
                #expect(lstat("\(directory)/\(name)", &status) == 0 && status.st_uid == owner, "\(name)")
            }
            #expect(makeStore(path).value(forKey: "a") == (hasJournal ? 3 : 1))
        }
    }

    #if os(Linux)
    @Test(
        "an access control list gives no user more access: not the file's group, and no user that the directory's list names"
    )
    func accessLists() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: "{}")
            // Where a file system has no lists, there is nothing to check.
            guard try CLibrary.allow(user: 5_555, at: path) else { return }
            #expect(try path.filePermissions == 0o660)
            let suite = suite(path)
            for number in 1...2 {
                try await suite.setStoredValue(.integer(Int128(number)), forKey: "a")
                for suffix in [".journal"] { #expect(try (path + suffix).filePermissions == 0o600) }
                try await suite.checkpoint()
                for suffix in ["", ".journal", ".lock", ".last-good"] {
                    #expect(try (path + suffix).filePermissions == 0o600, "\(suffix)")
                }
            }
            await suite.finish()
            for suffix in [".journal", ".lock", ".last-good"] {
                try FileManager.default.removeItem(atPath: path + suffix)
            }
            // Now the group may read and write, and new files get a list that names a user.
            #expect(chmod(path, 0o660) == 0)
            #expect(try CLibrary.allow(user: 5_555, at: directory, isDefault: true))
            let second = self.suite(path)
            try await second.setStoredValue(3, forKey: "a")
            try await second.checkpoint()
            for suffix in ["", ".journal", ".lock", ".last-good"] {
                #expect(!CLibrary.hasAccessList(at: path + suffix), "\(suffix)")
                #expect(try (path + suffix).filePermissions == 0o660, "\(suffix)")
            }
        }
    }

    @Test(
        "a user or group that an access control list denies access gains none when the list is lost",
        arguments: [false, true]
    )
    func denyingLists(isGroup: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: "{}")
            guard try CLibrary.deny(5_555, isGroup: isGroup, at: path) else { return }
            // The other users may be in the group of the list, which says nothing about the owning group.
            let mode = isGroup ? 0o640 : 0o600
            let suite = suite(path)
            for number in 1...2 {
                try await suite.setStoredValue(.integer(Int128(number)), forKey: "a")
                try await suite.checkpoint()
                for suffix in ["", ".journal", ".lock", ".last-good"] {
                    #expect(!CLibrary.hasAccessList(at: path + suffix), "\(suffix)")
                    #expect(try (path + suffix).filePermissions == mode, "\(suffix)")
                }
            }
        }
    }

    @Test("a list of the journal that denies one user access hides no permissions of all others")
    func denyingListOfJournal() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            guard try CLibrary.deny(5_555, isGroup: false, at: path + ".journal") else { return }
            #expect(try (path + ".journal").filePermissions == 0o664)
            let inode = try (path + ".journal").inode
            try store.commit { $0["a"] = 2 }
            try store.checkpoint()
            try store.commit { $0["a"] = 3 }
            #expect(!CLibrary.hasAccessList(at: path + ".journal"))
            #expect(try (path + ".journal").filePermissions == 0o600)
            // Others may have the old one open.
            #expect(try (path + ".journal").inode != inode)
        }
    }

    @Test("a user that an access control list of the journal names reads no value that is set after a checkpoint")
    func listedJournal() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            guard try CLibrary.allow(user: 5_555, at: path + ".journal") else { return }
            // The user may have the file open.
            let inode = try (path + ".journal").inode
            try store.commit { $0["a"] = 2 }
            try store.checkpoint()
            #expect(!CLibrary.hasAccessList(at: path + ".journal"))
            #expect(try (path + ".journal").filePermissions == 0o600)
            try store.commit { $0["a"] = 3 }
            #expect(try (path + ".journal").inode != inode)
        }
    }
    #endif

    @Test(
        "a file whose group cannot be preserved, or no owner at all, loses the permissions of the group",
        arguments: [nil, EPERM, EINVAL, ENOSYS, EOPNOTSUPP] as [CInt?]
    )
    func groups(failure: CInt?) async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{}")
            // Only root can assign a group that has no user. The new files of another user have the same group anyway.
            #expect(chown(path, failure == EPERM ? geteuid() : 4_321, 4_322) == 0 || geteuid() != 0)
            let group = try path.fileGroup
            try FileManager.default.setAttributes([.posixPermissions: 0o664], ofItemAtPath: path)
            let system = SystemCalls { call, _ in call == .changeOwner ? failure : nil }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            try await suite.setStoredValue(1, forKey: "a")
            try await suite.checkpoint()
            #expect(try path.filePermissions == (path.fileGroup == group ? 0o664 : 0o604))
            #expect(try path.fileGroup == group || failure != nil)
        }
    }

    @Test(
        "only the owner has access to a file while its group changes, and its members do not gain any if it cannot",
        arguments: [(0o604, 0o600), (0o644, 0o604), (0o660, 0o600), (0o646, 0o604)]
    )
    func permissionsMeanwhile(mode: Int, expected: Int) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/file"
            try path.overwriteFile(with: "")
            #expect(chmod(path, 0o644) == 0)
            let modes = Mutex<[Int?]>([])
            let system = SystemCalls { call, _ in
                guard call == .changeOwner else { return nil }
                #expect(throws: Never.self) {
                    let mode = try path.filePermissions
                    modes.withLock { $0.append(mode) }
                }
                return EPERM
            }
            let file = try system.open(path, O_RDWR)
            var model = try system.status(of: file)
            model.group += 1
            model.mode = model.mode & ~0o777 | mode_t(mode)
            try system.copyPermissions(of: model, to: file)
            #expect(modes.withLock { $0 } == [0o600])
            #expect(try path.filePermissions == expected)
        }
    }

    @Test(
        "a journal of another group than the file's keeps no permissions of that group",
        .enabled(if: geteuid() == 0, "only root can give files away"),
        // Members of the group may change the file, or cannot read it, unlike all other users.
        arguments: [0o660, 0o604]
    )
    func journalOfOtherGroup(mode: Int) async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"a": 1}"#)
            #expect(chown(path, 0, 4_322) == 0 && chmod(path, mode_t(mode)) == 0)
            try makeStore(path).commit { $0["b"] = 2 }
            #expect(try (path + ".journal").filePermissions == mode)
            #expect(makeStore(path).contents() == ["a": 1, "b": 2])
            #expect(try (path + ".journal").filePermissions == mode, "the group is the same")
            #expect(chown(path + ".journal", 0, 4_323) == 0)
            #expect(makeStore(path).contents() == ["a": 1, "b": 2])
            #expect(try (path + ".journal").filePermissions == 0o600)
        }
    }

    @Test(
        "the files that root creates in a user's directory belong to that user, also where the settings file is missing",
        .enabled(if: geteuid() == 0, "only root can give files away")
    )
    func filesOfRoot() async throws {
        try await withTemporaryDirectory { directory in
            #expect(chown(directory, 4_321, 4_322) == 0)
            let path = directory + "/new/settings.json"
            let suffixes = ["", ".journal", ".lock", ".last-good"]
            func expectOwner(_ paths: [String]) {
                for path in paths {
                    #expect(path.access == "4321:4322 \(path.hasSuffix("new") ? 700 : 600)", "\(path)")
                }
            }
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            expectOwner([directory + "/new"] + suffixes.map { path + $0 })
            // Without the file, the copy or the journal is the model.
            for removed in [["", ".lock"], ["", ".lock", ".last-good"]] {
                try store.commit { $0["b"] = $0["b"].map { _ in nil } ?? 2 }
                for suffix in removed { try FileManager.default.removeItem(atPath: path + suffix) }
                await eventually("the file counts as missing") {
                    store.look()
                    return store.problem != nil
                }
                try store.checkpoint()
                expectOwner(suffixes.map { path + $0 })
            }
        }
    }

    @Test(
        "a user that has lost access to the settings file cannot read later values through an open journal",
        arguments: [false, true]
    )
    func readableJournal(isSingleWrite: Bool) async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{}")
            #expect(chmod(path, 0o644) == 0)
            let stores = (0..<2).map { _ in makeStore(path) }
            for store in stores { try store.commit { $0["a"] = 1 } }
            let handle = FileHandle(forReadingAtPath: path + ".journal")
            let journal = try #require(handle)
            #expect(try (path + ".journal").filePermissions == 0o644)
            #expect(chmod(path, 0o600) == 0)
            stores[0].lookAndWait()
            #expect(try (path + ".journal").filePermissions == 0o600)
            // Another process commits, or sets one key and has examined the path just before.
            if isSingleWrite {
                _ = stores[1].schedule.hasCommitted.set()
                stores[1].state.withLock { $0.journal.notePlace() }
                if try !stores[1].write("secret-4711", forKey: "a", mayWait: false) {
                    try stores[1].write("secret-4711", forKey: "a")
                }
            } else {
                try stores[1].commit { $0["a"] = "secret-4711" }
            }
            let bytes = try journal.readToEnd() ?? Data()
            #expect(bytes.range(of: Data("SSJOURNL".utf8)) != nil)
            #expect(bytes.range(of: Data("secret-4711".utf8)) == nil)
            for store in stores { #expect(store.value(forKey: "a") == "secret-4711") }
        }
    }

    @Test(
        "a journal that root replaces does not receive the owner of a directory in place of the settings file",
        .enabled(if: geteuid() == 0, "only root can give files away")
    )
    func directoryAsModel() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            #expect(chown(directory, 4_321, 4_322) == 0)
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            let old = try #require(store.peek { $0.journal.journal })
            old.noteExposure()
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try store.commit { $0["b"] = 2 }
            #expect(store.peek { $0.journal.journal } !== old)
            #expect((path + ".journal").access == "4321:4322 600")
        }
    }

    @Test(
        "a directory belongs to the owner of a parent that another process has just created",
        .enabled(if: geteuid() == 0, "only root can give files away")
    )
    func parentInTime() async throws {
        try await withTemporaryDirectory { directory in
            #expect(chown(directory, 4_321, 4_322) == 0)
            let parent = directory + "/config"
            let system = SystemCalls(fault: { call, _ in
                // The process has not found the parent.
                if call == .makeDirectory, mkdir(parent, 0o700) == 0 { #expect(chown(parent, 4_321, 4_322) == 0) }
                return nil
            })
            try system.makeDirectories(FilePath(parent + "/suite"))
            for path in [parent, parent + "/suite"] { #expect(path.access == "4321:4322 700") }
        }
    }

    @Test("a journal is not replaced when no user loses access")
    func retainedJournal() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{}")
            if geteuid() == 0 { #expect(chown(path, 4_321, 4_322) == 0) }
            #expect(chmod(path, 0o666) == 0)
            // A user that cannot give files away.
            let system = SystemCalls { call, _ in call == .changeOwner ? EPERM : nil }
            let store = makeStore(path, system)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            let inode = try (path + ".journal").inode
            for value in [2, 3, 4] as [Int128] {
                try store.commit { $0["a"] = .integer(value) }
                try store.checkpoint()
                #expect(try (path + ".journal").inode == inode)
            }
        }
    }

    @Test(
        "a checkpoint that removes permissions is recorded, and its values are cleared",
        .enabled(if: geteuid() == 0, "only root can give files away")
    )
    func narrowingCheckpoint() async throws {
        try await withSettingsPath { path in
            let first = makeStore(path)
            try first.commit { $0["a"] = 1 }
            try first.checkpoint()
            for path in [path, path + ".journal"] { #expect(chown(path, 0, 4_322) == 0 && chmod(path, 0o664) == 0) }
            let system = SystemCalls { call, _ in call == .changeOwner ? EPERM : nil }
            let store = makeStore(path, system)
            try store.commit { $0["a"] = "secret-4711" }
            try store.checkpoint()
            #expect(try path.filePermissions == 0o604)
            #expect(try (path + ".journal").filePermissions == 0o604)
            #expect(store.peek { $0.journal.journaled.isEmpty })
            let bytes = try Data(contentsOf: URL(filePath: path + ".journal"))
            #expect(bytes.range(of: Data("secret-4711".utf8)) == nil)
        }
    }

    @Test("a journal is narrowed before it has a name that other processes use, and to the settings file")
    func replacedJournalMode() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{}")
            #expect(chmod(path, 0o666) == 0)
            let modes = Mutex<Set<Int>>([])
            let system = SystemCalls(
                fault: { call, path in
                    // The journal belongs to another user.
                    call == .changeMode && path.hasSuffix("/settings.json.journal") ? EPERM : nil
                },
                witness: { call, changed in
                    guard call == .changeMode, changed.hasSuffix(".new"), changed.contains(".journal.") else { return }
                    #expect(throws: Never.self) {
                        if let mode = try changed.filePermissions { _ = modes.withLock { $0.insert(mode) } }
                    }
                }
            )
            try makeStore(path).commit { $0["a"] = 1 }
            #expect(try (path + ".journal").filePermissions == 0o666)
            #expect(chmod(path, 0o660) == 0)
            let store = makeStore(path, system)
            try store.commit { $0["a"] = 2 }
            #expect(try (path + ".journal").filePermissions == 0o660)
            #expect(modes.withLock { $0 } == [0o660])
            let inode = try (path + ".journal").inode
            try store.commit { $0["a"] = 3 }
            #expect(try (path + ".journal").inode == inode)
        }
    }

    @Test("a lock has no set-user-ID bits, and its owner can always open it", arguments: [0o6777, 0o000])
    func lockMode(mode: Int) async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            #expect(chmod(path, mode_t(mode)) == 0)
            _ = try CheckpointLock.tryToAcquire(for: store.file)?.release()
            #expect(try (path + ".lock").filePermissions == mode & 0o777 | 0o600)
            #expect(chmod(path, 0o600) == 0)
            try store.commit { $0["a"] = 2 }
            try store.checkpoint()
        }
    }

    @Test(
        "a directory is created where no owner can be changed, unless its owner could not use it",
        arguments: [EPERM, ENOSYS]
    )
    func directoryWithoutOwner(failure: CInt) async throws {
        try await withTemporaryDirectory { directory in
            if geteuid() == 0 { #expect(chown(directory, 4_321, 4_322) == 0) }
            let system = SystemCalls { call, _ in call == .changeOwner ? failure : nil }
            let path = directory + "/new/settings.json"
            let store = makeStore(path, system)
            guard geteuid() != 0 || failure != EPERM else {
                expectError(.readOnly) { try store.commit { $0["a"] = 1 } }
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
                return
            }
            try store.commit { $0["a"] = 1 }
            #expect(makeStore(path).contents() == ["a": 1])
        }
    }

    @Test("an empty journal, the lock and the copy receive the access to a file that is shared later, and lose it")
    func sharedLater() async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            if geteuid() == 0 { #expect(chown(path, 0, 4_322) == 0) }
            #expect(chmod(path, 0o660) == 0)
            store.lookAndWait()
            #expect(try (path + ".journal").filePermissions == 0o660)
            try store.commit { $0["a"] = 2 }
            try store.checkpoint()
            for suffix in ["", ".lock", ".last-good"] {
                #expect(try (path + suffix).filePermissions == 0o660)
                #expect(try (path + suffix).fileGroup == path.fileGroup)
            }
            #expect(chmod(path, 0o600) == 0)
            store.lookAndWait()
            for suffix in [".journal", ".last-good"] { #expect(try (path + suffix).filePermissions == 0o600) }
        }
    }

    @Test(
        "the last good copy loses the permissions of a group that the settings file has no longer",
        .enabled(if: geteuid() == 0, "only root can give files away")
    )
    func changedGroup() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{}")
            #expect(chown(path, 0, 4_322) == 0 && chmod(path, 0o640) == 0)
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            #expect(try (path + ".last-good").filePermissions == 0o640)
            #expect(chown(path, 0, 4_323) == 0)
            store.lookAndWait()
            #expect(try (path + ".last-good").filePermissions == 0o600)
        }
    }
}

extension String {
    fileprivate var fileGroup: Int? {
        get throws { try FileManager.default.attributesOfItem(atPath: self)[.groupOwnerAccountID] as? Int }
    }
}
