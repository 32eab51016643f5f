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
    let path: String
    let system: SystemCalls

    /// The permissions of a file that has not been there before: for its owner alone.
    static let newFileMode: mode_t = 0o600

    /// Appended to the path.
    static let journalSuffix = ".journal"
    static let lockSuffix = ".lock"
    static let lastGoodSuffix = ".last-good"
    static let temporarySuffix = ".new"

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

    /// The longest tick of a file system's clock that is reckoned with, in seconds.
    private static let longestTick = 0.02

    /// A new state of the file, written and safe from a loss of power, not yet in its place.
    struct Draft {
        var reading: Reading
        var bytes: [UInt8]
        var temporaryPath: String
        var target: String
    }

    func status() throws(SystemError) -> FileStatus? {
        try system.status(at: path)
    }

    /// Reads the file.
    ///
    /// - Returns: What is in it; `nil` when there is no file.
    /// - Throws: ``SystemError`` when it cannot be read, `JSONSyntaxError` when it is not as it should be.
    func read() throws -> Reading? {
        try read(path)
    }

    /// The contents that were last known to be good, for when the file is not.
    func readLastGood() throws -> [String: StoredValue]? {
        try read(SettingsPath.target(of: path, system) + Self.lastGoodSuffix)?.contents
    }

    private func read(_ path: String) throws -> Reading? {
        guard var reading = try open(path) else { return nil }
        reading.contents = try JSONReader.readObject(system.contents(of: reading.handle))
        return reading
    }

    /// Opens a file that a checkpoint has put in place, without reading its contents.
    ///
    /// It got its name a while after it was written. So a change since then is of another time than its contents.
    func open() throws -> Reading? {
        guard var reading = try open(path) else { return nil }
        if reading.status.changed != reading.status.modified { reading.isCertain = true }
        return reading
    }

    private func open(_ path: String) throws -> Reading? {
        // A FIFO in the file's place must not keep everybody waiting for a writer.
        guard let handle = try system.openIfPresent(path, O_RDONLY | O_NONBLOCK) else { return nil }
        let status = try system.status(of: handle)
        guard status.isRegular else {
            throw SystemError(call: .open, path: path, number: status.isDirectory ? EISDIR : EINVAL)
        }
        let isCertain = abs(SystemCalls.wallClock() - status.modified.secondsSince1970) > Self.longestTick
        return Reading(contents: [:], status: status, handle: handle, isCertain: isCertain)
    }

    /// Writes new contents beside the file.
    ///
    /// - Parameters:
    ///   - contents: What the file is to hold.
    ///   - current: The file that is to be replaced, whose permissions and owner are kept.
    /// - Returns: The draft, to be put in the file's place.
    /// - Throws: ``SystemError`` when it cannot be written, ``SettingsError`` when the contents have no JSON form.
    func draft(_ contents: [String: StoredValue], replacing current: FileStatus?) throws -> Draft {
        let target = try SettingsPath.target(of: path, system)
        let temporaryPath = target + Self.temporarySuffix
        let bytes = try JSONWriter.text(of: contents)
        let handle = try write(bytes, to: temporaryPath, like: current, isSynchronized: true)
        let status = try system.status(of: handle)
        let reading = Reading(contents: contents, status: status, handle: handle)
        return Draft(reading: reading, bytes: bytes, temporaryPath: temporaryPath, target: target)
    }

    /// Puts a draft in the file's place.
    ///
    /// A file that cannot be replaced, because it is mounted alone, is written over, after the last good copy is safe.
    func place(_ draft: Draft) throws -> Reading {
        do {
            try system.rename(draft.temporaryPath, to: draft.target)
        } catch {
            guard error.number == EBUSY else { throw error }
            return try overwrite(draft)
        }
        return reading(of: draft, in: draft.reading.handle)
    }

    /// What is in the file by now; its status tells whether somebody changes it later.
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
    private func overwrite(_ draft: Draft) throws -> Reading {
        try keepLastGood(draft, isSynchronized: true)
        // By its name too: should the power fail in the middle, the copy is all there is.
        try system.synchronizeDirectory(SettingsPath.directory(of: draft.target))
        let handle = try system.open(draft.target, O_RDWR)
        let before = try system.contents(of: handle)
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

    /// Removes a draft that is not to be put in the file's place.
    func discard(_ draft: Draft) {
        discard(draft.temporaryPath)
    }

    /// Copies the contents of a draft to where they are found when somebody breaks the file.
    func keepLastGood(_ draft: Draft, isSynchronized: Bool = false) throws(SystemError) {
        let path = draft.target + Self.lastGoodSuffix
        let temporaryPath = path + Self.temporarySuffix
        _ = try write(draft.bytes, to: temporaryPath, like: draft.reading.status, isSynchronized: isSynchronized)
        try system.rename(temporaryPath, to: path)
    }

    /// Returns once a file that was put in its place survives a loss of power, by its name too.
    func synchronize(_ reading: Reading) throws(SystemError) {
        // A draft that was renamed is safe already, which the system knows; a file that was written over is not.
        try system.synchronize(reading.handle)
        let target = try SettingsPath.target(of: path, system)
        try system.synchronizeDirectory(SettingsPath.directory(of: target))
    }

    /// Writes a file that nobody else uses: the caller holds the lock, so one that is there was left by a crash.
    private func write(
        _ bytes: [UInt8],
        to path: String,
        like model: FileStatus?,
        isSynchronized: Bool
    ) throws(SystemError) -> FileHandle {
        try system.unlinkIfPresent(path)
        let handle = try system.open(path, O_RDWR | O_CREAT | O_EXCL, mode: Self.newFileMode)
        do {
            try system.write(bytes, to: handle)
            if let model { try system.copyPermissions(of: model, to: handle) }
            if isSynchronized { try system.synchronize(handle) }
        } catch {
            discard(path)
            throw error
        }
        return handle
    }

    /// Removes what could not be written whole.
    private func discard(_ path: String) {
        do {
            try system.unlink(path)
        } catch {
            // It is removed before the next draft; what went wrong first is what is told.
        }
    }
}
