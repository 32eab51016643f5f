// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("A journal that is damaged under running processes")
struct DamagedJournalTests {
    @Test("what was checkpointed is there for all, and what is set next is seen by all", arguments: JournalDamage.allCases)
    func checkpointed(damage: JournalDamage) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/suite/settings.json")
            try await withProbes(3, at: place) { probes in
                try await probes[0].expect("set n 1")
                try await probes[1].expect("set m 2")
                try await probes[0].expect("checkpoint")
                for probe in probes { try await probe.expect("get m", says: "2") }

                try await damage.apply(to: JournalFile(of: place.path), sparing: directory)
                for probe in probes { try await probe.expect("get n", says: "1") }
                try await expectLife(of: probes, at: place, ["n": 1, "m": 2], damage)
            }
        }
    }

    @Test(
        "what was acknowledged and not checkpointed is kept by the processes that knew it",
        arguments: JournalDamage.allCases
    )
    func journaled(damage: JournalDamage) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/suite/settings.json")
            try await withProbes(3, at: place) { probes in
                try await probes[0].expect("set n 0")
                try await probes[0].expect("checkpoint")
                try await withoutCheckpoints(of: place.path) {
                    try await probes[0].expect("set n 1")
                    try await probes[1].expect("set m 2")
                    for probe in probes {
                        try await probe.expect("get n", says: "1")
                        try await probe.expect("get m", says: "2")
                    }
                    try await damage.apply(to: JournalFile(of: place.path), sparing: directory)
                    for probe in probes {
                        try await probe.expect("get n", says: "1")
                        try await probe.expect("get m", says: "2")
                    }
                    // One set by anybody is enough to have them in the new journal.
                    try await probes[2].expect("set k 3")
                    for probe in probes { try await expectSoon(probe, ["n": 1, "m": 2, "k": 3]) }
                    try await withProbe(at: place) { late in
                        for (key, value) in [("n", 1), ("m", 2), ("k", 3)] {
                            try await late.expect("get \(key)", says: "\(value)")
                        }
                    }
                }
                try await expectLife(of: probes, at: place, ["n": 1, "m": 2, "k": 3], damage)
            }
        }
    }

    @Test(
        "what one process has carried over is not written over by the next that does",
        arguments: JournalDamage.allCases
    )
    func carriedOverOnce(damage: JournalDamage) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/suite/settings.json")
            try await withProbes(3, at: place) { probes in
                try await probes[0].expect("set n 0")
                try await probes[0].expect("checkpoint")
                try await withoutCheckpoints(of: place.path) {
                    // All know the one value, which all would carry over; then one of them sets another.
                    try await probes[0].expect("set n 1")
                    for probe in probes { try await probe.expect("get n", says: "1") }
                    try await damage.apply(to: JournalFile(of: place.path), sparing: directory)
                    try await probes[1].expect("set n 2")
                    try await probes[0].expect("set m 3")
                    try await probes[2].expect("set k 4")
                }
                for probe in probes { try await expectSoon(probe, ["n": 2, "m": 3, "k": 4]) }
                try await expectLife(of: probes, at: place, ["n": 2, "m": 3, "k": 4], damage)
            }
        }
    }

    @Test(
        "what one process has carried over, changed and checkpointed is not brought back by another",
        arguments: JournalDamage.allCases
    )
    func carriedOverAndCheckpointed(damage: JournalDamage) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/suite/settings.json")
            try await withProbes(2, at: place) { probes in
                try await probes[0].expect("set n 0")
                try await probes[0].expect("checkpoint")
                try await withoutCheckpoints(of: place.path) {
                    try await probes[0].expect("set n 1")
                    try await probes[1].expect("get n", says: "1")
                    try await damage.apply(to: JournalFile(of: place.path), sparing: directory)
                    try await probes[1].expect("set n 2")
                }
                // From here on, nothing but the old journal tells that it was carried over.
                try await probes[1].expect("checkpoint")
                try await probes[0].expect("set m 3")
                for probe in probes { try await expectSoon(probe, ["n": 2, "m": 3]) }
                try await probes[0].expect("checkpoint")
                #expect(try document(at: place.path)["n"] as? Int == 2)
            }
        }
    }

    /// A process that has not set anything since may need to be told by the directory.
    private func expectSoon(
        _ probe: Probe,
        _ contents: [String: Int],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for (key, value) in contents.sorted(by: { $0.key < $1.key }) {
            try await probe.expectSoon(key, is: value, sourceLocation: sourceLocation)
        }
    }

    /// All processes read, set and update as if nothing had happened.
    private func expectLife(
        of probes: [Probe],
        at place: Probe.Place,
        _ contents: [String: Int],
        _ damage: JournalDamage
    ) async throws {
        for (index, probe) in probes.enumerated() { try await probe.expect("set own\(index) \(index)") }
        for probe in probes { try await expectSoon(probe, ["own0": 0, "own1": 1, "own2": 2]) }
        // By now all have the same journal: reads are coherent again, and no update is lost.
        for (index, probe) in probes.enumerated() {
            try await probe.expect("set shared \(index)")
            for other in probes { try await other.expect("get shared", says: "\(index)") }
        }
        for probe in probes { try probe.send("increment total 300") }
        for probe in probes { try await probe.expect() }
        for probe in probes { try await probe.expect("get total", says: "900") }

        try await probes[0].expect("checkpoint")
        let stored = try document(at: place.path)
        for (key, value) in contents { #expect(stored[key] as? Int == value, "\(key)") }
        #expect(stored["total"] as? Int == 900)
        if damage != .replacedByNewOne { #expect(stored["foreign"] == nil) }
    }

    @Test(
        "truncated again and again while four processes update, it costs no process its life and no checkpointed value"
    )
    func truncatedWhileUsed() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(4, at: place) { probes in
                try await probes[0].expect("set n 0")
                let journal = JournalFile(of: place.path)
                var checkpointed = 0
                for size in [0, 8, 64, 600, 4_095, 4_096, 4_100, 8_192] {
                    try await probes[0].expect("checkpoint")
                    #expect(try document(at: place.path)["n"] as? Int == checkpointed, "before \(size)")
                    for probe in probes { try probe.send("increment n 500") }
                    try journal.truncate(to: size)
                    for probe in probes {
                        // An update may fail because the journal is damaged just then, for no other reason.
                        #expect(try await ["done", "error writeFailed"].contains(probe.line()), "\(size)")
                    }
                    // No update is lost but one that the cut has removed, and none is counted twice.
                    let value = try await agreedValue(of: "n", among: probes)
                    #expect((checkpointed...checkpointed + 2_000).contains(value), "\(size)")
                    checkpointed = value
                }
                // From here on every update counts, on top of what there is.
                for probe in probes { try probe.send("increment n 300") }
                for probe in probes { try await probe.expect() }
                for probe in probes { try await probe.expect("get n", says: "\(checkpointed + 1_200)") }
                for (index, probe) in probes.enumerated() { try await probe.expect("set own\(index) \(index)") }
                for probe in probes { try await probe.expect("checkpoint") }
                for probe in probes { try await probe.finish() }
                let contents = ["n": checkpointed + 1_200, "own0": 0, "own1": 1, "own2": 2, "own3": 3]
                #expect(try document(at: place.path) as? [String: Int] == contents)
            }
        }
    }

    /// The value that all processes read, as soon as they read the same.
    private func agreedValue(of key: String, among probes: [Probe]) async throws -> Int {
        var values: Set<Int> = []
        try await eventually("all processes read the same") {
            values = []
            for probe in probes {
                try probe.send("get \(key)")
                values.insert(try #require(try await Int(probe.line())))
            }
            return values.count == 1
        }
        return try #require(values.first)
    }
}
