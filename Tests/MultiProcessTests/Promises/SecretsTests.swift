// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Promise 9: secrets stay home")
struct SecretsTests {
    private static let secret = "hunter2-correct-horse"

    @Test("directories are made 0700 and files 0600 whatever the umask, by a process that sets, checkpoints and ends")
    func created() async throws {
        try await withTemporaryDirectory { home in
            let launch = Probe.Launch(wrapper: ["/bin/sh", "-c", #"umask 0 && exec "$0" "$@""#])
            let place = Probe.Place.suite("secret", home: "\(home)/new")
            try await withProbe(at: place, launch) { probe in
                try await probe.expect("set n 1")
                try await probe.expect("checkpoint")
                try await probe.expect("set n 2")
                try await probe.finish()
            }
            #expect(try "\(home)/new".filePermissions == 0o700)
            #expect(try "\(home)/new/secret".filePermissions == 0o700)
            let names = try FileManager.default.contentsOfDirectory(atPath: "\(home)/new/secret")
            #expect(names.count == 4)
            for name in names {
                #expect(try "\(home)/new/secret/\(name)".filePermissions == 0o600, "\(name)")
            }
        }
    }

    @Test("no file is wider for an instant, whichever system call comes next", arguments: [0o600, 0o640, 0o400])
    func neverWider(mode: Int) async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            try path.overwriteFile(with: "{}")
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let wide = Mutex<Set<String>>([])
            let system = SystemCalls(witness: { call, _ in
                do {
                    for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                        let permissions = try "\(directory)/\(name)".filePermissions ?? 0
                        // Others have less than the file's owner gave them; a draft may have less than that.
                        if permissions & 0o077 & ~mode != 0 { wide.withLock { _ = $0.insert("\(call): \(name)") } }
                    }
                } catch {
                    // A draft that has just taken its place is gone; the next call is looked at as well.
                }
            })
            let suite = SettingsSuite(store: FileStore(path: FilePath(path), system: system))
            for round in 0..<3 {
                try suite.setStoredValue(.string("\(Self.secret)\(round)"), forKey: "password")
                try suite.checkpoint()
            }
            suite.finish()
            #expect(wide.withLock { $0 } == [])
            #expect(try path.filePermissions == mode)
        }
    }

    @Test(
        "no name of a suite leaves its directory",
        arguments: [
            "..", "../x", "../../x", "/tmp/x", "a/../../x", ".", "...", "x/..", "%2e%2e", "a\\..\\b", "~", "é😀",
        ]
    )
    func names(name: String) async throws {
        try await withTemporaryDirectory { directory in
            let home = "\(directory)/home"
            try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
            try await withProbe(at: .suite(name, home: home)) { probe in
                try await probe.expect("set n 1")
                try await probe.finish()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["home"])
            let suites = try FileManager.default.contentsOfDirectory(atPath: home)
            #expect(suites.count == 1)
            let files = try FileManager.default.contentsOfDirectory(atPath: "\(home)/\(suites.first ?? "")")
            #expect(files.contains("settings.json"))
        }
    }

    @Test("no value appears in an error, be it in a broken file, a broken journal or of another type than is asked for")
    func errors() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            for text in [
                #"{"n": "\#(Self.secret)"}"#, #"{"n": "\#(Self.secret)", \#(Self.secret)}"#, "\"\(Self.secret)",
                #"{"n": "\#(Self.secret)"#, #"{"n": \#(Self.secret)}"#, #"{"n": 1, "n": "\#(Self.secret)"}"#,
            ] {
                try path.overwriteFile(with: text)
                let reporter = RecordingReporter()
                let suite = SettingsSuite(store: FileStore(path: FilePath(path)), reporter: reporter)
                let port = Setting("n", default: 0, suite: suite)
                _ = port.value
                for action in [{ _ = try port.load() }, { try suite.checkpoint() }, { try suite.synchronize() }] {
                    note(reporter, action)
                }
                suite.finish()
                expectDiscretion(of: reporter, [.typeMismatch, .malformedFile])
            }
            try await leaveBrokenJournal(path)
            let reporter = RecordingReporter()
            let suite = SettingsSuite(store: FileStore(path: FilePath(path)), reporter: reporter)
            _ = suite.snapshot()
            note(reporter) { try suite.setStoredValue(1, forKey: "n") }
            suite.finish()
            expectDiscretion(of: reporter, [.malformedJournal])
        }
    }

    /// Expects errors, of these codes only, and the secret in none of them.
    private func expectDiscretion(
        of reporter: RecordingReporter,
        _ codes: [SettingsError.Code],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let errors = reporter.errors
        #expect(!errors.isEmpty, sourceLocation: sourceLocation)
        #expect(errors.allSatisfy { codes.contains($0.code) }, sourceLocation: sourceLocation)
        for error in errors {
            #expect(!"\(error) \(error.message)".contains("hunter2"), sourceLocation: sourceLocation)
        }
    }

    /// Notes what an action throws beside what is reported.
    private func note(_ reporter: RecordingReporter, _ action: () throws -> Void) {
        do {
            try action()
        } catch let error as SettingsError {
            reporter.report(error)
        } catch {
            Issue.record(error)
        }
    }

    /// Leaves a journal with the secret in a record that is not as it was written.
    private func leaveBrokenJournal(_ path: String) async throws {
        try path.overwriteFile(with: "{}")
        try await withoutCheckpoints(of: path) {
            try await withProbe(at: .file(path)) { probe in
                try await probe.expect("set \(Self.secret) 1")
                await probe.end()
            }
        }
        let journal = JournalFile(of: path)
        var bytes = try journal.bytes
        let position = try #require(bytes.indices.last { bytes[$0] == UInt8(ascii: "h") })
        bytes[position] ^= 1
        try journal.replace(with: bytes)
    }
}
