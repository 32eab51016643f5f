// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("Promise 3: coherent reads")
struct CoherentReadsTests {
    @Test("once a set has returned in one process, the next read in every other process sees it")
    func reads() async throws {
        try await withPlace { place in
            let here = Setting("n", default: 0, suite: SettingsSuite(fileAt: place.path))
            try await here.set(-1)
            try await withProbes(2, at: place) { probes in
                for round in 1...50 {
                    try await probes[round % 2].expect("set n \(3 * round)")
                    #expect(here.value == 3 * round)
                    try await probes[(round + 1) % 2].expect("get n", prints: "\(3 * round)")
                    try await here.set(3 * round + 1)
                    for probe in probes { try await probe.expect("get n", prints: "\(3 * round + 1)") }
                    // After a checkpoint, the space of the journal is reused, which must not affect reads.
                    if round % 5 == 0 { try await probes[round % 2].expect("checkpoint") }
                }
            }
        }
    }

    @Test(
        "while one process sets and another checkpoints without a pause, a read is never older than the last acknowledged set"
    )
    func neverOlder() async throws {
        try await withPlace { place in
            let here = Setting("n", default: 0, suite: SettingsSuite(fileAt: place.path))
            try await here.set(0)
            try await withProbes(2, at: place) { probes in
                // It sets without a pause until this test ends.
                try probes[0].send("count n")
                var (acknowledged, seen, checkpoints) = (0, 0, 0)
                while acknowledged < 20_000, probes[0].isRunning {
                    if let last = probes[0].remainingLines().last { acknowledged = try #require(Int(last)) }
                    let value = here.value
                    #expect(value >= acknowledged && value >= seen)
                    seen = value
                    if seen > checkpoints * 2_000 {
                        checkpoints += 1
                        try await probes[1].expect("checkpoint")
                    }
                    await Task.yield()
                }
                #expect(acknowledged >= 20_000)
            }
        }
    }

    @Test("a process without write permission reads every set of others at once, and its own sets fail")
    func readOnly() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            try path.overwriteFile(with: #"{"n": 1, "m": 1}"#)
            try await withProbes(2, at: .file(path)) { probes in
                let (writer, reader) = (probes[0], probes[1])
                try await writer.expect("set n 2")
                try await writer.expect("checkpoint")
                // Read permission for all and write permission for none; that does not stop root, so root changes its
                // user.
                for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                    #expect(chmod("\(directory)/\(name)", 0o444) == 0)
                }
                #expect(chmod(directory, 0o555) == 0)
                if geteuid() == 0 { try await reader.expect("become 65534") }
                try await reader.expect("get n", prints: "2")
                try await reader.expect("persistence", prints: "readOnly")
                for value in 3...20 {
                    try await writer.expect("set n \(value)")
                    try await reader.expect("get n", prints: "\(value)")
                }
                try await reader.expect("set n 0", prints: "error readOnly")
                try await reader.expect("checkpoint", prints: "error readOnly")
                // Root can checkpoint in such a directory, and the reader continues across the checkpoint.
                if geteuid() == 0 { try await writer.expect("checkpoint") }
                try await writer.expect("set m 21")
                try await reader.expect("get m", prints: "21")
                try await reader.expect("get n", prints: "20")
                #expect(chmod(directory, 0o755) == 0)
            }
        }
    }

    @Test("processes that have read before the file exists notice the first set soon, and later sets at once")
    func firstSet() async throws {
        for _ in 0..<5 {
            try await withTemporaryDirectory { directory in
                let place = Probe.Place.file("\(directory)/new/settings.json")
                let suite = SettingsSuite(fileAt: place.path)
                defer { suite.finish() }
                let here = Setting("n", default: 0, suite: suite)
                try await withProbes(2, at: place) { probes in
                    let (writer, reader) = (probes[0], probes[1])
                    try await reader.expect("get n", prints: "0")
                    #expect(here.value == 0)
                    try await writer.expect("set n 1")
                    // Another test measures the delay. This limit only ends a test that hangs.
                    try await reader.expectSoon("n", is: 1)
                    await eventually("this process reads the set") { here.value == 1 }
                    for value in 2...5 {
                        try await writer.expect("set n \(value)")
                        try await reader.expect("get n", prints: "\(value)")
                        #expect(here.value == value)
                    }
                }
            }
        }
    }
}
