// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

/// One round at a time: what counts is that its own processes meet.
@Suite("No update of distinct keys is lost between processes", .serialized)
struct DistinctKeysTests {
    @Test(
        "four processes set 500 keys each in a suite that is not there yet, and all 2,000 are kept",
        arguments: 1...10
    )
    func distinctKeys(round: Int) async throws {
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("round-\(round)", home: home)
            try await withProbes(4, at: place) { probes in
                for (number, probe) in probes.enumerated() { try probe.send("fill process\(number) 500") }
                for probe in probes { try await probe.expect(within: .seconds(300)) }
            }
            let stored = try document(at: place.path)
            #expect(stored.count == 2_000)
            for number in 0..<4 {
                let lost = (0..<500).filter { (key: Int) in stored["process\(number)-\(key)"] as? Int != key }
                #expect(lost == [])
            }
        }
    }
}

/// One round at a time: what counts is that its own processes meet.
@Suite("No update of one key is lost between processes", .serialized)
struct OneKeyTests {
    @Test("four processes add one 1,000 times each, and the sum is 4,000", arguments: 1...10)
    func oneKey(round: Int) async throws {
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("round-\(round)", home: home)
            try await withProbes(4, at: place) { probes in
                for probe in probes { try probe.send("increment total 1000") }
                for probe in probes { try await probe.expect(within: .seconds(300)) }
            }
            #expect(try document(at: place.path)["total"] as? Int == 4_000)
            #expect(Setting("total", default: 0, suite: SettingsSuite(fileAt: place.path)).value == 4_000)
        }
    }
}

@Suite("A transaction is whole for every process")
struct WholeTransactionsTests {
    @Test("two processes race to make the first file, and a third sees both keys of every transaction or neither")
    func transactions() async throws {
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("raced", home: home)
            try await withProbes(3, at: place) { probes in
                try probes[2].send("compare left right 400")
                for probe in probes.prefix(2) { try probe.send("raise left right 200") }
                for probe in probes.prefix(2) { try await probe.expect() }
                try await probes[2].expect(says: "whole")
            }
            let stored = try document(at: place.path)
            #expect(stored["left"] as? Int == 400 && stored["right"] as? Int == 400)
        }
    }
}
