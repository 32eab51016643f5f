// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("A failure of any system call")
struct FaultInjectionTests {
    private static let maximumViolations = 20
    /// More calls than a segment of the script makes.
    private static let maximumCalls = 2_000
    /// The number of calls of each segment that fail in the quick tier.
    private static let sample = 3

    /// Runs every segment of the script once for each of its calls, or for a sample of them.
    private func fail(_ failure: CallFailure, isPermanent: Bool = false) async throws {
        let segments = try await ScriptSegment.segments(of: .standard)
        let salt = (CallFailure.allCases.firstIndex(of: failure) ?? 0) * 2 + (isPermanent ? 1 : 0)
        var violations: [String] = []
        var count = 0
        for (index, segment) in segments.enumerated() {
            let (calls, found) = try await run(failure, call: .max, of: segment) { ($0.calls, $0.violations) }
            violations += found
            // The number of calls varies a little. The exhaustive tier ends with the first number that no call has.
            let numbers =
                TestRun.isExhaustive
                ? Array(1...Self.maximumCalls)
                : (1...calls).sampled(Self.sample, salt: salt * segments.count + index)
            for number in numbers where violations.count < Self.maximumViolations {
                let (found, hasFailed) = try await run(failure, call: number, of: segment, isPermanent: isPermanent) {
                    ($0.violations, $0.failedCall != nil)
                }
                violations += found
                count += hasFailed ? 1 : 0
                #expect(number < Self.maximumCalls)
                if TestRun.isExhaustive, !hasFailed { break }
            }
        }
        if !violations.isEmpty { Issue.record("\(violations.joined(separator: "\n"))") }
        let least = TestRun.isExhaustive ? (failure.shortensWrites ? 15 : 300) : segments.count * Self.sample / 2
        #expect(count > least)
    }

    private func run<Result: Sendable>(
        _ failure: CallFailure,
        call number: Int,
        of segment: ScriptSegment,
        isPermanent: Bool = false,
        _ examine: @escaping @Sendable (FaultTrial) -> Result
    ) async throws -> Result {
        try await withTemporaryDirectory(inMemory: true) { directory in
            try await blocking {
                let trial = try FaultTrial(failure, call: number, of: segment, isPermanent: isPermanent, in: directory)
                try trial.run(.standard)
                return examine(trial)
            }
        }
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
