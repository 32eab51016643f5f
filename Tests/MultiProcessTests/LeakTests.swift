// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

// Only Linux reports the resources of a process.
#if os(Linux)
/// Runs in its own process, where no other test opens files or allocates memory.
@Suite("Leaks")
struct LeakTests {
    private struct Holdings {
        var descriptors, mappings, watches, kilobytes: Int

        init(_ answer: String) throws {
            let numbers = answer.split(separator: " ").compactMap { Int($0) }
            try #require(numbers.count == 4 && numbers.allSatisfy { $0 >= 0 }, "\(answer)")
            (descriptors, mappings, watches, kilobytes) = (numbers[0], numbers[1], numbers[2], numbers[3])
        }
    }

    @Test("many suites use no more descriptors, mappings, watches and memory than few")
    func cycles() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            try await withProbe(at: .file(directory + "/settings.json")) { probe in
                let early = try await settled(probe, after: TestRun.count(quick: 200, exhaustive: 2_000))
                var late = try await settled(probe, after: TestRun.count(quick: 600, exhaustive: 8_000))
                // Released suites need time to close, and a suite starts its watch one second after it is opened.
                try await eventually("the suites are closed") {
                    late = try await holdings(probe, after: 0)
                    return late.descriptors <= early.descriptors && late.mappings <= early.mappings
                        && late.watches <= early.watches
                }
                #expect(late.descriptors <= early.descriptors)
                #expect(late.mappings <= early.mappings)
                #expect(late.watches <= early.watches)
                // In the exhaustive tier, cycles that leak 1 KB each would take 8 MB.
                #expect(late.kilobytes - early.kilobytes < 4_096)
                #expect(probe.errors.isEmpty)
            }
        }
    }

    /// The resources after some cycles and two more seconds.
    ///
    /// A suite starts its watch one second after it is opened,
    /// and released suites need time to close.
    private func settled(_ probe: Probe, after cycles: Int) async throws -> Holdings {
        var holdings = try await holdings(probe, after: cycles)
        let time = ContinuousClock.now + .seconds(2)
        try await eventually("two seconds have passed") {
            holdings = try await self.holdings(probe, after: 0)
            return ContinuousClock.now > time
        }
        return holdings
    }

    private func holdings(_ probe: Probe, after cycles: Int) async throws -> Holdings {
        try probe.send("cycle \(cycles)")
        return try Holdings(await probe.line())
    }
}
#endif
