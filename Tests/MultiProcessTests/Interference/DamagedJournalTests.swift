// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("A journal that is damaged while processes use it")
struct DamagedJournalTests {
    @Test(
        "the processes that read an acknowledged value keep it, and do not write it over a later one",
        arguments: JournalDamage.allCases.sampled(3),
        [false, true]
    )
    func damaged(damage: JournalDamage, isCheckpointed: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/suite/settings.json")
            try await withProbes(3, at: place) { probes in
                try await probes[0].expect("set n 0")
                try await probes[0].expect("checkpoint")
                try await withoutCheckpoints(of: place.path) {
                    try await probes[0].expect("set n 1")
                    try await probes[1].expect("set m 2")
                    for probe in probes {
                        try await probe.expect("get n", prints: "1")
                        try await probe.expect("get m", prints: "2")
                    }
                    try await damage.apply(to: JournalFile(of: place.path), scratch: directory)
                    for probe in probes {
                        try await probe.expect("get n", prints: "1")
                        try await probe.expect("get m", prints: "2")
                    }
                    // A set by any process writes them to the new journal. All processes would do that.
                    try await probes[1].expect("set n 3")
                    if !isCheckpointed { try await setOthers(probes) }
                    try await withProbe(at: place) { late in
                        try await late.expect("get n", prints: "3")
                        try await late.expect("get m", prints: "2")
                    }
                }
                if isCheckpointed {
                    // From here on, only the old journal shows that the values were written.
                    try await probes[1].expect("checkpoint")
                    try await setOthers(probes)
                }
                let contents = ["n": 3, "m": 2, "k": 4, "l": 5]
                for probe in probes { try await expectSoon(probe, contents) }
                try await expectNormalOperation(of: probes, at: place, contents, damage)
            }
        }
    }

    @Test("a program that blocks all signals survives the truncation of its journal")
    func blockedSignals() async throws {
        try await withProbe { probe, place in
            try await probe.expect("blockSignals")
            // Starts threads of the library before there is a journal.
            try await probe.expect("observe other")
            try await probe.expect("set n 7")
            try await probe.expect("checkpoint")
            #expect(truncate(place.path + ".journal", 0) == 0)
            try await probe.expect("get n", prints: "7")
            try await probe.expect("set n 8")
            try await probe.expect("get n", prints: "8")
        }
    }

    /// Sets other keys in the processes that still have the old journal.
    private func setOthers(_ probes: [Probe]) async throws {
        try await probes[0].expect("set k 4")
        try await probes[2].expect("set l 5")
    }

    /// A process that has not set anything since may have to wait for the directory watch.
    private func expectSoon(
        _ probe: Probe,
        _ contents: [String: Int],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for (key, value) in contents.sorted(by: { $0.key < $1.key }) {
            try await probe.expectSoon(key, is: value, sourceLocation: sourceLocation)
        }
    }

    /// Expects all processes to read, set and update as usual.
    private func expectNormalOperation(
        of probes: [Probe],
        at place: Probe.Place,
        _ contents: [String: Int],
        _ damage: JournalDamage
    ) async throws {
        for (index, probe) in probes.enumerated() { try await probe.expect("set own\(index) \(index)") }
        for probe in probes { try await expectSoon(probe, ["own0": 0, "own1": 1, "own2": 2]) }
        // By now all processes use the same journal: reads are coherent again, and no update is lost.
        for (index, probe) in probes.enumerated() {
            try await probe.expect("set shared \(index)")
            for other in probes { try await other.expect("get shared", prints: "\(index)") }
        }
        let updates = TestRun.count(quick: 50, exhaustive: 300)
        for probe in probes { try probe.send("increment total \(updates)") }
        for probe in probes { try await probe.expect() }
        for probe in probes { try await probe.expect("get total", prints: "\(3 * updates)") }

        try await probes[0].expect("checkpoint")
        let stored = try document(at: place.path)
        for (key, value) in contents { #expect(stored[key] as? Int == value, "\(key)") }
        #expect(stored["total"] as? Int == 3 * updates)
        if damage != .replacedByOtherJournal { #expect(stored["foreign"] == nil) }
    }

    @Test(
        "repeated truncation while four processes update ends no process and loses no checkpointed value"
    )
    func truncatedWhileUsed() async throws {
        try await withProbes(4) { probes, place in
            try await probes[0].expect("set n 0")
            let journal = JournalFile(of: place.path)
            var checkpointed = 0
            let updates = TestRun.count(quick: 100, exhaustive: 500)
            for size in [0, 8, 64, 600, 4_095, 4_096, 4_100, 8_192] {
                try await probes[0].expect("checkpoint")
                #expect(try document(at: place.path)["n"] as? Int == checkpointed, "before truncating to \(size)")
                for probe in probes { try probe.send("increment n \(updates)") }
                try journal.truncate(to: size)
                for probe in probes {
                    // An update may fail because the journal is damaged at that moment, and for no other reason.
                    #expect(try await ["done", "error writeFailed"].contains(probe.line()), "\(size)")
                }
                // Only updates that the truncation removed are lost, and none is counted twice.
                let value = try await agreedValue(of: "n", among: probes)
                #expect((checkpointed...checkpointed + 4 * updates).contains(value), "\(size)")
                checkpointed = value
            }
            // From here on, every update counts.
            for probe in probes { try probe.send("increment n 300") }
            for probe in probes { try await probe.expect() }
            for probe in probes { try await probe.expect("get n", prints: "\(checkpointed + 1_200)") }
            for (index, probe) in probes.enumerated() { try await probe.expect("set own\(index) \(index)") }
            for probe in probes { try await probe.expect("checkpoint") }
            for probe in probes { try await probe.finish() }
            let contents = ["n": checkpointed + 1_200, "own0": 0, "own1": 1, "own2": 2, "own3": 3]
            #expect(try document(at: place.path) as? [String: Int] == contents)
        }
    }

    /// Waits until all processes read the same value, and returns it.
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
