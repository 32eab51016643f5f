// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "A commit appends to a journal".

import Synchronization

/// An open journal: the changes that are not in the settings file yet, and a page that shows all processes its
/// position.
///
/// A process that appends a record or changes the header holds the journal's lock. Reading needs no lock: within an
/// epoch, the bytes before the published end do not change. Checksums reveal a record that a new epoch has overwritten.
package final class Journal: Sendable {
    package let file: FileHandle
    package let page: SharedPage
    let isWritable: Bool
    let system: SystemCalls
    /// Identifies the journal.
    ///
    /// A new journal has another ID, even in the same file.
    let id: UInt64
    /// The lock with which writers take turns.
    package let lock: JournalLock
    private let identity: FileIdentity
    private let forks = Forks.count
    /// Identifies this object among those that ask for notifications.
    let watcherID = UInt64.random(in: 1..<(.max))
    /// Whether this process has removed permissions of the file: see ``isReadableByOthers``.
    let exposure = Atomic(false)

    /// A file up to this length, in bytes, is not truncated, so that its space is available for the next records.
    static let keptSize = 1 << 16

    private init(_ file: FileHandle, _ status: FileStatus, isWritable: Bool, _ system: SystemCalls) throws {
        self.file = file
        self.isWritable = isWritable
        self.system = system
        identity = status.identity
        page = try SharedPage(file, isWritable: isWritable, system)
        id = page[.id]
        lock = JournalLock(page, file, system)
    }

    /// Opens a journal.
    ///
    /// - Returns: The journal; `nil` when there is none, or the file is empty or unfinished.
    /// - Throws: ``SystemError``, or ``SettingsError`` if the file is not a journal that this version of the library
    ///   knows.
    static func open(at path: FilePath, _ system: SystemCalls) throws -> Journal? {
        do {
            return try open(path.name, in: directory(of: path, system))?.journal
        } catch let error as SystemError where error.number == Errno.noSuchFileOrDirectory {
            return nil
        }
    }

    /// - Returns: The journal, and the error that prevents this process from writing it.
    private static func open(
        _ name: FilePath,
        in directory: SettingsDirectory
    ) throws -> (journal: Journal, refusal: SystemError?)? {
        var refusal: SystemError?
        var file: FileHandle?
        do {
            file = try directory.openSibling(name, OpenFlags.readWrite)
        } catch let error as SystemError
            where error.call == .open
            && [Errno.permissionDenied, Errno.notPermitted, Errno.readOnlyFileSystem].contains(error.number)
        {
            file = try directory.openSibling(name, OpenFlags.readOnly)
            refusal = error
        }
        guard let file else { return nil }
        return try Journal.opened(file, isWritable: refusal == nil, directory.system).map { ($0, refusal) }
    }

    /// The directory of the settings file whose journal is at a path.
    static func directory(of path: FilePath, _ system: SystemCalls) throws -> SettingsDirectory {
        do {
            return try SettingsDirectory(of: path.removing(SettingsFile.journalSuffix) ?? path, system)
        } catch {
            // A link that is not followed is named by its own path.
            throw SystemError(call: error.call, path: error.call == .open ? path : error.path, number: error.number)
        }
    }

    /// Opens a journal, or creates one if there is none.
    ///
    /// - Returns: The journal, and whether it takes the place of a truncated one.
    /// - Throws: ``SystemError``, or ``SettingsError`` if another kind of file is at the path.
    static func openOrCreate(at path: FilePath, _ system: SystemCalls) throws -> (journal: Journal, isCut: Bool) {
        let directory = try directory(of: path, system)
        if let (journal, refusal) = try open(path.name, in: directory) {
            if let refusal { throw refusal }
            return (journal, false)
        }
        let model = try directory.model()
        // Only a file that this process has created may be given to another user.
        let new = try directory.createSibling(
            path.name,
            OpenFlags.readWrite,
            like: model?.writableByOwner,
            draftOf: path.name
        )
        guard let file = try new ?? directory.openSibling(path.name, OpenFlags.readWrite) else {
            throw SystemError(call: .open, path: path, number: Errno.resourceTemporarilyUnavailable)
        }
        try FileLock.wait(for: path) { try system.tryLock(file) }
        // Once it is initialized, the word in its header is the lock.
        defer { system.unlock(file) }
        // Another process may have been faster.
        if let journal = try Journal.opened(file, isWritable: true, system) { return (journal, false) }
        let isCut = try isCut(file, system)
        let bytes = JournalHeader.bytes(of: JournalHeader.words(.first()))
        // The magic number is last: without it, no process uses the file as a journal.
        try system.write(Array(bytes.dropFirst(8)), to: file, at: 8)
        try system.write(Array(bytes.prefix(8)), to: file)
        guard let journal = try Journal.opened(file, isWritable: true, system) else {
            throw SystemError(call: .write, path: path, number: Errno.ioError)
        }
        return (journal, isCut)
    }

    /// Whether a file that is too short for a journal is a truncated one; otherwise, it was never finished.
    ///
    /// - Throws: ``SettingsError`` if it is neither, so that it must not be overwritten.
    package static func isCut(_ file: FileHandle, _ system: SystemCalls) throws -> Bool {
        let header = try system.contents(of: file, in: 0..<JournalHeader.size)
        // The magic number is written last, so a file that begins with it was a journal.
        if header.starts(with: JournalHeader.magicBytes) { return true }
        guard JournalHeader.mayBeUnfinished(header) else { throw SettingsError.notAJournal(file.path) }
        return false
    }

    package static func opened(_ file: FileHandle, isWritable: Bool, _ system: SystemCalls) throws -> Journal? {
        let status = try system.status(of: file)
        guard status.isRegular else {
            throw SystemError(
                call: .open,
                path: file.path,
                number: status.isDirectory ? Errno.isDirectory : Errno.invalidArgument
            )
        }
        guard status.size >= JournalHeader.size else { return nil }
        let journal = try Journal(file, status, isWritable: isWritable, system)
        let (magic, version) = (journal.page[.magic], journal.page[.version])
        guard !JournalHeader.isUnfinished(magic, length: status.size) else { return nil }
        guard magic == JournalHeader.magic else { throw SettingsError.notAJournal(file.path) }
        // Other words of a newer format may mean anything.
        guard version <= JournalHeader.version else { throw SettingsError.otherFormat(file.path, version) }
        // No journal has version 0: the file was truncated, and then a process that had it open wrote after the end.
        guard version != 0 || journal.id != 0 else { return nil }
        // Without a position and facts there is no record that can be read.
        guard journal.hasPosition else { return nil }
        guard version == JournalHeader.version else { throw SettingsError.otherFormat(file.path, version) }
        return journal
    }
}

// MARK: - State

extension Journal {
    /// The position that was published last.
    var published: JournalPosition {
        JournalPosition(word: page[.position])
    }

    /// The epoch and the position; `nil` when they are inconsistent, because another process is changing them or the
    /// header is damaged.
    package var current: (epoch: JournalEpoch, position: JournalPosition)? {
        guard let epoch = JournalHeader.epoch(in: page) else { return nil }
        let published = published
        if published.epoch == epoch.epoch, published.end >= epoch.start { return (epoch, published) }
        // The process that began the epoch has not published that yet, or died before it did.
        if JournalPosition.epoch(after: published.epoch) == epoch.epoch, published.end == epoch.previousEnd {
            return (epoch, epoch.beginning)
        }
        return nil
    }

    /// Whether the memory is still this journal's: another process may have truncated the file, and begun another journal
    /// in it.
    var isAlive: Bool { page[.id] == id && hasPosition }

    /// Throws if the memory is no longer this journal's although the file is: there was no space to store a change.
    func checkSpace() throws(SystemError) {
        guard !isAlive, id != 0, page.storedWord(at: .id) == id else { return }
        throw SystemError(call: .write, path: file.path, number: Errno.noSpace)
    }

    /// Whether the header is longer than its first words: a file that is truncated may still have the journal's number.
    private var hasPosition: Bool {
        page[.position] != 0 || JournalHeader.epoch(in: page) != nil
    }

    /// Whether another journal is in the same file.
    func isSameFile(as other: Journal) -> Bool { identity == other.identity }

    /// Whether the file has to be reopened to see what other processes write: see ``SharedPage/mayBeSuperseded``.
    var isSuperseded: Bool { page.isSuperseded(at: .position) }

    /// Whether the journal was opened by a process that this one was forked from.
    var isInherited: Bool { forks != Forks.count }

    /// Publishes an epoch that a process has begun before it died.
    ///
    /// A single set does not recover the journal, so the lock must not be released before.
    private func publishBegunEpoch() throws {
        guard let (_, position) = current, published != position else { return }
        do {
            try publish(position)
        } catch {
            unlock()
            throw error
        }
    }

    /// Releases the journal's lock.
    func unlock() {
        // If the body of a commit has forked, and this is the child, the lock belongs to the parent.
        guard !isInherited else { return }
        lock.release()
    }

    /// Locks the journal.
    ///
    /// - Parameter timeout: How long to wait for a process that makes no progress.
    /// - Returns: Whether the last holder may have died. Every commit recovers the journal, whether it has or not.
    /// - Throws: ``SystemError``, or ``SettingsError`` if another process does not release the lock.
    @discardableResult
    func acquireLock(_ timeout: LockTimeouts = LockTimeouts()) throws -> Bool {
        let isTakenOver = try lock.acquire(timeout)
        if isTakenOver { try publishBegunEpoch() }
        return isTakenOver
    }

    /// Whether the journal is still the one at the path.
    enum Place {
        case here
        /// The file is shorter than its records, or was, so that its header lacks the epoch.
        case cut
        /// Another journal is there, the program has closed the file of this one, or it has another name, so that processes
        /// that begin now refuse it.
        case elsewhere
    }

    /// Finds out whether the journal is at a path.
    ///
    /// Only the process that has locked the journal can distinguish ``Place/cut`` from ``Place/here``: another one may be
    /// writing the header.
    ///
    /// - Parameters:
    ///   - path: The path where the journal should be.
    ///   - isLocked: Whether the caller has locked the journal.
    /// - Returns: Its place.
    /// - Throws: ``SystemError`` if the path cannot be examined.
    func place(at path: FilePath, isLocked: Bool = false) throws(SystemError) -> Place {
        guard !isInherited, isAlive, file.isOpen else { return .elsewhere }
        guard let status = try system.linkStatus(at: path) else { return .elsewhere }
        guard status.identity == identity, status.linkCount <= 1, status.size >= JournalHeader.size else {
            return .elsewhere
        }
        // Another program may have truncated the file, or it is a copy, or has lost its end with the power. A smaller number only
        // causes another allocation.
        if isLocked, page[.allocated] > UInt64(status.size) {
            page[.allocated] = UInt64(status.size)
        }
        // A process may have extended the file again, with a record that it was about to append.
        return status.size < Int(published.end) || current == nil ? .cut : .here
    }

    /// Whether a directory contains the file of the journal, wherever that is.
    var isInDirectory: Bool {
        do {
            return try system.status(of: file).linkCount > 0
        } catch {
            // Then it counts as removed.
            return false
        }
    }

    /// Whether another journal may have replaced this one already, with all its records.
    ///
    /// This remains `true` if the process that replaces the journal dies before it has finished. Readers then look at
    /// the path at every read until the next commit, whichever journal is there.
    var isBeingReplaced: Bool { page[.position] & JournalHeader.replacingBit != 0 }

    /// Makes readers look at the path until the journal is replaced or has another position.
    func beginReplacing() {
        page[.position] |= JournalHeader.replacingBit
        page.didPublish()
    }

    /// Whether the journal that replaced this one contains its records.
    package var isRetired: Bool { page[.retired] != 0 }

    /// Informs all processes that use this journal that another one has replaced it and contains its records.
    func retire() throws(SystemError) {
        page[.retired] = 1
        var position = published
        position.epoch = JournalPosition.epoch(after: position.epoch)
        try publish(position)
    }
}

// MARK: - Appending records

// What a process writes into a journal while it holds the journal's lock.

extension Journal {
    /// The longest record that is copied into shared memory, in bytes.
    private static let longestCopy = 1 << 14

    /// Appends a record and publishes it.
    ///
    /// - Returns: The journal's position after the record.
    func append(_ record: [UInt8], after position: JournalPosition) throws(SystemError) -> JournalPosition {
        let end = try end(of: record.count, from: position.end)
        try keepLimit(for: end)
        try system.write(record, to: file, at: Int(position.end))
        let position = JournalPosition(epoch: position.epoch, end: end)
        try publish(position)
        return position
    }

    /// Appends a record and publishes it, if possible without a system call.
    ///
    /// - Returns: The journal's position after the record; `nil` when the file has been truncated, or has to be opened again.
    /// - Throws: ``SystemError`` if the record cannot be written.
    func append(
        _ record: UnsafeRawBufferPointer,
        after position: JournalPosition,
        in space: inout RecordSpace?
    ) throws(SystemError) -> JournalPosition? {
        let end = try end(of: record.count, from: position.end)
        // A long record is written, so that a disk without space for it fails before a part of it is copied.
        guard record.count <= Self.longestCopy else {
            return file.isOpen ? try append(Array(record), after: position) : nil
        }
        try keepLimit(for: end)
        if space == nil {
            do {
                space = try RecordSpace(file, page, system)
            } catch {
                // There may be no address space for the mapping.
            }
        }
        switch try space?.copy(record, to: Int(position.end)) ?? .noSpace {
        case .done:
            break
        case .noSpace:
            return file.isOpen ? try append(Array(record), after: position) : nil
        case .lost:
            // The mapping shows private memory now.
            space = nil
            return nil
        }
        let position = JournalPosition(epoch: position.epoch, end: end)
        try publish(position)
        return position
    }

    /// The end of a record of some length.
    ///
    /// - Throws: ``SystemError`` if the file would become too long.
    func end(of length: Int, from start: UInt32) throws(SystemError) -> UInt32 {
        let (end, isOverflow) = start.addingReportingOverflow(UInt32(clamping: length))
        guard !isOverflow else {
            throw SystemError(call: .write, path: file.path, number: Errno.fileTooLarge)
        }
        return end
    }

    /// Writes the header to the disk before a record overwrites space that the header on the disk refers to.
    private func keepLimit(for end: UInt32) throws(SystemError) {
        let limit = page[.limit]
        guard limit != 0, UInt64(end) > limit else { return }
        try synchronizeUnderLock()
        page[.limit] = 0
    }

    /// Shows all processes the journal's position.
    func publish(_ position: JournalPosition) throws(SystemError) {
        page[.position] = position.word
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
        guard !isUnreliable else { throw failure }
        do {
            try page.flush()
            try system.synchronizeContents(of: file)
        } catch {
            markUnreliable()
            throw error
        }
        // Another process may have received the error instead.
        guard !isUnreliable else { throw failure }
    }

    /// Whether the disk has failed to write part of the journal, or its name.
    var isUnreliable: Bool { page[.unreliable] != 0 }

    /// Makes every process replace the journal before it reports that the journal is on the disk.
    func markUnreliable() {
        // A process that cannot write to the journal cannot replace it either.
        guard isWritable else { return }
        page[.unreliable] = 1
        page.didPublish()
    }
}

// MARK: - Notifications

// How a process notices the records of other processes without reading.
//
// The system reports a write to the journal to the processes that watch its directory, but not a record that is copied
// into shared memory. So a process that watches sets a word of the header, and the process that appends the next record
// writes to the file as well. A process that may not set the word looks at the journal periodically.

extension Journal {
    /// Asks the processes that append records to notify this one of the next record.
    ///
    /// A record that was published before is visible after this call.
    func requestNotification() {
        guard isWritable else { return }
        page.add(watcherID, to: .watched)
    }

    /// Notifies the processes that have asked for it that a record was appended.
    ///
    /// This process needs no notification of its own records.
    func notifyWatchers() {
        // The record was published before the word is read.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let watcher = page[.watched]
        guard watcher != 0, watcher != watcherID else { return }
        page[.watched] = 0
        do {
            try system.write([1, 0, 0, 0, 0, 0, 0, 0], to: file, at: JournalHeader.Word.notification.rawValue * 8)
        } catch {
            // The record is appended. The next one is notified again.
            page.add(watcher, to: .watched)
        }
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
        // 0 is before all epochs: a reader of a damaged header may have noted it.
        let known = [published.epoch, last?.epoch ?? 0, known].map { JournalPosition(epoch: $0, end: 0) }
        let newest = known.reduce(JournalPosition(epoch: 0, end: 0)) { $1.isAfter($0) ? $1 : $0 }
        let number = JournalPosition.epoch(after: newest.epoch)
        let salt = UInt64.random(in: 1 ... .max)
        let record = changes.isEmpty ? [] : try JournalRecord.bytesOfRecords(of: changes, epoch: number, salt: salt)
        let end = try end(of: record.count, from: start)
        if !record.isEmpty {
            try system.write(record, to: file, at: Int(start))
            // The header on the disk must not refer to records that are not on the disk. The state of a disk that has
            // failed is unknown. There, an epoch begins only in a damaged journal, which is replaced before its records
            // count as safe.
            if !isUnreliable { try synchronizeUnderLock() }
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
        page[.limit] = UInt64(limit)
        store(epoch)
        try publish(epoch.beginning)
        return epoch
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
            if page[.allocated] > UInt64(end) {
                page[.allocated] = UInt64(end)
            }
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
    /// - Returns: Whether the journal retains such permissions, because it does not belong to the owner of the settings file, or not to
    ///   this user.
    /// - Throws: ``SystemError`` if the removal fails although this user may change the permissions.
    @discardableResult
    func narrowPermissions(to model: FileStatus) throws(SystemError) -> Bool {
        let status = try system.status(of: file)
        // The owner of the settings file may have access to the journal of another user by the group alone.
        if status.owner != model.owner { return status.narrowed(to: model).permissions != status.permissions }
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
            let wasListed = try system.copyPermissions(of: model.writableByOwner, to: file)
            let new = try system.status(of: file)
            if wasListed || old.allowsMore(than: new) { noteExposure() }
        } catch {
            // The owner of the journal does so with their next checkpoint.
            guard error.number == Errno.notPermitted else { throw error }
        }
    }

    /// Whether users that have lost access to the settings file may still have the journal open.
    ///
    /// A new file has to receive the next record.
    var isReadableByOthers: Bool {
        exposure.load(ordering: .relaxed) || page[.readableByOthers] != 0
    }

    /// Notes that users that have lost access to the settings file may have the journal open.
    func noteExposure() {
        // Such a user may also change the word.
        exposure.store(true, ordering: .relaxed)
        guard isWritable else { return }
        page[.readableByOthers] = 1
        page.didPublish()
    }
}

// MARK: - Reading records

// This needs no lock.

extension Journal {
    /// The result of reading records.
    package struct Reading {
        package var records: [JournalRecord]
        /// The end of the last valid record.
        var end: UInt32
        /// Whether the records end where they should.
        package var isWhole: Bool
    }

    /// Reads the records between two offsets.
    ///
    /// - Parameters:
    ///   - start: The start of the first record.
    ///   - end: The end of the last record; `nil` to read as many as there are.
    ///   - epoch: The epoch of the records.
    ///   - salt: The salt of the epoch.
    ///   - isOmittingReplaced: Whether a record may be omitted if the next one sets the same key.
    /// - Returns: The valid records before the first invalid one.
    /// - Throws: ``SystemError`` if they cannot be read.
    package func validRecords(
        from start: UInt32,
        to end: UInt32?,
        epoch: UInt32,
        salt: UInt64,
        omittingReplaced isOmittingReplaced: Bool = false
    ) throws(SystemError) -> Reading {
        let size = try min(system.status(of: file).size, Int(end ?? .max))
        var reading = Reading(records: [], end: start, isWhole: false)
        // In parts, because a damaged journal may claim to be much longer than it is.
        var length = Self.partLength
        while Int(reading.end) < size {
            let part = Int(reading.end)..<min(Int(reading.end) + length, size)
            let bytes = try system.contents(of: file, in: part)
            let wholeLength = bytes.withUnsafeBytes { bytes in
                var following = ValidRecord(bytes, at: 0, epoch: epoch, salt: salt)
                var hasOmitted = false
                while let text = following {
                    following = ValidRecord(bytes, at: text.end, epoch: epoch, salt: salt)
                    if isOmittingReplaced, let following, text.isReplaced(by: following) {
                        hasOmitted = true
                        continue
                    }
                    guard var record = text.record else { break }
                    record.end += part.lowerBound
                    (record.hasOmitted, hasOmitted) = (hasOmitted, false)
                    reading.end = UInt32(record.end)
                    reading.records.append(record)
                }
                return JournalRecord.length(ofCut: bytes, epoch: epoch)
            }
            if Int(reading.end) > part.lowerBound {
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
    /// - Parameter known: The epoch as it was before the file was read.
    /// - Returns: `nil` when another epoch has begun since, or the records are invalid.
    /// - Throws: ``SystemError`` if they cannot be read.
    func replay(from known: JournalEpoch) throws(SystemError) -> Replay? {
        let word = published.word
        guard let (epoch, position) = current, epoch.epoch == known.epoch, position.end >= known.checkpointed
        else {
            return nil
        }
        let reading = try validRecords(from: known.checkpointed, to: position.end, epoch: epoch.epoch, salt: epoch.salt)
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
        let epochs = JournalHeader.epochs(in: page)
        let newest = epochs.first { $0.epoch == published.epoch } ?? epochs.first
        let salt = newest?.salt ?? 0
        var reading = try validRecords(from: UInt32(JournalHeader.size), to: nil, epoch: published.epoch, salt: salt)
        if let epoch = newest, reading.records.isEmpty || epoch.epoch == published.epoch {
            var end: UInt32?
            if epoch.epoch == published.epoch, published.end >= epoch.checkpointed {
                end = try min(published.end, UInt32(clamping: system.status(of: file).size))
            }
            reading = try validRecords(from: epoch.checkpointed, to: end, epoch: epoch.epoch, salt: salt)
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
}
