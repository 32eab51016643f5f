// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

/// Serialized, so that the processes of one round contend with each other.
@Suite("Promise 2: no lost updates", .serialized)
struct NoLostUpdatesTests {
    @Test(
        "all keys are stored when four processes set many keys of a new suite",
        arguments: 1...TestRun.count(quick: 2, exhaustive: 10)
    )
    func distinctKeys(round: Int) async throws {
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("round-\(round)", home: home)
            let count = TestRun.count(quick: 150, exhaustive: 2_000)
            try await withProbes(4, at: place) { probes in
                for (number, probe) in probes.enumerated() { try probe.send("fill process\(number) \(count)") }
                for probe in probes { try await probe.expect() }
                for probe in probes { try await probe.expect("keys", prints: "\(4 * count)") }
            }
            try await SettingsSuite(fileAt: place.path).checkpoint()
            let stored = try document(at: place.path)
            #expect(stored.count == 4 * count)
            for number in 0..<4 {
                let lost = (0..<count).filter { (key: Int) in stored["process\(number)-\(key)"] as? Int != key }
                #expect(lost == [])
            }
        }
    }

    @Test(
        "the sum is exact when four processes each add 1 to a value of a new suite many times",
        arguments: 1...TestRun.count(quick: 2, exhaustive: 10)
    )
    func oneKey(round: Int) async throws {
        let count = TestRun.count(quick: 400, exhaustive: 5_000)
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("round-\(round)", home: home)
            try await withProbes(4, at: place) { probes in
                for probe in probes { try probe.send("increment total \(count)") }
                for probe in probes { try await probe.expect() }
                for probe in probes { try await probe.expect("get total", prints: "\(4 * count)") }
            }
            let suite = SettingsSuite(fileAt: place.path)
            #expect(Setting("total", default: 0, suite: suite).value == 4 * count)
            try await suite.checkpoint()
            #expect(try document(at: place.path)["total"] as? Int == 4 * count)
        }
    }

    @Test("when two processes race to create the file, a third sees both keys of every transaction or neither")
    func transactions() async throws {
        let count = TestRun.count(quick: 200, exhaustive: 2_000)
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("raced", home: home)
            try await withProbes(3, at: place) { probes in
                try await probes[2].expect("compare left right \(2 * count)", prints: "comparing")
                for probe in probes.prefix(2) { try probe.send("raise left right \(count)") }
                for probe in probes.prefix(2) { try await probe.expect() }
                try await probes[2].expect(prints: "whole")
            }
            try await SettingsSuite(fileAt: place.path).checkpoint()
            let stored = try document(at: place.path)
            #expect(stored["left"] as? Int == 2 * count && stored["right"] as? Int == 2 * count)
        }
    }
}
