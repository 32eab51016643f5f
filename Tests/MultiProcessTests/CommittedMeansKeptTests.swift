// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("What a set has committed is kept when the process is killed")
struct CommittedMeansKeptTests {
    /// The moments are random, and the same in every run.
    private static let delays: [Duration] = {
        var generator = SeededGenerator(seed: 0x5EED)
        return (0..<50).map { _ in .microseconds(Int.random(in: 0...60_000, using: &generator)) }
    }()

    @Test(
        "after kill -9 at 50 random moments, every value whose set had returned is there, and others can go on at once"
    )
    func killed() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            for (round, delay) in Self.delays.enumerated() {
                let key = "round\(round)"
                let said = try await withProbe(at: place) { probe in
                    try probe.send("count \(key)")
                    let first = try await probe.line()
                    await pass(delay)
                    await probe.end()
                    return [first] + probe.remainingLines()
                }
                let last = try #require(said.last.flatMap { Int($0) })
                #expect(said == (1...last).map(String.init))

                // One more than was said may be kept: the process can die between the set and saying so.
                let kept = try #require(try document(at: place.path)[key] as? Int)
                #expect((last...last + 1).contains(kept))

                let suite = SettingsSuite(fileAt: place.path)
                let setting = Setting(key, default: 0, suite: suite)
                #expect(setting.value == kept)
                let start = ContinuousClock.now
                try setting.set(-1)
                #expect(ContinuousClock.now - start < .seconds(4), "the lock is free")
            }
            try await withProbe(at: place) { probe in
                try await probe.expect("get round49", says: "-1")
            }
        }
    }

    /// Lets the time pass that is the test's input.
    private func pass(_ delay: Duration) async {
        do {
            try await Task.sleep(for: delay)
        } catch {
            // A cancelled test kills the process at once; the law holds for that moment as well.
        }
    }
}
