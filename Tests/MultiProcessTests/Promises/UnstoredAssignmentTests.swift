// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Promises: assignments that cannot be stored")
struct UnstoredAssignmentTests {
    @Test("a pending write never overwrites a later commit of another process")
    func newerCommit() async throws {
        try await withTemporaryDirectory { directory in
            try await withProbes(2, at: .file("\(directory)/settings.json")) { probes in
                let (late, holder) = (probes[0], probes[1])
                try await late.expect("set n 7")
                try await holder.expect("hold n 2", prints: "holding")
                // The assignment fails after five seconds, because the holder keeps the lock.
                try await late.expect("assign n 1")
                try await late.expect("get n", prints: "1")
                // The retry waits for the lock by now, or will soon.
                try await holder.expect("continue")
                try await late.expect("get n", prints: "2")
                try await late.expect("synchronize")
                for probe in probes { try await probe.expect("get n", prints: "2") }
            }
        }
    }

    @Test("without a usable directory, every throwing function throws, and an assigned value is read")
    func unavailable() async throws {
        try await withTemporaryDirectory { directory in
            let name = String(repeating: "x", count: 300)
            try await withProbe(at: .suite(name, home: directory)) { probe in
                try await probe.expect("assign n 2")
                try await probe.expect("get n", prints: "2")
                for command in ["set n 3", "increment n 1", "raise a b 1", "remove n", "synchronize", "checkpoint"] {
                    try await probe.expect(command, prints: "error locationUnavailable")
                }
                try await probe.expect("persistence", prints: "ephemeral")
                try await probe.expect("get n", prints: "2")
                #expect(probe.errors != "")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        }
    }
}
