// SPDX-License-Identifier: Apache-2.0

/// The settings file, which is read and replaced as a whole, and its last good copy.
package struct SettingsFile: Sendable {
    /// The path that was passed to the suite, which may be a link.
    let path: FilePath
    let system: SystemCalls
    private let known = Known()

    package init(path: FilePath, system: SystemCalls) {
        (self.path, self.system) = (path, system)
    }

    /// Where the path led to last, so that a change of what paths lead to is noticed.
    private final class Known: Sendable {
        /// The root directory at the first use of the path, or at the last use that found the file's directory, and the mount
        /// namespace at the first use, if the system shows one.
        let root = Locked<(directory: FileIdentity?, mounts: FileIdentity?)?>(nil)
        /// The file and its directory when that existed last.
        let place = Locked<(name: FilePath, directory: FileIdentity)?>(nil)
    }

    /// The longest settings file that is read or written, in bytes: 64 MiB.
    package static let longestFile = 1 << 26

    /// The suffixes of the file's siblings.
    package static let journalSuffix = ".journal"
    package static let lockSuffix = ".lock"
    package static let lastGoodSuffix = ".last-good"

    /// The contents of the file at one moment.
    struct Reading: Sendable {
        var contents: [String: StoredValue]
        var status: FileStatus
        /// Open while the reading is used, so that no other file can receive the same inode.
        ///
        /// An equal status therefore means the same file.
        var handle: FileHandle
        /// Whether any later change of the same file gives it another status.
        ///
        /// A change within the same tick of the file system's clock may not.
        var isCertain = true
        /// A checksum of the contents, if later changes may have the same status for more than a moment.
        var checksum: UInt64?
        /// The last good values of keys whose values were unusable, in a last good copy.
        var lastGood: [String: StoredValue?] = [:]
        /// Whether this process has found that a checkpoint may write the file anew: see ``SettingsFileText/isCanonical``.
        var isCanonical = false
    }

    /// The longest expected tick of a file system's clock, in seconds.
    private static let longestTick = 0.02
    /// The longest expected tick of a file system that stores times without fractions of a second.
    ///
    /// FAT counts in steps of two seconds.
    private static let longestCoarseTick = 2.1

    /// Whether any later change of a file gives it another status.
    static func isCertain(_ status: FileStatus, at now: Double = SystemCalls.wallClock()) -> Bool {
        let tick = status.hasCoarseTimes ? longestCoarseTick : longestTick
        // A program that writes the file can set the time of the last modification, but not that of the last change.
        return [status.modified, status.changed].allSatisfy { abs(now - $0.secondsSince1970) > tick }
    }

    /// Whether the file is still the one that was read or written.
    ///
    /// If the times do not show that, its contents are compared.
    func isUnchanged(since status: FileStatus?, _ checksum: UInt64?) throws -> Bool {
        guard try self.status() == status else { return false }
        guard let checksum, let handle = try openFile() else { return true }
        return try Self.checksum(of: system.contents(of: handle, limit: Self.longestFile)) == checksum
    }

    static func checksum(of bytes: [UInt8]) -> UInt64 {
        var checksum = Checksum(salt: UInt64(bytes.count))
        bytes.withUnsafeBytes { bytes in
            let whole = bytes.count / 8 * 8
            for offset in stride(from: 0, to: whole, by: 8) {
                checksum.add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            for byte in bytes[whole...] { checksum.add(UInt64(byte)) }
        }
        return checksum.value
    }

    func status() throws -> FileStatus? {
        _ = try target()
        return try system.status(at: path)
    }

    /// Returns the file that the path leads to, whether or not it exists.
    ///
    /// Everything that uses the path calls this first.
    ///
    /// - Throws: ``SystemError``; ``SettingsError`` if a link must not be followed, or if the process has changed its root
    ///   directory or its mounts and the path leads to another directory since.
    func target() throws -> FilePath {
        let root = try system.status(at: "/")?.identity
        let (target, directory): (FilePath, FileIdentity?)
        do {
            target = try SettingsPath.target(of: path, system)
            directory = try system.status(at: target.directory)?.identity
        } catch {
            try checkRoot(root)
            throw error
        }
        // Another thread may just have called `chroot`.
        guard try system.status(at: "/")?.identity == root else { return try self.target() }
        // The same directory may be in another root as well.
        let isSame = known.place.withLock { $0?.name == target.name && $0?.directory == directory }
        if !isSame { try checkRoot(root) }
        known.root.withLock { $0?.directory = root }
        if let directory { known.place.withLock { $0 = (target.name, directory) } }
        return target
    }

    /// Throws unless the thread has the root of the first use of the path.
    private func checkRoot(_ directory: FileIdentity?) throws {
        let mounts = try mountNamespace()
        let first = known.root.withLock { root in
            let first = root ?? (directory, mounts)
            root = first
            return first
        }
        let isSame = mounts == nil || first.mounts == nil || mounts == first.mounts
        guard directory == first.directory, isSame else { throw changedRootError }
    }

    /// The mount namespace of the thread; `nil` where the system shows none.
    private func mountNamespace() throws(SystemError) -> FileIdentity? {
        #if os(Linux)
        do {
            return try system.status(at: "/proc/thread-self/ns/mnt")?.identity
        } catch  where [Errno.permissionDenied, Errno.notPermitted].contains(error.number) {
            return nil
        }
        #else
        return nil
        #endif
    }

    /// Opens the directory that the path leads to now.
    ///
    /// - Throws: ``SystemError``, with `ENOENT` if it does not exist, or ``SettingsError``.
    func directory() throws -> SettingsDirectory {
        try SettingsDirectory(of: target(), system)
    }

    /// The path of the journal, which may not exist yet: beside the file that the path leads to now.
    func journalPath() throws -> FilePath {
        try target().adding(Self.journalSuffix)
    }

    /// Reads the file.
    ///
    /// - Returns: The file and its contents; `nil` when there is no file.
    /// - Throws: ``SystemError`` if it cannot be read, `JSONSyntaxError` if it is malformed, or ``SettingsError``.
    func read() throws -> Reading? {
        try FileHandle.reopening { try openFile().map { try read($0, .settingsFile) } }
    }

    /// Returns the place of a key's value; `nil` when the file has no value for the key, or is not valid.
    ///
    /// - Throws: ``SystemError`` or ``SettingsError`` if the file cannot be read.
    func location(ofValueForKey key: String) throws -> SettingsError.Location? {
        guard let handle = try openFile() else { return nil }
        let bytes = try system.contents(of: handle, limit: Self.longestFile)
        return JSONReader.place(ofKey: key, in: bytes)
            .map { SettingsError.Location(file: path.description, line: $0.line, column: $0.column) }
    }

    /// Whether a missing file may come back: the disk shows that it existed, by a last good copy or a journal that has recorded a
    /// checkpoint, or this process remembers it, and the known journal is not gone.
    ///
    /// - Parameters:
    ///   - journal: The known journal; `nil` if there is none.
    ///   - isRemembered: Whether the path leads to ``SettingsFileState/rememberedPlace``.
    /// - Returns: Whether the last contents remain in use. Otherwise, there are none anymore.
    /// - Throws: ``SystemError`` or ``SettingsError`` if that cannot be found out.
    func isMissed(_ journal: Journal?, isRemembered: Bool) throws -> Bool {
        if try hasLastGood() { return true }
        guard let journal else { return isRemembered }
        guard try journal.place(at: journalPath()) != .elsewhere else { return false }
        return isRemembered || journal.page[.checkpointed] != 0
    }

    /// The directory of the file; `nil` if it does not exist.
    func place() throws -> FileIdentity? { try system.status(at: target().directory)?.identity }

    /// Opens a file that a checkpoint has put in place, without reading its contents.
    ///
    /// The file was renamed some time after it was written. So the time of a later change differs from that of the
    /// contents.
    func open() throws -> Reading? {
        guard var reading = try openFile().map(examine) else { return nil }
        if reading.status.changed != reading.status.modified { reading.isCertain = true }
        return reading
    }

    /// Throws when there is no journal yet, and the path leads to something that a checkpoint cannot replace.
    ///
    /// With a journal, sets go on: the regular file may come back. Throws as well if the longest name beside the file
    /// is too long.
    func checkTarget(journal: FilePath) throws {
        if let target = journal.removing(Self.journalSuffix) {
            _ = try system.linkStatus(at: target.adding(Self.lastGoodSuffix))
        }
        guard let status = try status(), !status.isRegular,
            try system.linkStatus(at: journal) == nil
        else { return }
        throw SettingsError.notAFile(path, isDirectory: status.isDirectory)
    }

    /// Throws ``SystemError`` or ``SettingsError`` if no commit can succeed.
    func checkWritable() throws {
        var directory = try target().directory
        // A missing directory is created, so the nearest existing directory has to be writable.
        while try system.status(at: directory) == nil, directory != directory.directory {
            // No directory can be created in the place of a link that leads to nothing.
            guard try system.linkStatus(at: directory)?.isLink != true else {
                throw SystemError(call: .makeDirectory, path: directory, number: Errno.noSuchFileOrDirectory)
            }
            directory = directory.directory
        }
        try system.checkWritable(directory)
    }

    /// Throws ``SystemError`` if the directory exists, and its file system cannot map a journal.
    ///
    /// Where that is in question, it maps a draft, which is then removed.
    func checkSharing() throws {
        guard system.fileSystemName(at: try target().directory) != nil else { return }
        let directory = try directory()
        let draft = try directory.writeDraft([0], like: nil, isSynchronized: false)
        defer { directory.discardDraft(draft.name) }
        system.unmap(try system.mapShared(draft.file, SharedPage.size, isWritable: true), SharedPage.size)
    }

    private func openFile() throws -> FileHandle? {
        _ = try target()
        return try SettingsPath.open(path, system) { target, flags in
            guard SystemCalls.currentUser() == 0 else { return try system.openIfPresent(target, flags) }
            // Root must not read a file of another directory, whose values would be written into this one.
            do {
                let directory = try SettingsDirectory(of: target, system)
                return try system.openIfPresent(directory.name, in: directory.handle, flags)
            } catch let error as SystemError where error.number == Errno.noSuchFileOrDirectory {
                return nil
            } catch let error as SystemError where error.call == .open {
                throw SystemError(call: .open, path: target, number: error.number)
            }
        }
    }

    func read(_ handle: FileHandle, _ dialect: JSONReader.Dialect) throws -> Reading {
        var reading = try examine(handle)
        let bytes = try system.contents(of: handle, limit: Self.longestFile)
        if !reading.isCertain, reading.status.hasCoarseTimes { reading.checksum = Self.checksum(of: bytes) }
        let text = try SettingsFileText(bytes, dialect)
        (reading.contents, reading.lastGood) = (text.contents, text.lastGood)
        return reading
    }

    private func examine(_ handle: FileHandle) throws -> Reading {
        let status = try system.status(of: handle)
        guard status.isRegular else {
            throw SystemError(
                call: .open,
                path: path,
                number: status.isDirectory ? Errno.isDirectory : Errno.invalidArgument
            )
        }
        return Reading(contents: [:], status: status, handle: handle, isCertain: Self.isCertain(status))
    }
}

// MARK: - Writing

extension SettingsFile {
    /// A new version of the file that is on the disk and not yet in place.
    struct Draft {
        var reading: Reading
        var bytes: [UInt8]
        /// The contents as they are written anew, for the last good copy.
        var copy: [UInt8]
        var name: FilePath
        var directory: SettingsDirectory
    }

    /// Writes new contents beside the file.
    ///
    /// - Parameters:
    ///   - contents: The new contents.
    ///   - lastGood: The last good values of keys whose values in the new contents are unusable, as far as this process knows.
    ///   - retains: Whether the new copy may retain the last good value that the last one has for a key.
    ///   - current: The file to be replaced. Its text is edited unless that is canonical. The draft receives its
    ///     permissions and owner, or those of ``SettingsDirectory/model()``.
    ///   - makeRoom: Frees space on a full disk.
    /// - Returns: The draft, which can replace the file; `nil` when the file has changed since, and is no longer valid.
    /// - Throws: ``SystemError`` if it cannot be written, or ``SettingsError`` if the contents have no JSON form.
    func draft(
        _ contents: [String: StoredValue],
        lastGood: [String: StoredValue?],
        retains: (String) -> Bool,
        replacing current: Reading?,
        makeRoom: () throws -> Void
    ) throws -> Draft? {
        let directory = try directory()
        let canonical = try SettingsFileText.text(of: contents)
        let allLastGood = allLastGood(lastGood, in: contents, retains, directory)
        var copy = try SettingsFileText.copy(of: canonical, lastGood: allLastGood)
        if copy.count > Self.longestFile { copy = canonical }
        guard let (bytes, isCanonical) = try text(of: contents, canonical, replacing: current) else {
            return nil
        }
        guard max(bytes.count, copy.count) <= Self.longestFile else {
            throw SettingsError.contentsTooLong(path)
        }
        let (handle, name): (FileHandle, FilePath)
        let model = try current?.status ?? directory.model()
        do {
            try directory.prepareForDraft(of: directory.name)
            (handle, name) = try directory.writeDraft(bytes, like: model, isSynchronized: true)
        } catch let error as SystemError where [Errno.noSpace, Errno.diskQuotaExceeded].contains(error.number) {
            try makeRoom()
            (handle, name) = try directory.writeDraft(bytes, like: model, isSynchronized: true)
        }
        let status = try system.status(of: handle)
        let reading = Reading(contents: contents, status: status, handle: handle, isCanonical: isCanonical)
        return Draft(reading: reading, bytes: bytes, copy: copy, name: name, directory: directory)
    }

    /// Replaces the file by a draft.
    ///
    /// A file that is a mount point cannot be replaced. It is overwritten after the last good copy is on the disk.
    ///
    /// - Returns: The file with its new contents, and whether it was overwritten; `nil` when the draft no longer has
    ///   its name.
    /// - Throws: ``SystemError``, or ``SettingsError`` if another file is in the place of the last good copy.
    func place(
        _ draft: Draft,
        over current: FileStatus?,
        _ copy: inout LastGoodCopy
    ) throws -> (reading: Reading, isOverwritten: Bool)? {
        guard try draft.directory.holds(draft.reading.handle, as: draft.name) else { return nil }
        do {
            try system.rename(draft.name, to: draft.directory.name, in: draft.directory.handle)
        } catch {
            guard error.number == Errno.resourceBusy else { throw error }
            return try overwrite(draft, over: current, &copy).map { ($0, true) }
        }
        var reading = draft.reading
        do {
            let status = try system.status(of: reading.handle)
            // An edit since the rename must be noticed. The status of the draft, which no file has, ensures that.
            if (status.size, status.modified) == (reading.status.size, reading.status.modified) {
                reading.status = status
                reading.isCertain = status.changed != status.modified || Self.isCertain(status)
                if !reading.isCertain { reading.checksum = Self.checksum(of: draft.bytes) }
            }
        } catch {
            // The status of the draft remains, so the next look reads the file.
        }
        return (reading, false)
    }

    /// Overwrites the file with a draft, or restores its previous contents.
    private func overwrite(_ draft: Draft, over current: FileStatus?, _ copy: inout LastGoodCopy) throws -> Reading? {
        // Without a copy, a crash during the write would leave no readable contents.
        try copy.placeBeforeOverwriting(draft)
        let handle = try system.open(
            draft.directory.name,
            in: draft.directory.handle,
            OpenFlags.readWrite | OpenFlags.noFollow | OpenFlags.nonBlocking
        )
        guard try system.status(of: handle).isSameFile(as: current) else { return nil }
        let before = try system.contents(of: handle, limit: Self.longestFile)
        do {
            try system.rewrite(handle, with: draft.bytes)
        } catch {
            // The previous contents fit on the disk: the file is not truncated before all new contents are written.
            try system.rewrite(handle, with: before)
            throw error
        }
        draft.directory.discardDraft(draft.name)
        var reading = draft.reading
        (reading.handle, reading.isCertain) = (handle, false)
        do {
            reading.status = try system.status(of: handle)
        } catch {
            // No file has the status of the draft, so the next look reads the file.
        }
        return reading
    }

    /// Waits until a file survives a power loss, including its name.
    func synchronize(_ reading: Reading) throws {
        try system.synchronize(reading.handle)
        try directory().synchronize()
    }
}

extension FileStatus {
    /// Whether the file system seems to store times without fractions of a second.
    fileprivate var hasCoarseTimes: Bool { modified.nanoseconds == 0 && changed.nanoseconds == 0 }
}

// MARK: - Errors

extension SettingsFile {
    /// The error for a settings file that cannot be read, with or without last good values in memory or in the copy.
    package func readError(_ error: any Error, hasValues: Bool) -> SettingsError {
        let consequence =
            hasValues
            ? "it is left unchanged, and its last good values are used, with all values set since"
            : "it is left unchanged, and the defaults are used for all values that are not in the journal"
        switch error {
        case let error as JSONSyntaxError:
            return SettingsError(
                .malformedFile,
                fact: "the file is not a valid settings file: \(error.problem)",
                consequence: consequence,
                remedy: "correct the file at this position; it is then read again automatically",
                location: SettingsError.Location(file: path.description, line: error.line, column: error.column),
                underlying: error
            )
        case let error as SystemError:
            return accessError(
                .readFailed,
                fact: "the file cannot be read: \(error.readingReason)",
                consequence: consequence,
                remedy: readingRemedy(for: error.number) ?? "use the path of a readable regular file",
                at: error.path,
                because: error
            )
        default:
            return SettingsError.wrapping(error, as: .readFailed)
        }
    }

    /// The error for a settings file that is missing although it existed.
    ///
    /// - Parameters:
    ///   - hasCopy: Whether the values of the last good copy are used.
    ///   - isUnknown: Whether its values are unknown.
    ///   - isAlone: Whether there is no journal, so that no checkpoint is made.
    /// - Returns: The error.
    package func missingError(hasCopy: Bool, isUnknown: Bool, isAlone: Bool) -> SettingsError {
        let name = path.name
        let (consequence, remedy) =
            if hasCopy {
                (
                    "the values of \(name).last-good are used, and the next checkpoint writes the file again",
                    "to start over, end the programs that use it, and remove \(name).last-good and \(name).journal"
                )
            } else if !isUnknown, isAlone {
                ("the values that were read last are used", "restore \(name), or write {} to it to start over")
            } else if !isUnknown {
                (
                    "the values that were read last are used, and the next checkpoint writes the file again",
                    "to start over, end the programs that use it, and remove \(name).journal"
                )
            } else {
                (
                    "its values are unknown, and new values are stored in the journal",
                    "restore \(name), or write {} to it to continue with only the values in the journal"
                )
            }
        var error = SettingsError(
            .readFailed,
            fact: hasCopy ? "the file is missing" : "the file is missing, and there is no readable last good copy",
            consequence: consequence,
            remedy: remedy,
            location: SettingsError.Location(path)
        )
        error.isCorrectedByCheckpoint = hasCopy || !isUnknown && !isAlone
        return error
    }

    /// The error for a journal that cannot be read.
    func journalError(_ error: any Error) -> SettingsError {
        guard let error = error as? SystemError else { return SettingsError.wrapping(error, as: .readFailed) }
        return accessError(
            .readFailed,
            fact: "the journal cannot be read: \(error.reason)",
            consequence: "values that are not in the settings file yet may be missing",
            remedy: readingRemedy(for: error.number) ?? "check the disk and the file system",
            at: error.path,
            because: error
        )
    }

    /// The error for values that cannot be written; its consequence is the given one unless the error has one of its own.
    func writeError(_ error: any Error, consequence: String = SettingsError.nothingIsChanged) -> SettingsError {
        guard let error = error as? SystemError else {
            var error = SettingsError.wrapping(error, as: .writeFailed)
            if error.consequence == SettingsError.nothingIsChanged { error.consequence = consequence }
            return error
        }
        let isReadOnly = [Errno.readOnlyFileSystem, Errno.permissionDenied, Errno.notPermitted]
            .contains(error.number)
        let place = error.path.directory == path.directory ? error.path.name : error.path
        return accessError(
            isReadOnly ? .readOnly : .writeFailed,
            fact: "the settings cannot be saved: \(place): \(error.reason)",
            consequence: consequence,
            remedy: error.call == .changeOwner
                ? "run the program as the owner of the directory and its files, or give it the capability CAP_CHOWN"
                : writingRemedy(for: error.number),
            at: path,
            because: error
        )
    }

    /// The error for a failed call, whose fact and remedy are others if they do not depend on what the call was for.
    private func accessError(
        _ code: SettingsError.Code,
        fact: String,
        consequence: String,
        remedy: String,
        at place: FilePath,
        because cause: SystemError
    ) -> SettingsError {
        var (code, fact, remedy, place) = (code, fact, remedy, place)
        if cause.isUntrustedLink {
            (code, place) = (.untrustedFile, path)
            fact = "the symbolic link \(cause.path) leads to a directory of another user, or in a circle"
            remedy = "run the program as the user of the settings, or use a path without this link"
        } else if cause.isAboutSharing {
            let directory = cause.path.directory
            let name = system.fileSystemName(at: directory).map { " (\($0))" } ?? ""
            (code, place) = (.readOnly, path)
            fact =
                "the file system of \(directory)\(name) does not let processes share memory, which the journal needs"
            remedy = "store the settings on a local file system (STORED_SETTINGS_HOME, or the path of the suite)"
        }
        return SettingsError(
            code,
            fact: fact,
            consequence: consequence,
            remedy: remedy,
            location: SettingsError.Location(place),
            underlying: cause
        )
    }

    fileprivate static let changedRootFact = """
        the program has changed its root directory or its mounts (chroot, unshare, setns), and the settings are not there \
        any more
        """

    /// The error of a path that leads to another directory after `chroot` or in another mount namespace.
    var changedRootError: SettingsError {
        SettingsError(
            .writeFailed,
            fact: Self.changedRootFact,
            consequence: "the values that were read last are used, and changes are refused",
            remedy:
                "do that before the first setting is used, or mount the directory of the settings at the same path there",
            location: SettingsError.Location(path)
        )
    }

    /// How to put a settings file in the place of a directory.
    static let remedyForDirectory = """
        remove the directory if it is empty. If a container mounts the file, create it before the container starts: \
        Docker creates a directory for a missing file
        """

    private func readingRemedy(for number: CInt) -> String? {
        switch number {
        case Errno.isDirectory, Errno.fileNameTooLong: writingRemedy(for: number)
        case Errno.permissionDenied, Errno.notPermitted: "allow this user to read it"
        case Errno.tooManyOpenFiles, Errno.tooManyOpenFilesInSystem, Errno.noMemory:
            writingRemedy(for: number) + "; it is then read again automatically"
        case Errno.ioError: "check the disk; it is read again automatically"
        case Errno.notDirectory: "correct its path, a part of which is not a directory"
        case Errno.tooManySymbolicLinkLevels: "correct the symbolic links in its path"
        case Errno.fileTooLarge: "replace it with a file of at most \(Self.longestFile >> 20) MiB"
        default: nil
        }
    }

    private func writingRemedy(for number: CInt) -> String {
        let elsewhere = "store the settings elsewhere (STORED_SETTINGS_HOME, or the path of the suite)"
        return switch number {
        case Errno.noSpace: "free space on the disk, or raise the disk quota"
        case Errno.diskQuotaExceeded: "remove files of this user, or raise the disk quota"
        case Errno.fileTooLarge:
            "fix the errors that checkpoints have reported; otherwise, store less data or raise the limit of file sizes"
        case Errno.readOnlyFileSystem: "mount the file system for writing, or \(elsewhere)"
        case Errno.permissionDenied: "allow this user to write there, or \(elsewhere)"
        case Errno.notPermitted:
            "remove the attribute that forbids it (chattr -i -a) or the sticky bit of the directory (chmod -t), whichever it has, "
                + "or \(elsewhere)"
        case Errno.tooManyOpenFiles, Errno.tooManyOpenFilesInSystem: "close files, or raise the limit of open files"
        case Errno.noMemory: "free memory, or raise the memory limit"
        case Errno.isDirectory: Self.remedyForDirectory
        case Errno.noSuchFileOrDirectory, Errno.notDirectory:
            "make sure that the directory can be created, and that no symbolic link on the way leads to nothing, or \(elsewhere)"
        case Errno.fileNameTooLong: "give the suite or its file a shorter name"
        case Errno.resourceTemporarilyUnavailable: "try again"
        case Errno.noLocks:
            "use a file system that supports flock, and commit nothing in a child that was forked in a transaction"
        default: "check the disk and the file system"
        }
    }
}

extension SystemError {
    /// Whether root has not followed a symbolic link of another user: see ``DirectoryWalk``.
    package var isUntrustedLink: Bool { call == .readLink && number == Errno.tooManySymbolicLinkLevels }

    /// Whether a file system cannot map a file into shared memory.
    var isAboutSharing: Bool {
        call == .map && [Errno.noDevice, Errno.invalidArgument, Errno.notSupported].contains(number)
    }

    /// The reason why a file cannot be read: opening a file of a wrong kind has numbers that say nothing of it.
    var readingReason: String {
        let isOfKind = call == .open && path.isValid && [Errno.invalidArgument, Errno.openedSocket].contains(number)
        return isOfKind ? "it is a pipe, a socket, a device or a removed file" : reason
    }
}

extension SettingsError {
    /// Whether a path leads to another directory after `chroot` or in another mount namespace, which is reported when the
    /// journal is looked for.
    var isChangedRoot: Bool { fact == SettingsFile.changedRootFact }
}
