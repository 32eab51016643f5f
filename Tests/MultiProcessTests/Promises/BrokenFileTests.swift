// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@Suite("Promise 4: it never destroys what it cannot read")
struct BrokenFileTests {
    private static let broken = "{\n  \"a\": 1,\n  \"b\": oops\n}\n"

    @Test("the last good values are used, the error names the place, and sets are merged when the file is fixed")
    func brokenAndFixed() async throws {
        try await withSettingsPath { path in
            let reporter = RecordingReporter()
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            let (a, b) = (Setting("a", default: 0, suite: suite), Setting("b", default: 0, suite: suite))
            let mine = Setting("mine", default: 0, suite: suite)
            try await withProbe(at: .file(path)) { other in
                try await other.expect("set a 11")
                try await other.expect("set b 22")
                #expect(a.value == 11 && b.value == 22)
                try await other.expect("checkpoint")

                try path.replaceFile(with: Self.broken)
                try await expectReport(reporter, of: suite, path)
                try await expectReport(from: other, path)
                #expect(a.value == 11 && b.value == 22)
                try await other.expect("get a", prints: "11")

                reporter.removeAll()
                mine.value = 3
                #expect(mine.value == 3)
                #expect(reporter.errors.isEmpty)
                // The assignment may wait for the other process.
                try await other.expectSoon("mine", is: 3)
                try await other.expect("assign theirs 4")
                try await other.expect("get theirs", prints: "4")
                try await suite.synchronize()
                try await other.expect("synchronize")
                expectError(.malformedFile) { try suite.checkpoint() }
                try await other.expect("checkpoint", prints: "error malformedFile")
                expectError(.malformedFile) { try a.load() }
                #expect(try path.fileContents == Self.broken)

                try await expectLastGoodInNewProcess(path)
                #expect(try path.fileContents == Self.broken)

                try path.overwriteFile(with: #"{"a": 111, "b": 222, "c": 333, "new": {"kept": [1]}}"#)
                try await eventually("the file holds what was set meanwhile") {
                    let stored = try document(at: path)
                    return stored["mine"] as? Int == 3 && stored["theirs"] as? Int == 4
                }
                // The hand edit stands, except for the keys that were set meanwhile.
                let expected = [("a", 111), ("b", 5), ("c", 333), ("mine", 3), ("theirs", 4)]
                for (key, value) in expected {
                    // The other process may merge and write the file before this process notices the edit.
                    await eventually("\(key) is \(value)") { Setting(key, default: 0, suite: suite).value == value }
                    try await other.expectSoon(key, is: value)
                }
                #expect(suite.storedValue(forKey: "new") == ["kept": [1]])
                try await suite.synchronize()
                try await other.expect("checkpoint")
                let stored = try document(at: path)
                #expect(Set(stored.keys) == ["a", "b", "c", "mine", "theirs", "new"])
                #expect(expected.allSatisfy { stored[$0.0] as? Int == $0.1 })
            }
        }
    }

    /// A process that has never read the valid file.
    private func expectLastGoodInNewProcess(_ path: String) async throws {
        try await withProbe(at: .file(path)) { probe in
            try await probe.expect("get b", prints: "22")
            try await probe.expect("get a", prints: "11")
            try await probe.expect("get mine", prints: "3")
            try await expectReport(from: probe, path)
            try await probe.expect("set b 5")
            try await probe.expect("synchronize")
            try await probe.expect("checkpoint", prints: "error malformedFile")
        }
    }

    private func expectReport(_ reporter: RecordingReporter, of suite: SettingsSuite, _ path: String) async throws {
        await eventually("the error is reported") {
            // What looks like an unfinished edit is reported only when it is checked again.
            _ = suite.keys
            return !reporter.errors.isEmpty
        }
        let error = try #require(reporter.errors.first)
        #expect(error.code == .malformedFile)
        #expect(error.location == SettingsError.Location(file: path, line: 3, column: 8))
    }

    private func expectReport(from probe: Probe, _ path: String) async throws {
        try await eventually("the probe reports the place") {
            try await probe.expect("get a", prints: "11")
            return probe.errors.contains("\(path):3:8")
        }
    }

    @Test("sets that were journaled before the file was broken are kept like later ones")
    func brokenBeforeCheckpoint() async throws {
        try await withPlace { place in
            try place.path.overwriteFile(with: #"{"a": 1}"#)
            try await withoutCheckpoints(of: place.path) {
                try await withProbe(at: place) { probe in
                    try await probe.expect("set b 2")
                    try place.path.overwriteFile(with: Self.broken)
                    try await probe.expect("set c 3")
                    probe.kill()
                }
            }
            try await withProbe(at: place) { probe in
                // Nothing has been checkpointed, so there is no last good copy, and `a` cannot be read.
                for (key, value) in [("a", 0), ("b", 2), ("c", 3)] {
                    try await probe.expect("get \(key)", prints: "\(value)")
                }
                #expect(try place.path.fileContents == Self.broken)
                try place.path.replaceFile(with: #"{"a": 10, "b": 20}"#)
                try await eventually("all values are merged") {
                    try document(at: place.path) as? [String: Int] == ["a": 10, "b": 2, "c": 3]
                }
                try await probe.expect("get a", prints: "10")
            }
        }
    }

    @Test("unknown keys and values of another type are kept until they are assigned")
    func unknown() async throws {
        try await withPlace { place in
            let future = #"{"deep": [1, null, {"x": -0.5}], "version": 9}"#
            try place.path.overwriteFile(with: #"{"future": \#(future), "n": "text"}"#)
            try await withProbes(2, at: place) { probes in
                try await probes[0].expect("get n", prints: "0")
                try await probes[1].expect("set m 1")
                try await probes[0].expect("checkpoint")
                #expect(try document(at: place.path)["n"] as? String == "text")
                try await probes[1].expect("set n 5")
                try await probes[0].expect("get n", prints: "5")
                try await probes[1].expect("checkpoint")
                let stored = try document(at: place.path)
                #expect(stored["n"] as? Int == 5 && stored["m"] as? Int == 1)
                let expected = try JSONSerialization.jsonObject(with: Data(future.utf8)) as? NSDictionary
                #expect(stored["future"] as? NSDictionary == expected)
            }
        }
    }
}
