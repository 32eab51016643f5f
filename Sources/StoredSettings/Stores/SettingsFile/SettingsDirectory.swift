// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "Only settings.json may be a link".

/// The open directory with a settings file and its siblings: the journal, the lock, the last good copy, and drafts.
///
/// Because the directory is open, one operation finds all of them in the same directory, even if its path changes. No
/// sibling is opened through a link, and none that another user may have planted is used. Only the settings file itself
/// may be a link; `name` is then the name of its target.
package struct SettingsDirectory: Sendable {
    package let handle: FileHandle
    /// The name of the settings file.
    package let name: FilePath
    package let system: SystemCalls

    /// Opens the directory of a settings file, which need not exist, after following its links.
    ///
    /// - Throws: ``SystemError``, with `ENOENT` if there is no such directory.
    package init(of target: FilePath, _ system: SystemCalls) throws(SystemError) {
        handle = try system.openDirectory(target.directory)
        (name, self.system) = (target.name, system)
    }

    /// The status of the settings file; `nil` when there is none.
    package func status() throws(SystemError) -> FileStatus? {
        try system.linkStatus(at: name, in: handle)
    }

    /// Opens a sibling, and never follows a link or waits for a FIFO.
    ///
    /// - Returns: The sibling; `nil` when there is none.
    /// - Throws: ``SystemError``, or ``SettingsError`` if another user may have planted it, or it is not a file.
    package func openSibling(_ name: FilePath, _ flags: CInt) throws -> FileHandle? {
        let file: FileHandle?
        do {
            file = try system.openIfPresent(name, in: handle, flags | OpenFlags.noFollow | OpenFlags.nonBlocking)
        } catch  where error.number == Errno.tooManySymbolicLinkLevels {
            throw SettingsError.untrustedSibling(error.path, "it is a symbolic link")
        } catch  where [Errno.openedSocket, Errno.isDirectory].contains(error.number) {
            throw SettingsError.untrustedSibling(error.path, "it is not a regular file")
        }
        if let file, let reason = try refusalReason(of: system.status(of: file)) {
            throw SettingsError.untrustedSibling(file.path, reason)
        }
        return file
    }

    /// The reason why a sibling must not be used; `nil` when it may be.
    ///
    /// Any user with write access to the directory can create or link a file in it. So the sibling's owner has to be the
    /// user of this process, root, or a user that could change the settings anyway. Those are the owner of the
    /// directory, the owner of the settings file if no other user can replace it, and the members of the group that
    /// shares the settings file, or the directory while there is no settings file. In a directory that all users can
    /// write to, only the first two count.
    private func refusalReason(of status: FileStatus) throws -> String? {
        guard status.isRegular else { return "it is not a regular file" }
        guard status.linkCount <= 1 else {
            return "it has \(status.linkCount) names; remove those that backups made"
        }
        guard status.owner != SystemCalls.currentUser(), try !isTrustedByOthers(status) else { return nil }
        return "it belongs to another user (\(status.owner))"
    }

    /// Whether users other than its owner use a sibling.
    func isTrustedByOthers(_ status: FileStatus) throws -> Bool {
        guard status.owner != 0 else { return true }
        let directory = try system.status(of: handle)
        guard !directory.isWritableByAll else { return false }
        guard status.owner != directory.owner else { return true }
        guard let settings = try self.status() else {
            return directory.isWritableByGroup && status.isSharedWithGroup && status.group == directory.group
        }
        if status.owner == settings.owner, !directory.isWritableByGroup { return true }
        return settings.isSharedWithGroup && status.group == settings.group
    }

    /// The file whose owner and permissions a new sibling or settings file receives; `nil` for those of this process.
    ///
    /// It is the settings file. While there is none, it is the last good copy or the journal, which have its owner and
    /// permissions. Without any of them, the files that root creates belong to the owner of the directory: that user's
    /// programs have to be able to use them.
    func model() throws -> FileStatus? {
        if let status = try status(), status.isRegular { return status }
        for suffix in [SettingsFile.lastGoodSuffix, SettingsFile.journalSuffix] {
            let status = try system.linkStatus(at: name.adding(suffix), in: handle)
            if let status, try refusalReason(of: status) == nil { return status }
        }
        guard SystemCalls.currentUser() == 0 else { return nil }
        var directory = try system.status(of: handle)
        guard directory.owner != 0, !directory.isWritableByAll else { return nil }
        directory.mode = FileStatus.newFileMode
        return directory
    }

    /// Creates a sibling.
    ///
    /// - Returns: The sibling, to which only its owner has access; `nil` when a file has that name.
    /// - Throws: ``SystemError``.
    func createSibling(_ name: FilePath, _ flags: CInt) throws(SystemError) -> FileHandle? {
        do {
            let flags = flags | OpenFlags.create | OpenFlags.exclusiveCreate | OpenFlags.noFollow
            return try system.open(name, in: handle, flags, mode: FileStatus.newFileMode)
        } catch  where error.number == Errno.fileExists {
            return nil
        }
    }

    /// Creates a sibling with the owner and the permissions of another file.
    ///
    /// If other users have access to it, the sibling is a draft until it has its permissions. Otherwise, a user that
    /// opens it in between would be denied access.
    ///
    /// - Parameters:
    ///   - name: The name of the new file.
    ///   - flags: Flags as for `open`.
    ///   - model: The other file; `nil` for the owner and the permissions of a new file.
    ///   - base: The file whose drafts are removed if this process dies.
    /// - Returns: The sibling; `nil` when a file has that name, or another process has removed the draft.
    /// - Throws: ``SystemError``. No file is left then.
    func createSibling(
        _ name: FilePath,
        _ flags: CInt,
        like model: FileStatus?,
        draftOf base: FilePath
    ) throws(SystemError) -> FileHandle? {
        let isPrivate = model.map { $0.owner == SystemCalls.currentUser() && $0.permissions & ~FileMode.owner == 0 }
        if isPrivate ?? true { return try createInPlace(name, flags, like: model) }
        let draftName = base.randomDraft()
        guard let model, let draft = try createSibling(draftName, flags) else {
            throw SystemError(call: .open, path: handle.path.appending(draftName), number: Errno.fileExists)
        }
        do {
            try system.copyPermissions(of: model, to: draft)
            let file = try system.duplicate(draft, path: handle.path.appending(name))
            try system.renameExclusively(draftName, to: name, in: handle)
            return file
        } catch {
            discardDraft(draftName)
            switch error.number {
            case Errno.fileExists, Errno.noSuchFileOrDirectory:
                return nil
            case Errno.invalidArgument, Errno.noFunction, Errno.notSupported, Errno.notPermitted:
                // The file system, the C library or a sandbox does not support this.
                return try createInPlace(name, flags, like: model)
            default:
                throw error
            }
        }
    }

    private func createInPlace(
        _ name: FilePath,
        _ flags: CInt,
        like model: FileStatus?
    ) throws(SystemError) -> FileHandle? {
        guard let file = try createSibling(name, flags) else { return nil }
        do {
            if let model { try system.copyPermissions(of: model, to: file) }
            return file
        } catch {
            // It would keep the other users from creating it.
            discardDraft(name)
            throw error
        }
    }

    /// Whether an open file is the one with a name.
    func holds(_ file: FileHandle, as name: FilePath) throws(SystemError) -> Bool {
        let status = try system.status(of: file)
        return try status.isSameFile(as: system.linkStatus(at: name, in: handle))
    }

    /// Waits until the names in the directory survive a power loss.
    ///
    /// - Returns: Whether the directory can be synchronized: not without read access, and not on every file system.
    @discardableResult
    func synchronize() throws(SystemError) -> Bool { try system.synchronizeDirectory(".", in: handle) }
}

// MARK: - Drafts

extension SettingsDirectory {
    /// Writes a file under a name that no other process uses, with the owner and the permissions of another file.
    ///
    /// - Parameters:
    ///   - bytes: The contents.
    ///   - base: The file that the draft is going to replace; `nil` for the settings file.
    ///   - model: The other file; `nil` for the owner and the permissions of a new file.
    ///   - isSynchronized: Whether to wait for the disk.
    /// - Returns: The draft.
    /// - Throws: ``SystemError``. No file is left then.
    func writeDraft(
        _ bytes: [UInt8],
        of base: FilePath? = nil,
        like model: FileStatus?,
        isSynchronized: Bool
    ) throws -> (file: FileHandle, name: FilePath) {
        let name = (base ?? name).randomDraft()
        guard let file = try createSibling(name, OpenFlags.readWrite) else {
            throw SystemError(call: .open, path: handle.path.appending(name), number: Errno.fileExists)
        }
        do {
            try system.write(bytes, to: file)
            if let model { try system.copyPermissions(of: model, to: file) }
            if isSynchronized { try system.synchronize(file) }
        } catch {
            discardDraft(name)
            throw error
        }
        return (file, name)
    }

    /// Removes abandoned drafts, and makes sure that the next one can be removed, too.
    ///
    /// A draft has all values. An append-only directory would retain one for each attempt, and retains an empty one so.
    func prepareForDraft(of name: FilePath) throws(SystemError) {
        try removeAbandonedDrafts(of: name)
        let probe = name.randomDraft()
        if try createSibling(probe, OpenFlags.readOnly) != nil { try system.unlink(probe, in: handle) }
    }

    /// Removes the drafts of a file that killed processes have left behind.
    ///
    /// The caller holds the lock under which drafts of the file are written.
    ///
    /// - Throws: ``SystemError`` if a draft of this user cannot be removed. Another user's may be there on purpose.
    func removeAbandonedDrafts(of name: FilePath) throws(SystemError) {
        let names: [FilePath]
        do {
            names = try system.names(in: handle)
        } catch  where error.number == Errno.permissionDenied {
            // A directory that may be entered and not read.
            return
        }
        for draft in names where draft.isDraft(of: name) {
            do {
                try system.unlink(draft, in: handle)
            } catch {
                let status = try system.linkStatus(at: draft, in: handle)
                if let status, status.isRegular, status.owner == SystemCalls.currentUser() { throw error }
            }
        }
    }

    /// Removes a draft, or another new file, that is not used.
    func discardDraft(_ name: FilePath) {
        do {
            try system.unlink(name, in: handle)
        } catch {
            // It is removed before the next draft is written. The first error is the one to report.
        }
    }
}

extension FileStatus {
    fileprivate var isWritableByAll: Bool { permissions & .otherWrite != 0 }
    package var isWritableByGroup: Bool { permissions & .groupWrite != 0 }

    /// Whether the group of the file may read and write it.
    package var isSharedWithGroup: Bool { permissions & (.groupRead | .groupWrite) == .groupRead | .groupWrite }
}
