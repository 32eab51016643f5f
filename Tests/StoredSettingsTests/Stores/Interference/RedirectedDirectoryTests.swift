// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

// The attacker is the user whose settings root changes. The victim is another directory.

@Suite(
    "A user that redirects the directory of its settings while root changes them",
    .enabled(if: geteuid() == 0, "only root can give files away")
)
struct RedirectedDirectoryTests {
    private static let (user, group): (uid_t, gid_t) = (4_321, 4_322)
    /// What a new directory of the user shows.
    private static let privateAccess = "4321:4322 700"

    /// The directories of one attack.
    private struct Scene {
        let config, victim: String
        /// The path that root uses.
        var path: String { config + "/server/settings.json" }

        init(_ directory: String, withSuite: Bool) throws {
            (config, victim) = (directory + "/config", directory + "/victim")
            let suites = withSuite ? [config + "/server"] : []
            for path in [config, victim, victim + "/server"] + suites { #expect(mkdir(path, 0o755) == 0) }
            for path in [config] + suites { #expect(chown(path, user, group) == 0) }
            for path in [victim, victim + "/server"] {
                try (path + "/settings.json").overwriteFile(with: #"{"a": 0, "b": "secret"}"#)
            }
        }

        /// Puts a link of the user in the place of a directory.
        func redirect(_ path: String, to target: String) {
            #expect(rename(path, path + ".old") == 0 || errno == ENOENT)
            #expect(symlink(target, path) == 0 && lchown(path, user, group) == 0)
        }

        /// Undoes ``redirect(_:to:)``.
        func restore(_ path: String) {
            #expect(unlink(path) == 0)
            #expect(rename(path + ".old", path) == 0 || errno == ENOENT)
        }

        /// The names, the contents and the owners of the victim's files.
        var victimFiles: [String] {
            get throws {
                try FileManager.default.subpathsOfDirectory(atPath: victim).sorted()
                    .map { name in
                        var status = stat()
                        #expect(lstat("\(victim)/\(name)", &status) == 0)
                        let isFile = status.st_mode & S_IFMT == S_IFREG
                        let contents = isFile ? FileManager.default.contents(atPath: "\(victim)/\(name)") : nil
                        let access = "\(status.st_uid) \(String(status.st_mode, radix: 8))"
                        return "\(name) \(access) \(contents?.base64EncodedString() ?? "")"
                    }
            }
        }
    }

    @Test("a link that is replaced while the file is opened leads to its new file, also when the old one is removed")
    func replacedWhileOpened() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            for version in 1...2 {
                let folder = "\(directory)/version\(version)"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                try "\(folder)/settings.json".overwriteFile(with: #"{"n": \#(version)}"#)
            }
            try FileManager.default.createSymbolicLink(atPath: directory + "/data", withDestinationPath: "version1")
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "data/settings.json")
            let opening = Interruption(before: .open) { $0.hasSuffix("settings.json") }
            opening.run {
                // Like Kubernetes, which then removes the old version.
                symlink("version2", directory + "/new")
                rename(directory + "/new", directory + "/data")
                unlink(directory + "/version1/settings.json")
            }
            #expect(makeStore(path, opening.system).contents() == ["n": 2])
            #expect(opening.hasRun)
        }
    }

    @Test("a link of the user to a directory of root is not followed", arguments: ["", "/server"])
    func foreignLink(suffix: String) async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(directory, withSuite: true)
            let before = try scene.victimFiles
            scene.redirect(scene.config + suffix, to: scene.victim + suffix)
            let reporter = RecordingReporter()
            let suite = SettingsSuite(store: makeStore(scene.path), reporter: reporter)
            #expect(suite.snapshot() == [:])
            let error = #expect(throws: SettingsError.self) { try suite.setStoredValue(1, forKey: "a") }
            #expect(error?.code == .untrustedFile)
            #expect(error?.fact.contains("the symbolic link \(scene.config)\(suffix) leads to") == true)
            #expect(throws: SettingsError.self) { try suite.checkpoint() }
            #expect(Set(reporter.errors.map(\.code)) == [.untrustedFile])
            #expect(try scene.victimFiles == before)
        }
    }

    @Test("links of root, and links of the user to directories of that user, are followed")
    func trustedLinks() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(directory, withSuite: true)
            let (own, alias) = (scene.config + "/own", directory + "/alias")
            #expect(mkdir(own, 0o700) == 0 && chown(own, Self.user, Self.group) == 0)
            scene.redirect(scene.config + "/server", to: "own")
            #expect(symlink("config/../config", alias) == 0)
            let path = alias + "/server/settings.json"
            try makeStore(path).commit { $0["a"] = 1 }
            try makeStore(path).checkpoint()
            #expect(makeStore(own + "/settings.json").contents() == ["a": 1])
            #expect((own + "/settings.json").access == "4321:4322 600")
            #expect(symlink(scene.victim, scene.config + "/root") == 0)
            #expect(makeStore(scene.config + "/root/server/settings.json").contents()["a"] == 0)
            #expect(link(scene.config + "/root", scene.config + "/again") == 0)
            let again = scene.config + "/again/server/settings.json"
            #expect(makeStore(again).contents() == [:], "the user may have moved it")
            #expect(symlink("circle", scene.config + "/circle") == 0)
            #expect(throws: SettingsError.self) {
                try makeStore(scene.config + "/circle/settings.json").commit { $0["a"] = 1 }
            }
        }
    }

    @Test(
        "no file of root is changed, created or given away, whenever the directory is redirected, and for how long",
        arguments: [
            (true, "", 1_000), (true, "/server", 1_000), (true, "/server", 4), (false, "", 1_000),
            (false, "/server", 1_000),
        ]
    )
    func everyMoment(withSuite: Bool, suffix: String, duration: Int) async throws {
        /// Redirects the directory after a call, if there is one, and returns the number of calls.
        func run(redirectingAfter redirected: Int?) async throws -> Int {
            try await withTemporaryDirectory(inMemory: true) { directory in
                let scene = try Scene(directory, withSuite: withSuite)
                let before = try scene.victimFiles
                let calls = Mutex(0)
                let system = SystemCalls(witness: { _, _ in
                    let call = calls.withLock { calls in
                        defer { calls += 1 }
                        return calls
                    }
                    guard let redirected else { return }
                    if call == redirected { scene.redirect(scene.config + suffix, to: scene.victim + suffix) }
                    if call == redirected + duration { scene.restore(scene.config + suffix) }
                })
                let store = makeStore(scene.path, system)
                // Whether this succeeds or fails is not the point.
                _ = settingsError {
                    try store.commit { $0["a"] = 1 }
                    try store.checkpoint()
                }
                #expect(try scene.victimFiles == before, "redirected after call \(String(describing: redirected))")
                return calls.withLock { $0 }
            }
        }
        let count = try await run(redirectingAfter: nil)
        #expect(count > 20)
        for moment in (0..<count).sampled(25) { _ = try await run(redirectingAfter: moment) }
    }

    @Test("a new directory belongs to the user from the moment it has its name")
    func newDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(directory, withSuite: false)
            let suite = scene.config + "/server"
            let seen = Mutex<Set<String>>([])
            let system = SystemCalls(witness: { _, _ in
                if let access = suite.access { seen.withLock { _ = $0.insert(access) } }
            })
            try system.makeDirectories(FilePath(suite))
            #expect(seen.withLock { $0 } == [Self.privateAccess])
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.config) == ["server"])
        }
    }

    @Test(
        "a new directory has its owner on a file system that cannot refuse to replace a file, and where another process is first",
        arguments: [EINVAL, EEXIST]
    )
    func newDirectoryWithoutExclusiveRename(number: CInt) async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(directory, withSuite: false)
            let suite = scene.config + "/server"
            let system = SystemCalls(fault: { call, path in
                guard call == .rename, path == suite else { return nil }
                if number == EEXIST { #expect(mkdir(suite, 0o700) == 0 && chown(suite, Self.user, Self.group) == 0) }
                return number
            })
            try system.makeDirectories(FilePath(suite))
            #expect(suite.access == Self.privateAccess)
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.config) == ["server"])
        }
    }

    @Test("a new directory replaces the one that a killed process has left, and no other one")
    func abandonedDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(directory, withSuite: false)
            let kept = [".directory.00000002.new", ".directory.00000003.new", ".directory.other.new"]
            for name in [".directory.00000001.new"] + kept {
                if name == kept[0] {
                    #expect(symlink(scene.victim, "\(scene.config)/\(name)") == 0)
                } else {
                    #expect(mkdir("\(scene.config)/\(name)", 0o700) == 0)
                }
            }
            try "\(scene.config)/\(kept[1])/file".overwriteFile(with: "")
            try SystemCalls().makeDirectories(FilePath(scene.config + "/server"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.config).sorted() == kept + ["server"])
        }
    }

    @Test("a process whose new directory another process removes as an abandoned one creates it again")
    func removedDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(directory, withSuite: false)
            let suite = scene.config + "/server"
            let removals = Mutex(0)
            let system = SystemCalls(fault: { call, path in
                guard call == .rename, path == suite, removals.withLock({ $0 }) < 3 else { return nil }
                removals.withLock { $0 += 1 }
                #expect(throws: Never.self) {
                    for name in try FileManager.default.contentsOfDirectory(atPath: scene.config) {
                        #expect(rmdir("\(scene.config)/\(name)") == 0)
                    }
                }
                return nil
            })
            try system.makeDirectories(FilePath(suite))
            #expect(removals.withLock { $0 } == 3)
            #expect(suite.access == Self.privateAccess)
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.config) == ["server"])
        }
    }

    @Test("root keeps what it creates in its own directory, or in one for all users", arguments: [true, false])
    func notGivenAway(isShared: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let place = directory + "/place"
            #expect(mkdir(place, 0o755) == 0)
            if isShared { #expect(chown(place, Self.user, Self.group) == 0 && chmod(place, 0o1777) == 0) }
            for path in [place + "/settings.json", place + "/new/settings.json"] {
                let store = makeStore(path)
                try store.commit { $0["a"] = 1 }
                try store.checkpoint()
            }
            for name in try FileManager.default.subpathsOfDirectory(atPath: place) {
                #expect("\(place)/\(name)".access?.hasPrefix("0:") == true, "\(name)")
            }
        }
    }
}
