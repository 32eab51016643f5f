// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("A crash after any system call")
struct CrashTests {
    /// How a checkpoint writes the settings file.
    enum Replacement: Sendable, CaseIterable {
        case renamed
        /// The file is a mount point, so it is overwritten in place.
        case inPlace
    }

    /// The number of moments of the quick tier.
    private static let sample = 10

    @Test(
        "acknowledged changes survive kill -9, and a power loss leaves whole changes in order",
        arguments: Replacement.allCases.sampled(1)
    )
    func everyCall(replacement: Replacement) async throws {
        let isMountPoint = replacement == .inPlace
        let moments = try await withTemporaryDirectory(inMemory: true) { directory in
            try await blocking {
                try CrashRecorder.moments(of: .standard, in: directory, isMountPoint: isMountPoint)
            }
        }
        #expect(moments.count > 100)
        // The same image can be allowed at one moment and forbidden at another, so each pair is checked.
        let losses = moments.flatMap { moment in moment.afterPowerLoss.map { (moment, $0.loss, $0.image) } }
        let examiner = ImageExaminer(canFileBeMalformed: isMountPoint)
        var violations: [String] = []
        for moment in moments.sampled(Self.sample, salt: isMountPoint ? 1 : 0) {
            let allowed = moment.model.afterKill
            violations += try await examiner.violations(of: moment.afterKill, allowed: allowed, canJournalBeTorn: false)
                .map { "\(moment.context), after kill -9: \($0)" }
        }
        for (moment, loss, image) in losses.sampled(3 * Self.sample, salt: isMountPoint ? 1 : 0) {
            let allowed = moment.model.afterPowerLoss
            violations += try await examiner.violations(of: image, allowed: allowed, canJournalBeTorn: true)
                .map { "\(moment.context), after a power loss, \(loss) left: \($0)" }
        }
        let examples = violations.prefix(10).joined(separator: "\n")
        if !violations.isEmpty {
            Issue.record("\(violations.count) violations in \(moments.count) moments, such as\n\(examples)")
        }
        #expect(examiner.count > (TestRun.isExhaustive ? 100 : 10))
    }
}
