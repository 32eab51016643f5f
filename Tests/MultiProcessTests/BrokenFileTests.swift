// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@Suite("A file that a hand edit has broken is not destroyed")
struct BrokenFileTests {
    private static let broken = "{\n  \"a\": 1,\n  \"b\": oops\n}\n"

    @Test("the last good values serve, the place is told, assignments wait, and all is merged when the file is mended")
    func brokenAndMended() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            let reporter = RecordingReporter()
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            let (a, b) = (Setting("a", default: 0, suite: suite), Setting("b", default: 0, suite: suite))
            let mine = Setting("mine", default: 0, suite: suite)
            try await withProbe(at: .file(path)) { other in
                try await other.expect("set a 11")
                try await other.expect("set b 22")
                #expect(a.value == 11 && b.value == 22)

                try path.overwriteFile(with: Self.broken)
                try await expectReport(reporter, of: suite, path)
                try await expectComplaint(other, path)
                #expect(a.value == 11 && b.value == 22)
                try await other.expect("get a", says: "11")

                reporter.removeAll()
                mine.value = 3
                #expect(mine.value == 3)
                #expect(reporter.errors.contains { $0.key == "mine" })
                try await other.expect("assign theirs 4")
                try await other.expect("get theirs", says: "4")
                #expect(throws: SettingsError(.notSaved, fact: "")) { try suite.synchronize() }
                try await other.expect("synchronize", says: "error notSaved")
                #expect(throws: SettingsError(.malformedFile, fact: "")) { try a.set(5) }
                #expect(try path.fileContents == Self.broken)

                try await expectLastGoodInNewProcess(path)
                #expect(try path.fileContents == Self.broken)

                try path.overwriteFile(with: #"{"a": 111, "b": 222, "new": {"kept": [1]}}"#)
                try await eventually("the file holds what was assigned meanwhile") {
                    let stored = try document(at: path)
                    return stored["mine"] as? Int == 3 && stored["theirs"] as? Int == 4
                }
                #expect(a.value == 111 && b.value == 222 && mine.value == 3)
                #expect(suite.storedValue(forKey: "new") == ["kept": [1]])
                #expect(Setting("theirs", default: 0, suite: suite).value == 4)
                for (key, value) in [("a", "111"), ("b", "222"), ("mine", "3"), ("theirs", "4")] {
                    try await other.expect("get \(key)", says: value)
                }
                try suite.synchronize()
                try await other.expect("synchronize")
                let stored = try document(at: path)
                #expect(Set(stored.keys) == ["a", "b", "mine", "theirs", "new"])
            }
        }
    }

    /// A process that has never seen the file whole.
    private func expectLastGoodInNewProcess(_ path: String) async throws {
        try await withProbe(at: .file(path)) { probe in
            try await probe.expect("get b", says: "22")
            try await probe.expect("get a", says: "11")
            try await expectComplaint(probe, path)
            try await probe.expect("set a 5", says: "error malformedFile")
        }
    }

    private func expectReport(_ reporter: RecordingReporter, of suite: SettingsSuite, _ path: String) async throws {
        await eventually("the reporter hears of the file") {
            // What looks like an edit that is not finished is not told at once, but when it is looked at again.
            _ = suite.keys
            return !reporter.errors.isEmpty
        }
        let error = try #require(reporter.errors.first)
        #expect(error.code == .malformedFile)
        #expect(error.location == SettingsError.Location(file: path, line: 3, column: 8))
    }

    private func expectComplaint(_ probe: Probe, _ path: String) async throws {
        try await eventually("the helper complains of the place") {
            try await probe.expect("get a", says: "11")
            return probe.complaints.contains("\(path):3:8")
        }
    }
}
