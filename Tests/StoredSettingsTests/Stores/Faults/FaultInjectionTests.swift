// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("A file store, every system call of which fails once")
struct FaultInjectionTests {
    /// More calls than a segment of the script can make.
    private static let mostCalls = 2_000
    private static let mostDefects = 20

    /// Runs every segment of the script once for each of its calls.
    private func fail(_ failure: CallFailure, lastsForever: Bool = false) async throws {
        var defects: [String] = []
        var count = 0
        for segment in try await ScriptSegment.segments(of: .standard) {
            for number in 1...Self.mostCalls where defects.count < Self.mostDefects {
                let trial = try await withTemporaryDirectory(inMemory: true) { directory in
                    let trial = try FaultTrial(
                        failure,
                        call: number,
                        of: segment,
                        lastsForever: lastsForever,
                        in: directory
                    )
                    try trial.run(.standard)
                    return trial
                }
                defects += trial.defects
                guard trial.victim != nil else { break }
                #expect(number < Self.mostCalls)
                count += 1
            }
        }
        if !defects.isEmpty { Issue.record("\(defects.joined(separator: "\n"))") }
        #expect(count > (failure.cutsWrites ? 20 : 300))
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
