// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("Promise 3: coherent reads")
struct CoherentReadsTests {
    @Test("once a set has returned in one process, the next read in every other one sees it")
    func reads() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let here = Setting("n", default: 0, suite: SettingsSuite(fileAt: place.path))
            try here.set(-1)
            try await withProbes(2, at: place) { probes in
                for round in 1...50 {
                    try await probes[round % 2].expect("set n \(3 * round)")
                    #expect(here.value == 3 * round)
                    try await probes[(round + 1) % 2].expect("get n", says: "\(3 * round)")
                    try here.set(3 * round + 1)
                    for probe in probes { try await probe.expect("get n", says: "\(3 * round + 1)") }
                    // The space of the journal is used again after a checkpoint, which nobody may notice.
                    if round % 5 == 0 { try await probes[round % 2].expect("checkpoint") }
                }
            }
        }
    }

    @Test("while one process sets without a pause, and checkpoints in between, a read gives what it has said last, or newer")
    func neverOlder() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let here = Setting("n", default: 0, suite: SettingsSuite(fileAt: place.path))
            try here.set(0)
            try await withProbes(2, at: place) { probes in
                try probes[0].send("count n")
                var (said, seen, checkpoints) = (0, 0, 0)
                while said < 20_000 {
                    if let last = probes[0].remainingLines().last { said = try #require(Int(last)) }
                    let value = here.value
                    #expect(value >= said && value >= seen)
                    seen = value
                    if seen > checkpoints * 2_000 {
                        checkpoints += 1
                        try await probes[1].expect("checkpoint")
                    }
                    await Task.yield()
                }
            }
        }
    }

    @Test("a process that may not write reads every set of others at once, and its own sets are refused")
    func readOnly() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            try path.overwriteFile(with: #"{"n": 1, "m": 1}"#)
            try await withProbes(2, at: .file(path)) { probes in
                let (writer, reader) = (probes[0], probes[1])
                try await writer.expect("set n 2")
                try await writer.expect("checkpoint")
                // Readable by all, writable by nobody: that keeps out all but root, who becomes somebody else.
                try setPermissions(0o444, ofFilesIn: directory)
                try setPermissions(0o555, of: directory)
                if geteuid() == 0 { try await reader.expect("become 65534") }
                try await reader.expect("get n", says: "2")
                try await reader.expect("persistence", says: "readOnly")
                for value in 3...20 {
                    try await writer.expect("set n \(value)")
                    try await reader.expect("get n", says: "\(value)")
                }
                try await reader.expect("set n 0", says: "error readOnly")
                // Root's checkpoints succeed in such a directory; the reader goes on across them.
                if geteuid() == 0 { try await writer.expect("checkpoint") }
                try await writer.expect("set m 21")
                try await reader.expect("get m", says: "21")
                try await reader.expect("get n", says: "20")
                try setPermissions(0o755, of: directory)
            }
        }
    }

    private func setPermissions(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func setPermissions(_ mode: Int, ofFilesIn directory: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            try setPermissions(mode, of: "\(directory)/\(name)")
        }
    }

    @Test("processes that have only read, while there was nothing yet, notice the first set, and the next ones at once")
    func firstSet() async throws {
        for _ in 0..<5 {
            try await withTemporaryDirectory { directory in
                let place = Probe.Place.file("\(directory)/new/settings.json")
                let suite = SettingsSuite(fileAt: place.path)
                defer { suite.finish() }
                let here = Setting("n", default: 0, suite: suite)
                try await withProbes(2, at: place) { probes in
                    let (writer, reader) = (probes[0], probes[1])
                    try await reader.expect("get n", says: "0")
                    #expect(here.value == 0)
                    try await writer.expect("set n 1")
                    // How soon is the subject of another test. The limit only ends one that hangs.
                    try await reader.expectSoon("n", is: 1, within: .seconds(60))
                    await eventually("this process notices") { here.value == 1 }
                    for value in 2...5 {
                        try await writer.expect("set n \(value)")
                        try await reader.expect("get n", says: "\(value)")
                        #expect(here.value == value)
                    }
                }
            }
        }
    }
}
