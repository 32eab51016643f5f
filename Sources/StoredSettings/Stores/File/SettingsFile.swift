// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The file that people see, and its last good copy: read whole, and replaced whole.
struct SettingsFile: Sendable {
    /// The path as it was given, which may be a link.
    let path: FilePath
    let system: SystemCalls

    /// The permissions of a new file: for its owner alone.
    static let newFileMode: mode_t = 0o600

    /// The longest settings file that is read or written, in bytes: 64 MiB.
    static let longestFile = 1 << 26

    /// Appended to the name.
    static let journalSuffix = ".journal"
    static let lockSuffix = ".lock"
    static let lastGoodSuffix = ".last-good"

    /// What was in the file at one moment.
    struct Reading: Sendable {
        var contents: [String: StoredValue]
        var status: FileStatus
        /// Open for as long as the reading is used: so its inode is given to no other file, and an equal status means
        /// that this is the file.
        var handle: FileHandle
        /// Whether a later change of the same file would have another status.
        ///
        /// Within one tick of the file system's clock it might not.
        var isCertain = true
    }

    /// The longest tick of a file system's clock that is expected, in seconds.
    private static let longestTick = 0.02

    func status() throws(SystemError) -> FileStatus? {
        try system.status(at: path)
    }

    /// The directory that the path leads to now.
    ///
    /// - Throws: ``SystemError``, with `ENOENT` when there is none, or ``SettingsError``.
    func directory() throws -> SettingsDirectory {
        try SettingsDirectory(of: SettingsPath.target(of: path, system), system)
    }

    /// Reads the file.
    ///
    /// - Returns: What is in it; `nil` when there is no file.
    /// - Throws: ``SystemError`` when it cannot be read, `JSONSyntaxError` when it is malformed, or ``SettingsError``.
    func read() throws -> Reading? {
        try openFile().map(read)
    }

    /// The contents that were last known to be good, for when the file is not.
    func readLastGood() throws -> [String: StoredValue]? {
        let directory = try directory()
        return try directory.openSibling(directory.name.adding(Self.lastGoodSuffix), O_RDONLY).map(read)?.contents
    }

    /// Whether there is a last good copy that may be used, judged by its first byte.
    func hasLastGood() throws -> Bool {
        do {
            let directory = try directory()
            let copy = try directory.openSibling(directory.name.adding(Self.lastGoodSuffix), O_RDONLY)
            return try copy.map { try system.contents(of: $0, in: 0..<1) == [UInt8(ascii: "{")] } ?? false
        } catch let error as SystemError where error.number == ENOENT {
            return false
        } catch let error as SettingsError where error.code == .untrustedFile {
            return false
        }
    }

    /// Opens a file that a checkpoint has put in place, without reading its contents.
    ///
    /// It got its name a while after it was written. So a change since then is of another time than its contents.
    func open() throws -> Reading? {
        guard var reading = try openFile().map(examine) else { return nil }
        if reading.status.changed != reading.status.modified { reading.isCertain = true }
        return reading
    }

    private func openFile() throws -> FileHandle? {
        let target = try SettingsPath.target(of: path, system)
        // A FIFO in the file's place must not keep everybody waiting for a writer. A link that has just taken the place of
        // the file is not followed without a look at it.
        return try system.openIfPresent(target, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    }

    private func read(_ handle: FileHandle) throws -> Reading {
        var reading = try examine(handle)
        reading.contents = try JSONReader.readObject(system.contents(of: handle, limit: Self.longestFile))
        return reading
    }

    private func examine(_ handle: FileHandle) throws -> Reading {
        let status = try system.status(of: handle)
        guard status.isRegular else {
            throw SystemError(call: .open, path: handle.path, number: status.isDirectory ? EISDIR : EINVAL)
        }
        let isCertain = abs(SystemCalls.wallClock() - status.modified.secondsSince1970) > Self.longestTick
        return Reading(contents: [:], status: status, handle: handle, isCertain: isCertain)
    }
}

// MARK: - Writing

extension SettingsFile {
    /// A new state of the file, written and safe from a loss of power, not yet in its place.
    struct Draft {
        var reading: Reading
        var bytes: [UInt8]
        var name: FilePath
        var directory: SettingsDirectory
        /// The inode of the last good copy, as far as it is known to be this library's; 0 when it is not known.
        var lastGoodInode: UInt64
    }

    /// Writes new contents beside the file.
    ///
    /// - Parameters:
    ///   - contents: What the file is to hold.
    ///   - current: The file that is to be replaced, whose permissions and owner are kept.
    ///   - lastGoodInode: The inode of the last good copy, as far as it is known; else 0.
    /// - Returns: The draft, to be put in the file's place.
    /// - Throws: ``SystemError`` when it cannot be written, ``SettingsError`` when the contents have no JSON form.
    func draft(
        _ contents: [String: StoredValue],
        replacing current: FileStatus?,
        lastGoodInode: UInt64
    ) throws -> Draft {
        let directory = try directory()
        try removeAbandonedDrafts(in: directory)
        let bytes = try JSONWriter.text(of: contents)
        guard bytes.count <= Self.longestFile else {
            throw SettingsError.contentsTooLong(path)
        }
        let (handle, name) = try write(bytes, in: directory, like: current, isSynchronized: true)
        let reading = Reading(contents: contents, status: try system.status(of: handle), handle: handle)
        return Draft(
            reading: reading,
            bytes: bytes,
            name: name,
            directory: directory,
            lastGoodInode: lastGoodInode
        )
    }

    /// Puts a draft in the file's place.
    ///
    /// A file that cannot be replaced, because it is mounted alone, is written over, after the last good copy is safe.
    ///
    /// - Parameters:
    ///   - draft: The draft.
    ///   - current: The file that the draft was made of; `nil` when there was none.
    /// - Returns: What is in the file now; `nil` when the draft is no longer under its name.
    /// - Throws: ``SystemError``, or ``SettingsError`` when another file is in the place of the last good copy.
    func place(_ draft: Draft, over current: FileStatus?) throws -> Reading? {
        guard try draft.directory.holds(draft.reading.handle, as: draft.name) else { return nil }
        do {
            try system.rename(draft.name, to: draft.directory.name, in: draft.directory.handle)
        } catch {
            guard error.number == EBUSY else { throw error }
            return try overwrite(draft, over: current)
        }
        return reading(of: draft, in: draft.reading.handle)
    }

    /// What is in the file now; its status reveals a later change.
    private func reading(of draft: Draft, in handle: FileHandle) -> Reading {
        var reading = draft.reading
        reading.handle = handle
        do {
            reading.status = try system.status(of: handle)
        } catch {
            // The old status is that of no file, so the next look reads the file again.
        }
        return reading
    }

    /// Writes a draft over the file, or leaves in it what was there.
    private func overwrite(_ draft: Draft, over current: FileStatus?) throws -> Reading? {
        var draft = draft
        guard try keepLastGood(&draft, isSynchronized: true) else {
            // Without a copy, a crash in the middle would leave nothing that can be read.
            throw SettingsError.foreignSibling(lastGoodPath(in: draft.directory))
        }
        // By its name too: should the power fail in the middle, the copy is all there is.
        try draft.directory.synchronize()
        let handle = try system.open(draft.directory.name, in: draft.directory.handle, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
        guard try system.status(of: handle).isSameFile(as: current) else { return nil }
        let before = try system.contents(of: handle, limit: Self.longestFile)
        do {
            try system.rewrite(handle, with: draft.bytes)
        } catch {
            // There was room for what was there: nothing is cut off before all of the new is written.
            try system.rewrite(handle, with: before)
            throw error
        }
        discard(draft)
        var reading = reading(of: draft, in: handle)
        reading.isCertain = false
        return reading
    }

    /// Returns once a file that was put in its place survives a loss of power, by its name too.
    func synchronize(_ reading: Reading) throws {
        // A draft that was renamed is safe already, which the system knows; a file that was written over is not.
        try system.synchronize(reading.handle)
        try directory().synchronize()
    }

    /// Removes a draft that is not to be put in the file's place.
    func discard(_ draft: Draft) {
        discard(draft.name, in: draft.directory)
    }
}

// MARK: - The last good copy

extension SettingsFile {
    private func lastGoodPath(in directory: SettingsDirectory) -> FilePath {
        directory.handle.path.appending(directory.name.adding(Self.lastGoodSuffix))
    }

    /// Copies the contents of a draft to where they are found when the file becomes unreadable.
    ///
    /// - Returns: `false` when there is another file in the copy's place, which is left as it is.
    func keepLastGood(_ draft: inout Draft, isSynchronized: Bool = false) throws -> Bool {
        let directory = draft.directory
        let name = directory.name.adding(Self.lastGoodSuffix)
        guard try isLastGood(name, knownAs: draft.lastGoodInode, in: directory) else { return false }
        let (copy, draftName) = try write(
            draft.bytes,
            in: directory,
            like: draft.reading.status,
            isSynchronized: isSynchronized
        )
        guard try directory.holds(copy, as: draftName) else {
            throw SystemError(call: .rename, path: copy.path, number: ENOENT)
        }
        try system.rename(draftName, to: name, in: directory.handle)
        draft.lastGoodInode = try system.status(of: copy).inode
        return true
    }

    /// Whether a name is free, or that of a copy which this library has written: text in the form that it writes, or
    /// what a loss of power may leave of it.
    private func isLastGood(_ name: FilePath, knownAs inode: UInt64, in directory: SettingsDirectory) throws -> Bool {
        guard let file = try directory.openSibling(name, O_RDONLY) else { return true }
        guard try system.status(of: file).inode != inode else { return true }
        let bytes = try system.contents(of: file, limit: Self.longestFile)
        guard bytes.contains(where: { $0 != 0 }) else { return true }
        do {
            return try JSONWriter.text(of: JSONReader.readObject(bytes)) == bytes
        } catch {
            return false
        }
    }
}

// MARK: - Drafts

extension SettingsFile {
    /// Writes a file under a name that no other process uses.
    private func write(
        _ bytes: [UInt8],
        in directory: SettingsDirectory,
        like model: FileStatus?,
        isSynchronized: Bool
    ) throws -> (file: FileHandle, name: FilePath) {
        let name = DraftName.random(for: directory.name)
        guard let file = try directory.createSibling(name, O_RDWR) else {
            throw SystemError(call: .open, path: directory.handle.path.appending(name), number: EEXIST)
        }
        do {
            try system.write(bytes, to: file)
            if let model { try system.copyPermissions(of: model, to: file) }
            if isSynchronized { try system.synchronize(file) }
        } catch {
            discard(name, in: directory)
            throw error
        }
        return (file, name)
    }

    /// Removes the drafts that processes have left when they were killed.
    ///
    /// The caller holds the lock for checkpoints. A process that has lost that lock notices that its draft is gone.
    private func removeAbandonedDrafts(in directory: SettingsDirectory) throws {
        for name in try directory.drafts(of: directory.name) {
            discard(name, in: directory)
        }
    }

    private func discard(_ name: FilePath, in directory: SettingsDirectory) {
        do {
            try system.unlink(name, in: directory.handle)
        } catch {
            // It is removed before the next draft; the error to report is the one that came first.
        }
    }
}
