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
    /// Whether this process has removed permissions of the file: see ``isExposed``.
    let exposure = Atomic(false)

    /// A file up to this length, in bytes, is not truncated, so that its space is available for the next records.
    static let keptSize = 1 << 16

    private init(_ file: FileHandle, _ status: FileStatus, isWritable: Bool, _ system: SystemCalls) throws {
        self.file = file
        self.isWritable = isWritable
        self.system = system
        identity = status.identity
        page = try SharedPage(file, isWritable: isWritable, system)
        id = page[JournalHeader.idWord]
        lock = JournalLock(page, file, identity, system)
    }

    /// Opens a journal.
    ///
    /// - Returns: The journal; `nil` when there is none, or the file is empty or unfinished.
    /// - Throws: ``SystemError``, or ``SettingsError`` if the file is not a journal that this version of the library
    ///   knows.
    static func open(at path: FilePath, _ system: SystemCalls) throws -> Journal? {
        do {
            return try open(path.name, in: directory(of: path, system))
        } catch let error as SystemError where error.number == Errno.noSuchFileOrDirectory {
            return nil
        }
    }

    private static func open(_ name: FilePath, in directory: SettingsDirectory) throws -> Journal? {
        var isWritable = true
        var file: FileHandle?
        do {
            file = try directory.openSibling(name, OpenFlags.readWrite)
        } catch let error as SystemError
            where error.call == .open
            && [Errno.permissionDenied, Errno.notPermitted, Errno.readOnlyFileSystem].contains(error.number)
        {
            file = try directory.openSibling(name, OpenFlags.readOnly)
            isWritable = false
        }
        guard let file else { return nil }
        return try Journal.opened(file, isWritable: isWritable, directory.system)
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
    /// - Parameters:
    ///   - path: The path of the journal.
    ///   - system: The system calls to use.
    ///   - lock: Locks a file that is not a journal yet, while it is initialized.
    ///   - cut: Called if the file is the remains of a truncated journal.
    /// - Returns: The journal.
    /// - Throws: ``SystemError``, or ``SettingsError`` if another kind of file is at the path.
    static func openOrCreate(
        at path: FilePath,
        _ system: SystemCalls,
        lock: (FileHandle) throws -> Void,
        cut: () -> Void
    ) throws -> Journal {
        let directory = try directory(of: path, system)
        if let journal = try open(path.name, in: directory) {
            guard journal.isWritable else { throw SystemError(call: .open, path: path, number: Errno.permissionDenied) }
            return journal
        }
        let model = try directory.model()
        let file: FileHandle
        // Only a file that this process has created may be given to another user.
        if let new = try directory.createSibling(
            path.name,
            OpenFlags.readWrite,
            like: model?.writableByOwner,
            draftOf: path.name
        ) {
            file = new
        } else {
            guard let old = try directory.openSibling(path.name, OpenFlags.readWrite) else {
                throw SystemError(call: .open, path: path, number: Errno.resourceTemporarilyUnavailable)
            }
            file = old
        }
        try lock(file)
        // From then on, the word in its header is the lock.
        defer { FileLock.release(file, system) }
        // Another process may have been faster.
        if let journal = try Journal.opened(file, isWritable: true, system) { return journal }
        if try isCut(file, system) { cut() }
        let bytes = JournalHeader.bytes(.first())
        // The magic number is last: without it, no process uses the file as a journal.
        try system.write(Array(bytes.dropFirst(8)), to: file, at: 8)
        try system.write(Array(bytes.prefix(8)), to: file)
        guard let journal = try Journal.opened(file, isWritable: true, system) else {
            throw SystemError(call: .write, path: path, number: Errno.ioError)
        }
        return journal
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
        let (magic, version) = (journal.page[JournalHeader.magicWord], journal.page[JournalHeader.versionWord])
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
        JournalPosition(word: page[JournalHeader.positionWord])
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
    var isAlive: Bool { page[JournalHeader.idWord] == id && hasPosition }

    /// Throws if the memory is no longer this journal's although the file is: there was no space to store a change.
    func checkSpace() throws(SystemError) {
        guard !isAlive, id != 0, page.storedWord(at: JournalHeader.idWord) == id else { return }
        throw SystemError(call: .write, path: file.path, number: Errno.noSpace)
    }

    /// Whether the header is longer than its first words: a file that is truncated may still have the journal's number.
    private var hasPosition: Bool {
        page[JournalHeader.positionWord] != 0 || JournalHeader.epoch(in: page) != nil
    }

    /// Whether another journal is in the same file.
    func isSameFile(as other: Journal) -> Bool { identity == other.identity }

    /// Whether the file has to be reopened to see what other processes write: see ``SharedPage/mayBeSuperseded``.
    var isSuperseded: Bool { page.isSuperseded(at: JournalHeader.positionWord) }

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

    /// Locks the journal unless it is held, or its last holder has died.
    ///
    /// - Returns: Whether it is locked.
    /// - Throws: ``SystemError`` if it cannot be locked.
    func acquireLockIfFree() throws(SystemError) -> Bool { try lock.acquireIfFree() }

    /// Locks the journal.
    ///
    /// - Parameter patience: How long to wait for a process that makes no progress.
    /// - Returns: The state in which the lock was found. Every commit recovers the journal, whatever it is.
    /// - Throws: ``SystemError``, or ``SettingsError`` if another process does not release the lock.
    func acquireLock(_ patience: Patience = Patience()) throws -> JournalLock.Finding {
        let slowHolder = { [page] in LockHolder(of: .journal, in: page) }
        let finding = try lock.acquire(patience, slowHolder: slowHolder)
        if finding == .unknown { try publishBegunEpoch() }
        return finding
    }

    /// Whether the journal is still the one at the path.
    enum Place {
        case here
        /// The file is shorter than its records, or was, so that its header lacks the epoch.
        case cut
        /// Another journal is there, or the program has closed the file of this one.
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
        guard let status = try system.status(at: path, followingLinks: false) else { return .elsewhere }
        guard status.identity == identity, status.size >= JournalHeader.size else { return .elsewhere }
        // Another program may have truncated the file. A smaller number only causes another allocation.
        if isLocked, page[JournalHeader.allocatedWord] > UInt64(status.size) {
            page[JournalHeader.allocatedWord] = UInt64(status.size)
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
    var isBeingReplaced: Bool { page[JournalHeader.positionWord] & JournalHeader.replacingBit != 0 }

    /// Makes readers look at the path until the journal is replaced or has another position.
    func beginReplacing() {
        page[JournalHeader.positionWord] |= JournalHeader.replacingBit
        page.didPublish()
    }

    /// Whether the journal that replaced this one contains its records.
    package var isRetired: Bool { page[JournalHeader.retiredWord] != 0 }

    /// Informs all processes that use this journal that another one has replaced it and contains its records.
    func retire() throws(SystemError) {
        page[JournalHeader.retiredWord] = 1
        var position = published
        position.epoch = JournalPosition.epoch(after: position.epoch)
        try publish(position)
    }
}
