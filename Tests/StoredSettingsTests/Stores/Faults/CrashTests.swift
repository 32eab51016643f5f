// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("A file store that dies after any system call")
struct CrashTests {
    /// How the file is put where it is.
    enum Placing: Sendable, CaseIterable {
        case renamed
        /// It is mounted alone, so that it is written over.
        case mountedAlone
    }

    @Test(
        "what was acknowledged survives kill -9, and what survives a loss of power is whole and in order",
        arguments: Placing.allCases
    )
    func everywhere(placing: Placing) async throws {
        let isMountedAlone = placing == .mountedAlone
        let moments = try await withTemporaryDirectory(inMemory: true) { directory in
            try CrashRecorder.moments(of: .standard, in: directory, isMountedAlone: isMountedAlone)
        }
        let examiner = ImageExaminer(mayFileBeBroken: isMountedAlone)
        var defects: [String] = []
        for moment in moments {
            let (death, powerLoss) = (moment.model.afterDeath, moment.model.afterPowerLoss)
            defects += try await examiner.defects(of: moment.killed, allowed: death, mayJournalBeTorn: false)
                .map { "\(moment.place), killed: \($0)" }
            for (left, image) in moment.powerless {
                defects += try await examiner.defects(of: image, allowed: powerLoss, mayJournalBeTorn: true)
                    .map { "\(moment.place), powerless, \(left) left: \($0)" }
            }
        }
        let examples = defects.prefix(10).joined(separator: "\n")
        if !defects.isEmpty {
            Issue.record("\(defects.count) defects in \(moments.count) moments, such as\n\(examples)")
        }
        #expect(moments.count > 100 && examiner.count > 100)
    }
}
