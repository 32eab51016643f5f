// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A journal that is open: the changes that are not in the settings file yet, and the page that tells every process how
/// far it has come.
///
/// Whoever appends, or changes the header, holds the journal's lock. Reading needs none: what is before the published
/// end does not change within an epoch, and what an epoch writes over is known by its checksums.
final class Journal: Sendable {
    let file: FileHandle
    let page: SharedPage
    let isWritable: Bool
    let system: SystemCalls
    /// Which journal it is: it has another number when it is begun anew, be it in the same file.
    let id: UInt64
    /// Which file it is, on which device.
    private let identity: (device: UInt64, inode: UInt64)
    private let forks = Forks.count

    /// The space of a file that is not longer than this, in bytes, is kept for the next records.
    static let keptSize = 1 << 16

    private init(_ file: FileHandle, _ status: FileStatus, isWritable: Bool, _ system: SystemCalls) throws {
        self.file = file
        self.isWritable = isWritable
        self.system = system
        identity = (status.device, status.inode)
        page = try SharedPage(file, isWritable: isWritable, system)
        id = page[JournalHeader.idWord]
    }

    /// Opens a journal.
    ///
    /// - Returns: The journal; `nil` when there is none, or one that nobody has begun yet.
    /// - Throws: ``SystemError``, or ``SettingsError`` when it is no journal that this version of the library knows.
    static func open(at path: FilePath, _ system: SystemCalls) throws -> Journal? {
        do {
            return try open(path.name, in: directory(of: path, system))
        } catch let error as SystemError where error.number == ENOENT {
            return nil
        }
    }

    private static func open(_ name: FilePath, in directory: SettingsDirectory) throws -> Journal? {
        var isWritable = true
        var file: FileHandle?
        do {
            file = try directory.openSibling(name, O_RDWR)
        } catch let error as SystemError where error.call == .open && [EACCES, EPERM, EROFS].contains(error.number) {
            file = try directory.openSibling(name, O_RDONLY)
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
            throw SystemError(call: error.call, path: path, number: error.number)
        }
    }

    /// Opens a journal, and makes one where there is none.
    ///
    /// - Parameters:
    ///   - path: Where it is.
    ///   - model: Whose owner and permissions it gets if it is made.
    ///   - system: Makes the calls.
    ///   - lock: Locks a file that is not a journal yet, while it becomes one.
    ///   - cut: Called when the file is what somebody has left of a journal.
    /// - Returns: The journal; one that was just begun is locked.
    /// - Throws: ``SystemError``, or ``SettingsError`` when there is another file in its place.
    static func openOrCreate(
        at path: FilePath,
        like model: FileStatus?,
        _ system: SystemCalls,
        lock: (FileHandle) throws -> Void,
        cut: () -> Void
    ) throws -> Journal {
        let directory = try directory(of: path, system)
        if let journal = try open(path.name, in: directory) {
            guard journal.isWritable else { throw SystemError(call: .open, path: path, number: EACCES) }
            return journal
        }
        let file: FileHandle
        if let new = try directory.createSibling(path.name, O_RDWR) {
            // Only what this process has created is given to another user.
            if let model { try system.copyPermissions(of: model.writableByOwner, to: new) }
            file = new
        } else {
            guard let old = try directory.openSibling(path.name, O_RDWR) else {
                throw SystemError(call: .open, path: path, number: EAGAIN)
            }
            file = old
        }
        try lock(file)
        // Another process may have been quicker.
        if let journal = try Journal.opened(file, isWritable: true, system) { return journal }
        if try isCut(file, system) { cut() }
        let bytes = JournalHeader.bytes(.first())
        // The magic last: without it, nobody takes the file for a journal.
        try system.write(Array(bytes.dropFirst(8)), to: file, at: 8)
        try system.write(Array(bytes.prefix(8)), to: file)
        guard let journal = try Journal.opened(file, isWritable: true, system) else {
            throw SystemError(call: .write, path: path, number: EIO)
        }
        return journal
    }

    /// Whether a file that is too short to be a journal was one before it was cut off; otherwise it was never finished.
    ///
    /// - Throws: ``SettingsError`` when it is neither, so that it must not be written over.
    private static func isCut(_ file: FileHandle, _ system: SystemCalls) throws -> Bool {
        let header = try system.contents(of: file, in: 0..<JournalHeader.size)
        // The magic is written last, so a file that begins with it was a journal.
        if header.starts(with: JournalHeader.magicBytes) { return true }
        guard JournalHeader.mayBeUnfinished(header) else { throw SettingsError.notAJournal(file.path) }
        return false
    }

    static func opened(_ file: FileHandle, isWritable: Bool, _ system: SystemCalls) throws -> Journal? {
        let status = try system.status(of: file)
        guard status.isRegular else {
            throw SystemError(call: .open, path: file.path, number: status.isDirectory ? EISDIR : EINVAL)
        }
        guard status.size >= JournalHeader.size else { return nil }
        let journal = try Journal(file, status, isWritable: isWritable, system)
        let (magic, version) = (journal.page[JournalHeader.magicWord], journal.page[JournalHeader.versionWord])
        guard !JournalHeader.isUnfinished(magic, length: status.size) else { return nil }
        guard magic == JournalHeader.magic else { throw SettingsError.notAJournal(file.path) }
        // No version is 0: the file was cut off, and a process that had it open has written behind the end since.
        guard version != 0 || journal.id != 0 else { return nil }
        // Without a position and facts there is no record that can be read.
        guard journal.hasPosition else { return nil }
        guard [JournalHeader.version, JournalHeader.unsaltedVersion].contains(version) else {
            throw SettingsError.newerJournal(file.path, version)
        }
        return journal
    }
}

// MARK: - State

extension Journal {
    /// How far the journal has come, as it was published last.
    var published: JournalPosition {
        JournalPosition(word: page[JournalHeader.positionWord])
    }

    /// The facts of the epoch, and how far it has come; `nil` when they do not fit together, because somebody is just
    /// changing them, or the header is damaged.
    var current: (epoch: JournalEpoch, position: JournalPosition)? {
        guard let epoch = JournalHeader.epoch(in: page) else { return nil }
        let published = published
        if published.epoch == epoch.epoch, published.end >= epoch.start { return (epoch, published) }
        // Whoever began the epoch has not published that yet, or has died before.
        if published.epoch == epoch.epoch &- 1, published.end == epoch.previousEnd { return (epoch, epoch.beginning) }
        return nil
    }

    /// Whether the memory is still this journal's: another process may have truncated the file, and begun another journal
    /// in it.
    var isAlive: Bool { page[JournalHeader.idWord] == id && hasPosition }

    /// Whether the header is longer than its first words: a file that is truncated may still have the journal's number.
    private var hasPosition: Bool {
        page[JournalHeader.positionWord] != 0 || JournalHeader.epoch(in: page) != nil
    }

    /// Whether another journal is in the same file.
    func isSameFile(as other: Journal) -> Bool { identity == other.identity }

    /// Whether the file has to be opened again to see what other processes write: see ``SharedPage/mayBeSuperseded``.
    var isSuperseded: Bool { page.isSuperseded(at: JournalHeader.positionWord) }

    /// Whether an older version of this library made it, which an old process may still be using.
    var isUnsalted: Bool { page[JournalHeader.versionWord] == JournalHeader.unsaltedVersion }

    /// Whether another process has opened it, which this one was forked from.
    var isInherited: Bool { forks != Forks.count }

    /// Whether the journal is still the one at the path.
    enum Place {
        case here
        /// The file is shorter than its records.
        case cut
        case elsewhere
    }

    /// Looks where the journal is.
    ///
    /// - Parameter path: Where it should be.
    /// - Returns: Whether it is there.
    /// - Throws: ``SystemError`` when that cannot be told.
    func place(at path: FilePath) throws(SystemError) -> Place {
        guard !isInherited, isAlive else { return .elsewhere }
        guard let status = try system.status(at: path, followingLinks: false) else { return .elsewhere }
        guard (status.device, status.inode) == identity, status.size >= JournalHeader.size else { return .elsewhere }
        return status.size < Int(published.end) ? .cut : .here
    }

    /// Whether another journal may already be in this one's place, with all records of this one.
    ///
    /// It stays so when the process that replaces it dies before the end. Then readers look at the path at every read until
    /// the next commit, whichever journal is there.
    var isBeingReplaced: Bool { page[JournalHeader.positionWord] & JournalHeader.replacingBit != 0 }

    /// Makes readers look at the path until the journal is replaced, or has another position.
    func beginReplacing() {
        page[JournalHeader.positionWord] |= JournalHeader.replacingBit
        page.didPublish()
    }

    /// Whether its records have been taken over into the journal that took its place.
    var isRetired: Bool { page[JournalHeader.retiredWord] != 0 }

    /// Tells all who use it that another one has taken its place and its records.
    func retire() throws(SystemError) {
        page[JournalHeader.retiredWord] = 1
        var position = published
        position.epoch &+= 1
        try publish(position)
    }
}
