// SPDX-License-Identifier: Apache-2.0

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
}
