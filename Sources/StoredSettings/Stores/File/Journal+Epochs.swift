// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension Journal {
    /// Begins an epoch whose first record contains all changes that are not in the settings file.
    ///
    /// - Parameters:
    ///   - start: The offset of the first record. It must not overwrite records that the header on the disk refers to.
    ///   - changes: The changes.
    ///   - checkpointed: The end of the previous epoch's records that are in the settings file.
    ///   - previousEnd: The end of the previous epoch, if the file with these changes contains all its records;
    ///     otherwise 0.
    ///   - limit: The offset that records must not exceed until the new header is on the disk.
    ///   - known: The last epoch that the caller knows of, which the header may no longer name.
    /// - Returns: The epoch.
    /// - Throws: ``SystemError`` or ``SettingsError`` if the changes cannot be written. Nothing has changed then.
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
            // The header on the disk must not refer to records that are not on the disk. The state of a disk that has
            // failed is unknown. There, an epoch begins only in a damaged journal, which is replaced before its records
            // count as safe.
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
