// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Promise 9: secrets stay private")
struct SecretsTests {
    private static let secret = "hunter2-correct-horse"

    @Test(
        "directories are created with mode 0700 and files with 0600, whatever the umask",
        arguments: ["0", "0177", "0777"]
    )
    func created(mask: String) async throws {
        try await withTemporaryDirectory { home in
            let launch = Probe.Launch(wrapper: ["/bin/sh", "-c", "umask \(mask)" + #" && exec "$0" "$@""#])
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

    @Test("no file has wider permissions at any moment, after whichever system call", arguments: [0o600, 0o640, 0o400])
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
                        // The group and others have at most the permissions of the settings file; a temporary file may
                        // have fewer.
                        if permissions & 0o077 & ~mode != 0 { wide.withLock { _ = $0.insert("\(call): \(name)") } }
                    }
                } catch {
                    // A temporary file that was just renamed is gone; the next call checks again.
                }
            })
            let suite = SettingsSuite(store: FileStore(path: FilePath(path), system: system))
            for round in 0..<3 {
                try await suite.setStoredValue(.string("\(Self.secret)\(round)"), forKey: "password")
                try await suite.checkpoint()
            }
            await suite.finish()
            #expect(wide.withLock { $0 } == [])
            #expect(try path.filePermissions == mode)
        }
    }

    @Test(
        "no suite name leaves its directory",
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

    @Test("no error contains a value, whether the file is broken, the journal is broken, or the type differs")
    func errors() async throws {
        try await withSettingsPath { path in
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
                    report(reporter, action)
                }
                await suite.finish()
                expectNoSecret(of: reporter, [.typeMismatch, .malformedFile])
            }
            try await leaveBrokenJournal(path)
            let reporter = RecordingReporter()
            let suite = SettingsSuite(store: FileStore(path: FilePath(path)), reporter: reporter)
            _ = suite.snapshot()
            report(reporter) { try suite.setStoredValue(1, forKey: "n") }
            await suite.finish()
            expectNoSecret(of: reporter, [.malformedJournal])
        }
    }

    /// Expects errors with these codes only, none of which contains the secret.
    private func expectNoSecret(
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

    /// Reports an error that an action throws.
    private func report(_ reporter: RecordingReporter, _ action: () throws -> Void) {
        do {
            try action()
        } catch let error as SettingsError {
            reporter.report(error)
        } catch {
            Issue.record(error)
        }
    }

    /// Leaves a journal in which the record with the secret is damaged.
    private func leaveBrokenJournal(_ path: String) async throws {
        try path.overwriteFile(with: "{}")
        try await withoutCheckpoints(of: path) {
            try await withProbe(at: .file(path)) { probe in
                try await probe.expect("set \(Self.secret) 1")
                probe.kill()
            }
        }
        let journal = JournalFile(of: path)
        var bytes = try journal.bytes
        let position = try #require(bytes.indices.last { bytes[$0] == UInt8(ascii: "h") })
        bytes[position] ^= 1
        try journal.replace(with: bytes)
    }
}
