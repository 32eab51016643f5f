// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// The journal after a checkpoint: its space is used again, and holds no value that the file no longer has.

extension FileStore {
    /// Begins a new epoch at the front of the journal, as far as its records are in the file.
    func reuse(_ journal: Journal, _ epoch: JournalEpoch, _ state: inout State) throws {
        let end = state.journal.position.end
        let front = UInt32(JournalHeader.size)
        var tail: [StoreChange] = []
        if end > epoch.checkpointed {
            // New records have come. They are moved only when the file has become long, and there is room before them.
            guard Int(end) > schedule.journalBound, end - epoch.checkpointed < epoch.checkpointed / 2 else { return }
            tail = state.journaledChanges
        } else if end == front {
            return
        }
        let limit = tail.isEmpty ? 0 : epoch.checkpointed
        state.journal.dropCheckpointed(upTo: epoch.checkpointed)
        let new = try journal.begin(at: front, with: tail, checkpointed: epoch.checkpointed, previousEnd: end, limit: limit)
        state.journal.enter(new)
        versionStamp.update(journal.page, seen: state.journal.seen, version: state.version)
    }

    /// Clears the space of records that are in the file, and gives the journal the permissions of the file when it is empty.
    ///
    /// The disk must have a header with the checkpointed records of this epoch, or of the one before when this one has none.
    func clearUnused(_ journal: Journal, _ state: inout State) throws {
        guard let (epoch, position) = journal.current else { return }
        let front = UInt32(JournalHeader.size)
        let known = state.journal.cleared?.epoch == epoch.epoch ? state.journal.cleared : nil
        try journal.removeAbandonedDrafts(in: file.directory())
        try journal.clear(from: known?.front ?? front, to: epoch.checkpointed)
        let limit = journal.page[JournalHeader.limitWord]
        if limit != 0 {
            // The header on the disk still needs what follows, so it is cleared by the next checkpoint.
            try journal.clear(from: position.end, to: UInt32(clamping: limit))
            state.journal.cleared = nil
            return
        }
        try journal.clear(behind: position.end)
        state.journal.cleared = JournalState.Cleared(epoch: epoch.epoch, front: epoch.checkpointed)
        guard position.end == front, let status = state.reading?.status else { return }
        do {
            try file.system.copyPermissions(of: status.writableByOwner, to: journal.file)
        } catch {
            // Its owner does so with their next checkpoint.
            guard error.number == EPERM else { throw error }
        }
    }
}
