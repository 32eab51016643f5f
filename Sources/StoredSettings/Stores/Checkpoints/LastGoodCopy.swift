// SPDX-License-Identifier: Apache-2.0

/// The copy of the settings file that is used when the file cannot be read: `settings.json.last-good`.
///
/// A checkpoint replaces it together with the file. An outdated copy must not remain: it contains values that were removed,
/// and a new process would use them if the file were missing. A copy that cannot be written does not prevent the checkpoint.
package struct LastGoodCopy {
    private let directory: SettingsDirectory
    /// The header of the journal, which has the inode of the copy that this library wrote last, and whether it is outdated.
    ///
    /// It is written under the journal's lock. A commit may replace the journal.
    var page: SharedPage
    /// A new copy that has not replaced the old one yet.
    private var draft: (file: FileHandle, name: FilePath)?
    /// The old copy.
    ///
    /// While it is open, the system does not free its space, which may wait for the disk. That must not happen under the
    /// journal's lock.
    private var old: FileHandle?

    private var system: SystemCalls { directory.system }
    private var name: FilePath { directory.name.adding(SettingsFile.lastGoodSuffix) }

    var path: FilePath { directory.handle.path.appending(name) }

    init(in directory: SettingsDirectory, _ page: SharedPage) {
        (self.directory, self.page) = (directory, page)
    }

    /// Whether the copy has values that were replaced or removed since, according to a header.
    package static func isOutdated(in page: SharedPage) -> Bool { page[.lastGoodCondition] == 2 }

    /// Writes a new copy beside the old one, if that is possible.
    ///
    /// Otherwise the old copy is removed at the end, and the error of that is the one to report.
    mutating func prepare(for new: SettingsFile.Draft) {
        do {
            old = try directory.openSibling(name, OpenFlags.readOnly)
        } catch {
            // Then the rename may wait for the disk.
        }
        do {
            try write(new)
        } catch {
            // There is no draft to put in place.
        }
    }

    /// Closes the old copy, whose space may be needed.
    mutating func closeOld() {
        old = nil
    }

    /// Writes a new copy beside the old one, with the owner and the permissions of the settings file.
    ///
    /// - Parameters:
    ///   - new: The draft of the settings file.
    ///   - isSynchronized: Whether to wait for the disk.
    /// - Throws: ``SystemError``, or ``SettingsError`` when the file in the copy's place is not a copy.
    mutating func write(_ new: SettingsFile.Draft, isSynchronized: Bool = false) throws {
        guard try isOwn else { throw SettingsError.foreignSibling(path) }
        let draft = try directory.writeDraft(new.copy, like: new.reading.status, isSynchronized: isSynchronized)
        // When a rename replaces a file, ext4 first allocates the space of the new one. That may wait for the disk, so it
        // must not happen under the journal's lock.
        if !isSynchronized { system.startWriting(draft.file) }
        self.draft = draft
    }

    /// Replaces the copy by the draft.
    ///
    /// The caller holds the journal's lock.
    func place() throws {
        guard let draft, try directory.holds(draft.file, as: draft.name) else {
            throw SystemError(call: .rename, path: path, number: Errno.noSuchFileOrDirectory)
        }
        try system.rename(draft.name, to: name, in: directory.handle)
        page[.lastGood] = try system.status(of: draft.file).inode
        page[.lastGoodCondition] = 0
    }

    /// Replaces the copy by the draft, or notes in the header that the copy is outdated.
    ///
    /// The caller holds the journal's lock.
    func placeIfPossible() {
        do {
            try place()
        } catch {
            page[.lastGoodCondition] = 2
            discard()
        }
    }

    /// Writes the copy to the disk before the settings file is overwritten.
    ///
    /// The caller holds the journal's lock.
    ///
    /// - Parameter new: The draft of the settings file.
    /// - Throws: ``SystemError``, or ``SettingsError`` if another file is in the place of the copy.
    mutating func placeBeforeOverwriting(_ new: SettingsFile.Draft) throws {
        try write(new, isSynchronized: true)
        try place()
        // The name is needed on the disk as well: the copy is the only valid file if the power fails during the write.
        try directory.synchronize()
    }

    /// Removes the draft, if it was not put in place.
    func discard() {
        if let draft { directory.discardDraft(draft.name) }
    }

    /// Removes the copy, if there is one.
    ///
    /// The settings file and the journal contain all values. The caller holds the journal's lock.
    ///
    /// - Returns: The error to report when the file in the copy's place is not a copy. No process uses such a file.
    /// - Throws: ``SystemError``, or ``SettingsError`` when the copy is still there.
    func remove() throws -> SettingsError? {
        var foreign: SettingsError?
        do {
            guard try isOwn else { throw SettingsError.foreignSibling(path) }
            try system.unlink(name, in: directory.handle)
            page[.lastGood] = 0
        } catch let error as SystemError where error.number == Errno.noSuchFileOrDirectory {
            page[.lastGood] = 0
        } catch let error as SettingsError where [.untrustedFile, .malformedFile].contains(error.code) {
            foreign = error
        }
        page[.lastGoodCondition] = 0
        return foreign
    }

    /// Removes permissions that the settings file does not have from the copy.
    func narrowPermissions(to model: FileStatus) throws {
        do {
            guard let copy = try directory.openSibling(name, OpenFlags.readOnly) else { return }
            _ = try system.narrowPermissions(of: copy, to: model)
        } catch let error as SystemError where error.number == Errno.permissionDenied {
            // A member of the group that shares the settings file may not open a copy from before.
            let status = try system.linkStatus(at: name, in: directory.handle)
            if let status, status.narrowed(to: model).permissions != status.permissions { throw error }
        }
    }

    /// Whether the name is free, or the file is a copy that this library has written.
    ///
    /// Such a copy is JSON in the form that the library writes, or the remains of one after a power loss.
    private var isOwn: Bool {
        get throws {
            let knownInode = page[.lastGood]
            if knownInode != 0, let status = try system.linkStatus(at: name, in: directory.handle),
                status.isRegular, status.inode == knownInode
            {
                // The copy is replaced and never modified, so additional hard links do no harm.
                return true
            }
            guard let file = try directory.openSibling(name, OpenFlags.readOnly) else { return true }
            let bytes = try system.contents(of: file, limit: SettingsFile.longestFile)
            guard bytes.contains(where: { $0 != 0 }) else { return true }
            do {
                return try SettingsFileText(bytes, .strict).isCopy
            } catch {
                return false
            }
        }
    }
}

// MARK: - Reading

extension SettingsFile {
    /// Reads the last good copy.
    ///
    /// It is used instead of what cannot be read, which is what is reported.
    ///
    /// - Parameter known: The copy that was read last, which is not read again while it does not change.
    /// - Returns: The copy; `nil` when there is none that can be read.
    func readLastGood(known: Reading? = nil) -> Reading? {
        do {
            guard let handle = try openLastGood() else { return nil }
            if let known, try known.status == system.status(of: handle) { return known }
            return try read(handle, .strict)
        } catch {
            return nil
        }
    }

    private func openLastGood(in directory: SettingsDirectory? = nil) throws -> FileHandle? {
        let directory = try directory ?? self.directory()
        return try directory.openSibling(directory.name.adding(Self.lastGoodSuffix), OpenFlags.readOnly)
    }

    /// Whether there is a usable last good copy, according to its first byte.
    func hasLastGood() throws -> Bool {
        do {
            return try openLastGood().map { try system.contents(of: $0, in: 0..<1) == [UInt8(ascii: "{")] } ?? false
        } catch let error as SystemError where error.number == Errno.noSuchFileOrDirectory {
            return false
        } catch let error as SettingsError where error.code == .untrustedFile {
            return false
        }
    }

    /// Returns the last good values for the next copy: those that this process knows, and those of the last copy.
    ///
    /// A value of the last copy is retained while the value that was not used, and was copied with it, is stored.
    ///
    /// - Parameters:
    ///   - known: The values that this process knows.
    ///   - contents: The contents of the next copy.
    ///   - retains: Whether a key may have had no other value since, and no setting of this process uses the stored one.
    ///   - directory: The directory of the settings file.
    /// - Returns: The values, by key.
    func allLastGood(
        _ known: [String: StoredValue?],
        in contents: [String: StoredValue],
        _ retains: (String) -> Bool,
        _ directory: SettingsDirectory
    ) -> [String: StoredValue?] {
        do {
            guard let handle = try openLastGood(in: directory) else { return known }
            let start = SettingsFileText.startOfLastGood
            // Usually there are none. Then the copy need not be read.
            guard try system.contents(of: handle, in: 0..<start.count) == start else { return known }
            let copy = try read(handle, .strict)
            let retained = copy.lastGood.filter { key, _ in
                copy.contents.value(forKey: key) == contents.value(forKey: key) && retains(key)
            }
            return retained.merging(known) { $1 }
        } catch {
            // A copy that cannot be read is replaced, or the error of that is reported.
            return known
        }
    }
}
