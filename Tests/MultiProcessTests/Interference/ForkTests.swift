// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A process that forks without exec")
struct ForkTests {
    /// Each fork happens when the background threads have no work: a fork copies their locks but not the threads.
    @Test("parent and child continue with the open suite: no update is lost, and nothing is damaged")
    func fork() async throws {
        try await withPlace { place in
            try await withProbes(2, at: place) { probes in
                try await probes[0].expect("set n 7")
                for round in 1...5 {
                    try await probes[0].expect("checkpoint")
                    try await probes[0].expect("fork total 1000")
                    // Another process, which has not forked.
                    try await probes[1].expect("increment total 400")
                    try await probes[0].expect("get total", prints: "\(round * 2_400)")
                }
                for (index, probe) in probes.enumerated() {
                    try await probe.expect("get total", prints: "12000")
                    try await probe.expect("get n", prints: "\(7 + index)")
                    try await probe.expect("set n \(8 + index)")
                    try await probe.expect("checkpoint")
                    #expect(probe.errors == "")
                }
                try await probes[0].finish()
            }
            #expect(try document(at: place.path) as? [String: Int] == ["n": 9, "total": 12_000])
        }
    }

    @Test("a transaction in which a process forks belongs to the parent only, and so does its lock")
    func inside() async throws {
        try await withProbes(2) { probes, _ in
            for round in 1...20 {
                try await probes[0].expect("checkpoint")
                try await probes[0].expect("forkInside total")
                try await probes[1].expect("get total", prints: "\(round)")
            }
            try await probes[1].expect("increment total 80")
            try await probes[0].expect("get total", prints: "100")
        }
    }

    @Test("a child that leaves the transaction it was forked in does not release its parent's lock")
    func lockOfParent() async throws {
        try await withProbes(2) { probes, place in
            try await probes[0].expect("set total 1")
            try await probes[0].expect("forkAndHold total 2", prints: "holding")
            // The test process competes for the lock too: it fails while the body runs.
            let journal = try #require(try Journal.open(at: FilePath("\(place.path).journal"), SystemCalls()))
            #expect(try !journal.lock.acquireIfFree())
            try await probes[1].expect("get total", prints: "1")
            try await probes[0].expect("continue")
            try await probes[1].expect("increment total 1")
            try await probes[0].expect("get total", prints: "3")
            #expect(probes[0].errors == "")
        }
    }

    @Test("a child that sets before its parent has opened anything works like any process")
    func unopened() async throws {
        try await withPlace { place in
            try await withProbe(at: place) { probe in
                try await probe.expect("fork total 500")
                try await probe.expect("get total", prints: "1000")
                try await probe.expect("checkpoint")
            }
            #expect(try document(at: place.path)["total"] as? Int == 1_000)
        }
    }

    @Test("a child whose threads contend for a lock continues, and writes the file in the background")
    func busyChild() async throws {
        try await withProbe { probe, _ in
            try await probe.expect("forkBusily total 2000")
            try await probe.expect("get total", prints: "4000")
        }
    }
}

@Suite("A process that exits")
struct ExitTests {
    @Test("saves an assignment in a task that waits for another writer, if that one continues")
    func waiting() async throws {
        try await withProbes(2) { probes, _ in
            try await probes[1].expect("hold other 1", prints: "holding")
            try await probes[0].expect("assignAndExit n 7", prints: "assigned")
            try await probes[1].expect("continue")
            try await probes[0].finish()
            #expect(probes[0].errors == "")
            try await probes[1].expect("get n", prints: "7")
        }
    }

    @Test("reports an assignment in a task that it cannot save")
    func lost() async throws {
        try await withProbes(2) { probes, _ in
            try await probes[1].expect("hold other 1", prints: "holding")
            try await probes[0].expect("assignAndExit n 7", prints: "assigned")
            try await probes[0].finish()
            #expect(probes[0].errors.contains("The process exits, and these values are lost."))
            try await probes[1].expect("continue")
            try await probes[1].expect("get n", prints: "0")
        }
    }

    @Test("ends in a forked child, while a thread of the parent sets")
    func inChild() async throws {
        try await withProbe { probe, _ in
            try await probe.expect("forkAndExit n \(TestRun.count(quick: 100, exhaustive: 1_000))")
        }
    }

    @Test("ends in the handler of a signal that has interrupted a set")
    func inSignalHandler() async throws {
        for _ in 0..<TestRun.count(quick: 3, exhaustive: 30) {
            try await withProbe { probe, _ in
                try await probe.expect("exitBySignal n", prints: "setting")
                probe.signal(SIGTERM)
                try await probe.finish()
            }
        }
    }

    @Test("inside a transaction stores nothing of it, loses no earlier set, and leaves no lock")
    func inside() async throws {
        try await withPlace { place in
            try await withProbes(2, at: place) { probes in
                try await probes[0].expect("set n 7")
                try probes[0].send("exitInside n 8")
                try await probes[0].finish()
                #expect(probes[0].errors == "")
                try await probes[1].expect("get n", prints: "7")
                try await probes[1].expect("increment n 1")
                try await probes[1].expect("checkpoint")
                try await probes[1].finish()
            }
            #expect(try document(at: place.path) as? [String: Int] == ["n": 8])
        }
    }
}
