// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Damage to a journal that other processes have open.
enum JournalDamage: CaseIterable, Sendable {
    case removed
    case truncatedToZero
    case truncatedInHeader
    case truncatedAfterHeader
    case truncatedInRecords
    case replacedByCopy
    case replacedByEmptyFile
    case replacedByOtherJournal

    func apply(to journal: JournalFile, scratch directory: String) async throws {
        switch self {
        case .removed: try journal.remove()
        case .truncatedToZero: try journal.truncate(to: 0)
        case .truncatedInHeader: try journal.truncate(to: 600)
        case .truncatedAfterHeader: try journal.truncate(to: JournalFile.headerSize)
        case .truncatedInRecords: try journal.truncate(to: max(journal.end - 12, JournalFile.headerSize))
        case .replacedByCopy: try journal.replace(with: journal.bytes)
        case .replacedByEmptyFile: try journal.replace(with: [])
        case .replacedByOtherJournal: try await journal.replace(with: otherJournal(in: "\(directory)/another"))
        }
    }

    /// The journal of another settings file, with a record that is not checkpointed.
    private func otherJournal(in directory: String) async throws -> [UInt8] {
        let place = Probe.Place.file("\(directory)/settings.json")
        return try await withProbe(at: place) { probe in
            try await probe.expect("set foreign 1")
            probe.kill()
            return try JournalFile(of: place.path).bytes
        }
    }
}
