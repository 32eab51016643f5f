// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension Journal {
    /// The result of reading records.
    struct Reading {
        var records: [JournalRecord]
        /// The end of the last valid record.
        var end: UInt32
        /// Whether the records end where they should.
        var isWhole: Bool
    }

    /// Reads the records between two offsets.
    ///
    /// - Parameters:
    ///   - start: The start of the first record.
    ///   - end: The end of the last record; `nil` to read as many as there are.
    ///   - epoch: The epoch of the records.
    ///   - salt: The salt of the epoch.
    /// - Returns: The valid records before the first invalid one.
    /// - Throws: ``SystemError`` if they cannot be read.
    func records(from start: UInt32, to end: UInt32?, epoch: UInt32, salt: UInt64) throws(SystemError) -> Reading {
        let size = try min(system.status(of: file).size, Int(end ?? .max))
        var reading = Reading(records: [], end: start, isWhole: false)
        // In parts, because a damaged journal may claim to be much longer than it is.
        var length = Self.partLength
        while Int(reading.end) < size {
            let part = Int(reading.end)..<min(Int(reading.end) + length, size)
            let bytes = try system.contents(of: file, in: part)
            let count = reading.records.count
            let wholeLength = bytes.withUnsafeBytes { bytes in
                takeRecords(in: bytes, from: part.lowerBound, epoch: epoch, salt: salt, &reading)
                return JournalRecord.length(ofCut: bytes, epoch: epoch)
            }
            if reading.records.count > count {
                length = Self.partLength
            } else {
                // A record may be longer than a part, and states so. Anything else ends the search.
                guard let wholeLength, part.lowerBound + wholeLength <= size else { break }
                length = wholeLength
            }
        }
        reading.isWhole = end.map { $0 == reading.end } ?? true
        return reading
    }

    /// The number of bytes to read at once.
    private static let partLength = 1 << 16

    private func takeRecords(
        in bytes: UnsafeRawBufferPointer,
        from start: Int,
        epoch: UInt32,
        salt: UInt64,
        _ reading: inout Reading
    ) {
        var offset = 0
        while offset < bytes.count, var record = JournalRecord.read(bytes, at: offset, epoch: epoch, salt: salt) {
            offset = record.end
            record.end += start
            reading.records.append(record)
        }
        reading.end += UInt32(offset)
    }

    /// The records that are not in the file, and the journal's position after them.
    struct Replay {
        var records: [JournalRecord]
        var position: JournalPosition
        /// The salt of the epoch.
        var salt: UInt64
        /// The published word.
        var word: UInt64
        var isWhole: Bool
    }

    /// Reads the records that are not in the file.
    ///
    /// - Parameter facts: The epoch as it was before the file was read.
    /// - Returns: `nil` when another epoch has begun since, or the records are invalid.
    /// - Throws: ``SystemError`` if they cannot be read.
    func replay(from facts: JournalEpoch) throws(SystemError) -> Replay? {
        let word = published.word
        guard let (epoch, position) = current, epoch.epoch == facts.epoch, position.end >= facts.checkpointed else {
            return nil
        }
        let reading = try records(from: facts.checkpointed, to: position.end, epoch: epoch.epoch, salt: epoch.salt)
        guard reading.isWhole else { return nil }
        return Replay(
            records: reading.records,
            position: position,
            salt: epoch.salt,
            word: word,
            isWhole: true
        )
    }

    /// Reads the valid records of a damaged journal.
    func salvage() throws(SystemError) -> Replay {
        let published = published
        // The epoch in the header may be lost, or the word with the journal's position.
        let facts = JournalHeader.epochs(in: page)
        let newest = facts.first { $0.epoch == published.epoch } ?? facts.first
        let salt = newest?.salt ?? 0
        var reading = try records(from: UInt32(JournalHeader.size), to: nil, epoch: published.epoch, salt: salt)
        if let epoch = newest, reading.records.isEmpty || epoch.epoch == published.epoch {
            var end: UInt32?
            if epoch.epoch == published.epoch, published.end >= epoch.checkpointed {
                end = try min(published.end, UInt32(clamping: system.status(of: file).size))
            }
            reading = try records(from: epoch.checkpointed, to: end, epoch: epoch.epoch, salt: salt)
        }
        let position = JournalPosition(epoch: published.epoch, end: reading.end)
        return Replay(
            records: reading.records,
            position: position,
            salt: salt,
            word: published.word,
            isWhole: false
        )
    }

    /// Appends a record and publishes it.
    ///
    /// - Returns: The journal's position after the record.
    func append(_ record: [UInt8], after position: JournalPosition) throws -> JournalPosition {
        let (end, isOverflow) = position.end.addingReportingOverflow(UInt32(clamping: record.count))
        guard !isOverflow else { throw SystemError(call: .write, path: file.path, number: EFBIG) }
        try keepLimit(for: end)
        try system.write(record, to: file, at: Int(position.end))
        let position = JournalPosition(epoch: position.epoch, end: end)
        try publish(position)
        return position
    }

    /// Writes the header to the disk before a record overwrites space that the header on the disk refers to.
    private func keepLimit(for end: UInt32) throws(SystemError) {
        let limit = page[JournalHeader.limitWord]
        guard limit != 0, UInt64(end) > limit else { return }
        try synchronizeUnderLock()
        page[JournalHeader.limitWord] = 0
    }

    /// Shows all processes the journal's position.
    func publish(_ position: JournalPosition) throws(SystemError) {
        page[JournalHeader.positionWord] = position.word
        page.didPublish()
        // If the page could not be written to, it has been replaced by a private one.
        guard isAlive else { throw SystemError(call: .write, path: file.path, number: EIO) }
    }

    /// Stores the epoch in the header, with the next serial number.
    func store(_ epoch: JournalEpoch) {
        var epoch = epoch
        epoch.serial &+= 1
        JournalHeader.store(epoch, in: page)
    }

    /// Synchronizes the journal while the caller holds its lock.
    ///
    /// Waiting processes see that this one is only slow.
    func synchronizeUnderLock() throws(SystemError) {
        LockHolder.current?.store(as: .journal, in: page)
        defer { LockHolder.remove(as: .journal, from: page) }
        try synchronize()
    }

    /// Waits until the journal survives a power loss.
    ///
    /// - Throws: ``SystemError``. After a failure, every process throws until the journal is replaced: the system
    ///   reports a failed write once, and considers the data written afterwards.
    func synchronize() throws(SystemError) {
        let failure = SystemError(call: .sync, path: file.path, number: EIO)
        guard !isDistrusted else { throw failure }
        do {
            try system.synchronizeContents(of: file)
        } catch {
            distrust()
            throw error
        }
        // Another process may have received the error instead.
        guard !isDistrusted else { throw failure }
    }

    /// Whether the disk has failed to write part of the journal, or its name.
    var isDistrusted: Bool { page[JournalHeader.distrustedWord] != 0 }

    /// Makes every process replace the journal before it reports that the journal is on the disk.
    func distrust() {
        // A process that cannot write to the journal cannot replace it either.
        guard isWritable else { return }
        page[JournalHeader.distrustedWord] = 1
        page.didPublish()
    }
}
