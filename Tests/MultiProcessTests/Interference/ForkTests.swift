// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("A process that forks without loading a program")
struct ForkTests {
    /// Each time when nothing is left for the threads in the background: they are not copied, their locks are.
    @Test("parent and child go on with the suite that was open: no update is lost, and nothing is damaged")
    func fork() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(2, at: place) { probes in
                try await probes[0].expect("set n 7")
                for round in 1...5 {
                    try await probes[0].expect("checkpoint")
                    try await probes[0].expect("fork total 1000")
                    // Another process, which has forked nothing.
                    try await probes[1].expect("increment total 400")
                    try await probes[0].expect("get total", says: "\(round * 2_400)")
                }
                for (index, probe) in probes.enumerated() {
                    try await probe.expect("get total", says: "12000")
                    try await probe.expect("get n", says: "\(7 + index)")
                    try await probe.expect("set n \(8 + index)")
                    try await probe.expect("checkpoint")
                    #expect(probe.complaints == "")
                }
                try await probes[0].finish()
            }
            #expect(try document(at: place.path) as? [String: Int] == ["n": 9, "total": 12_000])
        }
    }

    @Test("a transaction in the middle of which a process forks is the parent's alone, and its lock too")
    func inside() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(2, at: place) { probes in
                for round in 1...20 {
                    try await probes[0].expect("checkpoint")
                    try await probes[0].expect("forkInside total")
                    try await probes[1].expect("get total", says: "\(round)")
                }
                try await probes[1].expect("increment total 80")
                try await probes[0].expect("get total", says: "100")
            }
        }
    }

    @Test("a child that leaves the transaction it was forked in does not release its parent's lock")
    func lockOfParent() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(2, at: place) { probes in
                try await probes[0].expect("set total 1")
                try await probes[0].expect("forkAndHold total 2", says: "holding")
                // The tests are another process too: as long as the body runs, the lock cannot be had.
                #expect(throws: CocoaError.self) { try HeldLock("\(place.path).journal") }
                try await probes[1].expect("get total", says: "1")
                try await probes[0].expect("go on")
                try await probes[1].expect("increment total 1")
                try await probes[0].expect("get total", says: "3")
                #expect(probes[0].complaints == "")
            }
        }
    }

    @Test("a child that sets alone, before its parent has opened anything, is as good as any process")
    func unopened() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbe(at: place) { probe in
                try await probe.expect("fork total 500")
                try await probe.expect("get total", says: "1000")
                try await probe.expect("checkpoint")
            }
            #expect(try document(at: place.path)["total"] as? Int == 1_000)
        }
    }

    @Test("a child whose threads meet at a lock goes on, and writes the file in the background")
    func busyChild() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbe(at: place) { probe in
                try await probe.expect("forkBusily total 2000")
                try await probe.expect("get total", says: "4000")
            }
        }
    }
}
