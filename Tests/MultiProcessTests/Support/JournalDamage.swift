// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// What somebody may do to a journal that others have open.
enum JournalDamage: CaseIterable, Sendable {
    case removed
    case cutToNothing
    case cutInHeader
    case cutAfterHeader
    case cutInRecords
    case replacedByCopy
    case replacedByEmptyFile
    case replacedByNewOne

    func apply(to journal: JournalFile, sparing directory: String) async throws {
        switch self {
        case .removed: try journal.remove()
        case .cutToNothing: try journal.truncate(to: 0)
        case .cutInHeader: try journal.truncate(to: 600)
        case .cutAfterHeader: try journal.truncate(to: JournalFile.headerSize)
        case .cutInRecords: try journal.truncate(to: max(journal.end - 12, JournalFile.headerSize))
        case .replacedByCopy: try journal.replace(with: journal.bytes)
        case .replacedByEmptyFile: try journal.replace(with: [])
        case .replacedByNewOne: try await journal.replace(with: newJournal(in: "\(directory)/another"))
        }
    }

    /// The journal of other settings, with a record that is not checkpointed.
    private func newJournal(in directory: String) async throws -> [UInt8] {
        let place = Probe.Place.file("\(directory)/settings.json")
        return try await withProbe(at: place) { probe in
            try await probe.expect("set foreign 1")
            await probe.end()
            return try JournalFile(of: place.path).bytes
        }
    }
}
