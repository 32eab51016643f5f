// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("A failure of any system call")
struct FaultInjectionTests {
    private static let maximumViolations = 20
    /// The number of calls of a segment varies on a busy machine.
    private static let margin = 8
    /// The number of calls that fail in the quick tier, for each kind of failure.
    private static let sample = 16

    /// Runs every segment of the script once for each of its calls, or for a sample of them.
    private func fail(_ failure: CallFailure, isPermanent: Bool = false) async throws {
        var violations: [String] = []
        var calls: [(segment: ScriptSegment, number: Int, isBeyondEnd: Bool)] = []
        for segment in try await ScriptSegment.segments(of: .standard) {
            let (count, found) = try await run(failure, call: .max, of: segment) { ($0.calls, $0.violations) }
            violations += found
            calls += (1...count).map { (segment, $0, false) }
            guard TestRun.isExhaustive else { continue }
            calls += (1...Self.margin).map { (segment, count + $0, $0 == Self.margin) }
        }
        #expect(calls.count > (failure.shortensWrites ? 20 : 300))
        let salt = (CallFailure.allCases.firstIndex(of: failure) ?? 0) * 2 + (isPermanent ? 1 : 0)
        let sample = calls.sampled(Self.sample, salt: salt)
        var missing = 0
        for (segment, number, isBeyondEnd) in sample where violations.count < Self.maximumViolations {
            let (found, hasFailed) = try await run(failure, call: number, of: segment, isPermanent: isPermanent) {
                trial in
                (trial.violations, trial.failedCall != nil)
            }
            violations += found
            missing += hasFailed ? 0 : 1
            if isBeyondEnd, hasFailed { violations.append("the segment has more than \(number) calls") }
        }
        if !violations.isEmpty { Issue.record("\(violations.joined(separator: "\n"))") }
        #expect(missing <= sample.count / 2)
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
