// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("Promises: what is assigned and cannot be stored")
struct UnstoredAssignmentTests {
    @Test("a pending write never overwrites what another process commits after it")
    func newerCommit() async throws {
        try await withTemporaryDirectory { directory in
            try await withProbes(2, at: .file("\(directory)/settings.json")) { probes in
                let (late, holder) = (probes[0], probes[1])
                try await late.expect("set n 7")
                try await holder.expect("hold n 2", says: "holding")
                // Fails after five seconds, since the holder of the lock gets nothing done.
                try await late.expect("assign n 1")
                try await late.expect("get n", says: "1")
                // The retry waits for the lock by now, or soon will.
                try await holder.expect("go on")
                try await late.expect("get n", says: "2")
                try await late.expect("synchronize")
                for probe in probes { try await probe.expect("get n", says: "2") }
            }
        }
    }

    @Test("without a usable directory everything that can throw throws, and an assigned value is read")
    func unavailable() async throws {
        try await withTemporaryDirectory { directory in
            let name = String(repeating: "x", count: 300)
            try await withProbe(at: .suite(name, home: directory)) { probe in
                try await probe.expect("assign n 2")
                try await probe.expect("get n", says: "2")
                for command in ["set n 3", "increment n 1", "raise a b 1", "remove n", "synchronize", "checkpoint"] {
                    try await probe.expect(command, says: "error locationUnavailable")
                }
                try await probe.expect("persistence", says: "ephemeral")
                try await probe.expect("get n", says: "2")
            }
        }
    }
}
