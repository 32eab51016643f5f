// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("A failure of any system call")
struct FaultInjectionTests {
    /// More calls than a segment of the script makes.
    private static let maximumCalls = 2_000
    private static let maximumViolations = 20

    /// Runs every segment of the script once for each of its calls.
    private func fail(_ failure: CallFailure, isPermanent: Bool = false) async throws {
        var violations: [String] = []
        var count = 0
        for segment in try await ScriptSegment.segments(of: .standard) {
            for number in 1...Self.maximumCalls where violations.count < Self.maximumViolations {
                let trial = try await withTemporaryDirectory(inMemory: true) { directory in
                    let trial = try FaultTrial(
                        failure,
                        call: number,
                        of: segment,
                        isPermanent: isPermanent,
                        in: directory
                    )
                    try trial.run(.standard)
                    return trial
                }
                violations += trial.violations
                guard trial.failedCall != nil else { break }
                #expect(number < Self.maximumCalls)
                count += 1
            }
        }
        if !violations.isEmpty { Issue.record("\(violations.joined(separator: "\n"))") }
        #expect(count > (failure.shortensWrites ? 20 : 300))
    }

    @Test(
        "whichever call fails, no acknowledged change is lost, the failure is reported, and the next operation succeeds",
        arguments: CallFailure.allCases
    )
    func once(failure: CallFailure) async throws {
        try await fail(failure)
    }

    @Test(
        "while the disk fails, values in memory are read, and operations succeed when it works again",
        arguments: [CallFailure.inputOutputError]
    )
    func permanently(failure: CallFailure) async throws {
        try await fail(failure, isPermanent: true)
    }
}
