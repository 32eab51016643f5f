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

    @Test(
        "acknowledged changes survive kill -9, and a power loss leaves whole changes in order",
        arguments: Replacement.allCases
    )
    func everyCall(replacement: Replacement) async throws {
        let isMountPoint = replacement == .inPlace
        let moments = try await withTemporaryDirectory(inMemory: true) { directory in
            try CrashRecorder.moments(of: .standard, in: directory, isMountPoint: isMountPoint)
        }
        let examiner = ImageExaminer(canFileBeMalformed: isMountPoint)
        var violations: [String] = []
        for moment in moments {
            let (death, powerLoss) = (moment.model.afterKill, moment.model.afterPowerLoss)
            violations += try await examiner.violations(of: moment.afterKill, allowed: death, canJournalBeTorn: false)
                .map { "\(moment.context), after kill -9: \($0)" }
            for (loss, image) in moment.afterPowerLoss {
                violations += try await examiner.violations(of: image, allowed: powerLoss, canJournalBeTorn: true)
                    .map { "\(moment.context), after a power loss, \(loss) left: \($0)" }
            }
        }
        let examples = violations.prefix(10).joined(separator: "\n")
        if !violations.isEmpty {
            Issue.record("\(violations.count) violations in \(moments.count) moments, such as\n\(examples)")
        }
        #expect(moments.count > 100 && examiner.count > 100)
    }
}
