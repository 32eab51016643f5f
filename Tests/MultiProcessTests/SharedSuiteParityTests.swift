// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

@Suite("Parity: suites shared by processes")
struct SharedSuiteParityTests {
    @Test("Row 40: programs that name the same suite share it, and other suites are separate")
    func shared() async throws {
        try await withTemporaryDirectory { home in
            let launch = Probe.Launch()
            let one = (Probe.Place.suite("shared", home: home), launch)
            let other = (Probe.Place.suite("other", home: home), launch)
            try await withProbes([one, one, other]) { probes in
                try await probes[0].expect("set count 41")
                try await probes[1].expect("get count", prints: "41")
                try await probes[1].expect("increment count 1")
                try await probes[0].expect("get count", prints: "42")
                try probes[0].send("watch count")
                // The two lines arrive in either order.
                #expect(try await [probes[0].line(), probes[0].line()].sorted() == ["count is 42", "done"])
                try await probes[1].expect("set count 43")
                try await probes[0].expect(prints: "count is 43")
                try await probes[2].expect("get count", prints: "0")
            }
        }
    }

    @Test("Row 43: when several processes migrate one suite at the same time, one of them does", arguments: 1...5)
    func migrating(round: Int) async throws {
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("round-\(round)", home: home)
            try await withProbes(4, at: place) { probes in
                try await probes[0].expect("set old 20")
                for probe in probes { try probe.send("migrate old new") }
                for probe in probes { try await probe.expect() }
                for probe in probes { try await probe.expect("get new", prints: "41") }
                try await probes[1].expect("text old", prints: "none")
                for probe in probes { #expect(probe.errors.isEmpty) }
            }
        }
    }
}
