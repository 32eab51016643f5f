// SPDX-License-Identifier: Apache-2.0

import Synchronization

// What a process writes into a journal while it holds the journal's lock.

// MARK: - Records

extension Journal {
    /// The longest record that is copied into shared memory, in bytes.
    private static let longestCopy = 1 << 14

    /// Appends a record and publishes it.
    ///
    /// - Returns: The journal's position after the record.
    func append(_ record: [UInt8], after position: JournalPosition) throws -> JournalPosition {
        let (end, isOverflow) = position.end.addingReportingOverflow(UInt32(clamping: record.count))
        guard !isOverflow else { throw SystemError(call: .write, path: file.path, number: Errno.fileTooLarge) }
        try keepLimit(for: end)
        try system.write(record, to: file, at: Int(position.end))
        let position = JournalPosition(epoch: position.epoch, end: end)
        try publish(position)
        return position
    }

    /// Appends a short record and publishes it, if possible without a system call.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - position: The position of the journal.
    ///   - space: The mapping of the journal.
    /// - Returns: The journal's position after the record; `nil` when the file has been truncated.
    /// - Throws: ``SystemError`` if the record cannot be written.
    func append(
        _ record: UnsafeRawBufferPointer,
        after position: JournalPosition,
        in space: inout RecordSpace.Mapping
    ) throws -> JournalPosition? {
        let (end, isOverflow) = position.end.addingReportingOverflow(UInt32(clamping: record.count))
        // A long record is written, so that a disk without space for it fails before a part of it is copied.
        guard record.count <= Self.longestCopy else { return try append(Array(record), after: position) }
        try keepLimit(for: end)
        if case .unknown = space {
            do {
                space = .mapped(try RecordSpace(file, page, system))
            } catch  where error.call == .map {
                // There may be no address space for the mapping.
                return try append(Array(record), after: position)
            }
        }
        guard !isOverflow, case .mapped(let mapping) = space else { return try append(Array(record), after: position) }
        switch try mapping.copy(record, to: Int(position.end)) {
        case .done:
            break
        case .noSpace:
            return try append(Array(record), after: position)
        case .lost:
            // The mapping shows private memory now.
            space = .unknown
            return nil
        }
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
        try checkSpace()
        guard isAlive else { throw SystemError(call: .write, path: file.path, number: Errno.ioError) }
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
        let failure = SystemError(call: .sync, path: file.path, number: Errno.ioError)
        guard !isDistrusted else { throw failure }
        do {
            try page.flush()
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

// MARK: - Epochs

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
        let number = JournalPosition.epoch(after: newest(of: [published.epoch, last?.epoch, known]))
        let salt = UInt64.random(in: 1 ... .max)
        let record = changes.isEmpty ? [] : try JournalRecord.records(of: changes, epoch: number, salt: salt)
        let (end, isOverflow) = start.addingReportingOverflow(UInt32(clamping: record.count))
        guard !isOverflow else { throw SystemError(call: .write, path: file.path, number: Errno.fileTooLarge) }
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

extension Journal {
    /// The newest of some epochs; 0 and `nil` are none, and a reader of a damaged header may have noted 0.
    private func newest(of epochs: [UInt32?]) -> UInt32 {
        epochs.compactMap { $0.map { JournalPosition(epoch: $0, end: 0) } }
            .reduce(JournalPosition(epoch: 0, end: 0)) { $1.isAfter($0) ? $1 : $0 }
            .epoch
    }
}

// MARK: - Clearing

// A value that was removed or replaced must not remain in the journal after the next checkpoint.

extension Journal {
    /// The number of bytes to write at once.
    private static let clearedLength = 1 << 16

    /// Overwrites space that contains no record in use.
    ///
    /// The header on the disk must not refer to this space either.
    ///
    /// - Parameters:
    ///   - start: The start of the space.
    ///   - end: The end of the space. The file does not become longer.
    /// - Throws: ``SystemError`` if part of the space may not be overwritten.
    func clear(from start: UInt32, to end: UInt32) throws(SystemError) {
        let end = try min(Int(end), system.status(of: file).size)
        var offset = Int(start)
        while offset < end {
            let length = min(end - offset, Self.clearedLength)
            try system.write([UInt8](repeating: 0, count: length), to: file, at: offset)
            offset += length
        }
    }

    /// Clears the space after the last record.
    ///
    /// The header on the disk must not refer to that space.
    ///
    /// A small amount of space remains allocated, so that the next records do not change the length of the file.
    func clear(behind end: UInt32) throws(SystemError) {
        let size = try system.status(of: file).size
        if size - Int(end) > Self.keptSize {
            // First, so that no process copies a record to space that no longer exists.
            if page[JournalHeader.allocatedWord] > UInt64(end) { page[JournalHeader.allocatedWord] = UInt64(end) }
            try system.truncate(file, to: Int(end))
        } else {
            // Reading is cheaper than writing, and usually the space is clear. The partial record of a process that
            // failed or was killed is after the end, too.
            let rest = try system.contents(of: file, in: Int(end)..<max(size, Int(end)))
            if rest.contains(where: { $0 != 0 }) { try clear(from: end, to: UInt32(clamping: size)) }
        }
    }

    /// Removes permissions that the settings file does not have from the journal.
    ///
    /// Only an empty journal receives further permissions: the values in any other were set when fewer users could read
    /// them.
    ///
    /// - Parameter model: The settings file.
    /// - Returns: Whether the journal retains such permissions, because it belongs to another user.
    /// - Throws: ``SystemError`` if the removal fails although this user may change the permissions.
    @discardableResult
    func narrowPermissions(to model: FileStatus) throws(SystemError) -> Bool {
        switch try system.narrowPermissions(of: file, to: model) {
        case .none:
            return false
        case .done:
            noteExposure()
            return false
        case .refused:
            return true
        }
    }

    /// Gives the empty journal the owner and the permissions of the settings file.
    ///
    /// - Parameter model: The settings file.
    /// - Throws: ``SystemError`` if the change fails although this user may make it.
    func copyPermissions(of model: FileStatus) throws(SystemError) {
        let old = try system.status(of: file)
        do {
            try system.copyPermissions(of: model.writableByOwner, to: file)
            if try old.allowsMore(than: system.status(of: file)) { noteExposure() }
        } catch {
            // The owner of the journal does so with their next checkpoint.
            guard error.number == Errno.notPermitted else { throw error }
        }
    }

    /// Whether users that have lost access to the settings file may still have the journal open.
    ///
    /// A new file has to receive the next record.
    var isExposed: Bool { exposure.load(ordering: .relaxed) || page[JournalHeader.exposedWord] != 0 }

    /// Notes that users that have lost access to the settings file may have the journal open.
    func noteExposure() {
        // Such a user may also change the word.
        exposure.store(true, ordering: .relaxed)
        guard isWritable else { return }
        page[JournalHeader.exposedWord] = 1
        page.didPublish()
    }
}
