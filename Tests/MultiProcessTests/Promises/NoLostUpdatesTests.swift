// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

/// Serialized, so that the processes of one round contend with each other.
@Suite("Promise 2: no lost updates", .serialized)
struct NoLostUpdatesTests {
    @Test(
        "all 8,000 keys are stored when four processes each set 2,000 keys of a new suite",
        arguments: 1...10
    )
    func distinctKeys(round: Int) async throws {
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("round-\(round)", home: home)
            try await withProbes(4, at: place) { probes in
                for (number, probe) in probes.enumerated() { try probe.send("fill process\(number) 2000") }
                for probe in probes { try await probe.expect() }
                for probe in probes { try await probe.expect("keys", prints: "8000") }
            }
            try SettingsSuite(fileAt: place.path).checkpoint()
            let stored = try document(at: place.path)
            #expect(stored.count == 8_000)
            for number in 0..<4 {
                let lost = (0..<2_000).filter { (key: Int) in stored["process\(number)-\(key)"] as? Int != key }
                #expect(lost == [])
            }
        }
    }

    @Test("the sum is 20,000 when four processes each add 1 5,000 times", arguments: 1...10)
    func oneKey(round: Int) async throws {
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("round-\(round)", home: home)
            try await withProbes(4, at: place) { probes in
                for probe in probes { try probe.send("increment total 5000") }
                for probe in probes { try await probe.expect() }
                for probe in probes { try await probe.expect("get total", prints: "20000") }
            }
            let suite = SettingsSuite(fileAt: place.path)
            #expect(Setting("total", default: 0, suite: suite).value == 20_000)
            try suite.checkpoint()
            #expect(try document(at: place.path)["total"] as? Int == 20_000)
        }
    }

    @Test("when two processes race to create the file, a third sees both keys of every transaction or neither")
    func transactions() async throws {
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("raced", home: home)
            try await withProbes(3, at: place) { probes in
                try probes[2].send("compare left right 4000")
                for probe in probes.prefix(2) { try probe.send("raise left right 2000") }
                for probe in probes.prefix(2) { try await probe.expect() }
                try await probes[2].expect(prints: "whole")
            }
            try SettingsSuite(fileAt: place.path).checkpoint()
            let stored = try document(at: place.path)
            #expect(stored["left"] as? Int == 4_000 && stored["right"] as? Int == 4_000)
        }
    }

    @Test("the sum is exact when two processes update while two others only checkpoint")
    func checkpointing() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(4, at: place) { probes in
                for probe in probes[..<2] { try probe.send("increment total 5000") }
                for probe in probes[2...] { try probe.send("checkpointRepeatedly total 10000") }
                for probe in probes { try await probe.expect() }
            }
            try SettingsSuite(fileAt: place.path).checkpoint()
            #expect(try document(at: place.path)["total"] as? Int == 10_000)
        }
    }
}
