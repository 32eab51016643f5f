// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("A file store, every system call of which fails once")
struct FaultInjectionTests {
    /// More calls than a run of the script can make.
    private static let mostCalls = 5_000

    /// Runs the script once for each of its calls.
    private func fail(_ failure: CallFailure, lastsForever: Bool = false) async throws {
        var defects: [String] = []
        var count = 0
        while count < Self.mostCalls, defects.count < 20 {
            let trial = try await withTemporaryDirectory(inMemory: true) { directory in
                let trial = FaultTrial(failure, call: count + 1, lastsForever: lastsForever, in: directory)
                try trial.run(.standard)
                return trial
            }
            defects += trial.defects
            guard trial.victim != nil else { break }
            count += 1
        }
        if !defects.isEmpty { Issue.record("\(defects.joined(separator: "\n"))") }
        #expect(count > (failure.cutsWrites ? 20 : 100) && count < Self.mostCalls)
    }

    @Test(
        "whichever call fails, nothing that was acknowledged is lost, somebody is told, and the next operation works",
        arguments: CallFailure.allCases
    )
    func once(failure: CallFailure) async throws {
        try await fail(failure)
    }

    @Test(
        "whenever the disk dies, what is in memory is read, and all goes on when it is back",
        arguments: [CallFailure.inputOutputError]
    )
    func fromThenOn(failure: CallFailure) async throws {
        try await fail(failure, lastsForever: true)
    }
}
