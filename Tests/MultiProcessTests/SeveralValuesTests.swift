// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("Values of several settings, read together")
struct SeveralValuesTests {
    /// What a loop of reads has seen.
    private struct Seen {
        var reads = 0
        var torn = 0
        /// The pairs that differ from the one before.
        var changes = 0
        private var last = 0

        mutating func add(_ left: Int, _ right: Int) {
            reads += 1
            if left != right { torn += 1 }
            if left != last { changes += 1 }
            last = left
        }
    }

    @Test("values that are read together are those of one transaction, of a thread and of another process")
    func pairs() async throws {
        let count = TestRun.count(quick: 2_000, exhaustive: 400_000)
        let leastReads = TestRun.count(quick: 10_000, exhaustive: 1_000_000)
        try await withTemporaryDirectory { home in
            let place = Probe.Place.suite("pairs", home: home)
            let suite = SettingsSuite(fileAt: place.path)
            let (left, right) = (Setting("left", default: 0, suite: suite), Setting("right", default: 0, suite: suite))
            let third = Setting("third", default: "x", suite: suite)
            try await withProbes(1, at: place) { probes in
                try probes[0].send("raise left right \(count)")
                let (both, three, separate) = await blocking {
                    var (both, three, separate) = (Seen(), Seen(), Seen())
                    let writer = Thread {
                        for _ in 0..<count {
                            #expect(throws: Never.self) {
                                try suite.transaction { values in
                                    let next = values[left] + 1
                                    (values[left], values[right]) = (next, next)
                                }
                            }
                        }
                    }
                    writer.start()
                    repeat {
                        let pair = suite.read(left, right)
                        both.add(pair.0, pair.1)
                        let triple = suite.read(left, third, right)
                        three.add(triple.0, triple.2)
                        separate.add(left.value, right.value)
                    } while !writer.isFinished || both.reads < leastReads
                    return (both, three, separate)
                }
                try await probes[0].expect()
                #expect(both.torn == 0 && three.torn == 0)
                #expect(suite.read(left, right) == (2 * count, 2 * count))
                guard TestRun.isExhaustive else { return }
                #expect(both.changes >= 10_000)
                #expect(separate.torn > 0, "two separate reads never tear, so this test shows nothing")
            }
        }
    }
}
