// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension Journal {
    /// Begins an epoch with some changes, which are all that is not in the settings file.
    ///
    /// - Parameters:
    ///   - start: Where to write. What the header on the disk counts on must not be written over.
    ///   - changes: The changes.
    ///   - checkpointed: What of the epoch before is in the settings file.
    ///   - previousEnd: Where the one before ended, when these changes and the file are what it had come to.
    ///   - limit: Where records have to stop until the disk has the new header.
    ///   - known: The last epoch that the caller knows of, which the header may not name any more.
    /// - Returns: The facts of the epoch.
    /// - Throws: ``SystemError`` or ``SettingsError`` when the changes cannot be written; then all is as it was.
    func begin(
        at start: UInt32,
        with changes: [StoreChange],
        checkpointed: UInt32,
        previousEnd: UInt32,
        limit: UInt32 = 0,
        after known: UInt32 = 0
    ) throws -> JournalEpoch {
        let last = JournalHeader.epoch(in: page)
        let number = max(last?.epoch ?? 0, published.epoch, known) &+ 1
        let salt = isUnsalted ? 0 : UInt64.random(in: 1 ... .max)
        let record = changes.isEmpty ? [] : try JournalRecord.records(of: changes, epoch: number, salt: salt)
        let (end, isOverflow) = start.addingReportingOverflow(UInt32(clamping: record.count))
        guard !isOverflow else { throw SystemError(call: .write, path: file.path, number: EFBIG) }
        if !record.isEmpty {
            try system.write(record, to: file, at: Int(start))
            // The disk must not have a header that counts on what it has not got. Nothing is known of a disk that has
            // failed; there, only a damaged journal begins an epoch, and is replaced before anything is called safe.
            if !isDistrusted { try synchronizeUnderLock() }
        }
        let epoch = JournalEpoch(
            serial: last?.serial ?? 0,
            epoch: number,
            start: start,
            checkpointed: start,
            firstEnd: end,
            previousEnd: previousEnd,
            previousCheckpointed: checkpointed,
            salt: salt
        )
        page[JournalHeader.limitWord] = UInt64(limit)
        store(epoch)
        try publish(epoch.beginning)
        return epoch
    }
}
