// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// After a checkpoint, the space of the journal is reused. It then contains no value that the file no longer has.

extension FileStore {
    /// Begins a new epoch at the front of the journal if the records there are in the file.
    func reuse(_ journal: Journal, _ epoch: JournalEpoch, _ state: inout State) throws {
        let end = state.journal.position.end
        let front = UInt32(JournalHeader.size)
        var tail: [StoreChange] = []
        if end > epoch.checkpointed {
            // Further records follow. They are moved only if the journal has become long, and they fit before their old
            // place.
            guard Int(end) > schedule.journalBound, end - epoch.checkpointed < epoch.checkpointed / 2 else { return }
            tail = state.journaledChanges
        } else if end == front {
            return
        }
        let limit = tail.isEmpty ? 0 : epoch.checkpointed
        state.journal.dropCheckpointed(upTo: epoch.checkpointed)
        let checkpointed = epoch.checkpointed
        try state.journal.enter(
            journal.begin(at: front, with: tail, checkpointed: checkpointed, previousEnd: end, limit: limit)
        )
        versionStamp.update(journal.page, seen: state.journal.seen, version: state.version)
    }

    /// Clears the space of records that are in the file.
    ///
    /// An empty journal receives the permissions of the file.
    ///
    /// The header on the disk must contain the checkpointed end of this epoch, or of the previous one if no checkpoint
    /// was made in this one.
    func clearUnused(_ journal: Journal, _ state: inout State) throws {
        guard let (epoch, position) = journal.current else { return }
        let front = UInt32(JournalHeader.size)
        let known = state.journal.cleared?.epoch == epoch.epoch ? state.journal.cleared : nil
        try journal.removeAbandonedDrafts(in: file.directory())
        try journal.clear(from: known?.front ?? front, to: epoch.checkpointed)
        let limit = journal.page[JournalHeader.limitWord]
        if limit != 0 {
            // The header on the disk still refers to the space that follows, so the next checkpoint clears it.
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
            // The owner of the journal does so with their next checkpoint.
            guard error.number == EPERM else { throw error }
        }
    }
}
