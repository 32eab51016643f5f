// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("One file by different paths", .deadlockLimit)
struct PathTests {
    @Test("processes that use links, dots and relative paths to one file share it: reads are coherent and sums exact")
    func processes() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: "\(directory)/real/deep",
                withIntermediateDirectories: true
            )
            for (link, target) in [("link", "real"), ("real/file.json", "deep/settings.json")] {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(directory)/\(link)",
                    withDestinationPath: target
                )
            }
            let inside = Probe.Launch(directory: "\(directory)/real/deep")
            let places: [(Probe.Place, Probe.Launch)] = [
                (.file("\(directory)/real/deep/settings.json"), Probe.Launch()),
                (.file("\(directory)//link/./deep/../deep/settings.json"), Probe.Launch()),
                (.file("\(directory)/link/file.json"), Probe.Launch()),
                (.file("settings.json"), inside),
                (.file("../../link/../real/./file.json"), inside),
            ]
            try await withProbes(places) { probes in
                for probe in probes { try await probe.expect("get n", prints: "0") }
                // The first set, which the other processes may notice a little later.
                try await probes[0].expect("set n 0")
                try await probes[0].expect("set first 1")
                for probe in probes { try await probe.expectSoon("first", is: 1) }
                for (index, probe) in probes.enumerated() {
                    try await probe.expect("set n \(index + 1)")
                    for other in probes { try await other.expect("get n", prints: "\(index + 1)") }
                }
                for probe in probes { try probe.send("increment total 500") }
                for probe in probes { try await probe.expect() }
                for probe in probes { try await probe.expect("checkpoint") }
            }
            #expect(try document(at: "\(directory)/real/deep/settings.json")["total"] as? Int == 2_500)
            let names = try FileManager.default.subpathsOfDirectory(atPath: directory)
            #expect(names.count { $0.hasSuffix(".journal") } == 1)
        }
    }
}
