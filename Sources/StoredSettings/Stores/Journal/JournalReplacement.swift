// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "A journal can be replaced".

// Replacing a journal by a new file.
//
// There are three reasons: the disk failed to write part of it, users that have lost access to the settings file may have it
// open, or it has become much longer than its contents.
//
// The caller holds ``FileStore/writer`` and the journal's lock, but not the state lock: replacing waits for the disk, and
// reads continue.

extension JournalLocker {
    /// Replaces a journal if necessary.
    ///
    /// - Parameters:
    ///   - old: The journal, which is locked and recovered.
    ///   - effects: Receives errors to report.
    /// - Returns: The journal that is now at the path, locked. If it is another one, the caller unlocks the old one.
    /// - Throws: ``SystemError`` or ``SettingsError`` if a journal that must not be used any longer cannot be replaced; the error
    ///   of ``WaitLimit/check()``, because this waits for the disk.
    func replaceIfDue(_ old: Journal, _ effects: inout Effects) throws -> Journal {
        let isDue = mustBeTrusted || old.page[.limit] != 0
        let isRequired = old.isReadableByOthers || old.isUnreliable && isDue
        guard isRequired || store.peek({ $0.journal.isTooLong(old, bound: store.schedule.journalBound) }) else {
            return old
        }
        try WaitLimit.check()
        LockHolder.current?.store(as: .journal, in: old.page)
        defer { LockHolder.remove(as: .journal, from: old.page) }
        do {
            return try replace(old, &effects)
        } catch {
            guard !isRequired else { throw error }
            // Sets continue while the journal can be used.
            let isFirst = store.withState(&effects) { $0.journal.postponeReplacement() }
            var error = store.file.writeError(error)
            error.consequence = "the journal continues to grow; all changes are safe in it"
            if isFirst { effects.report(error) }
            return old
        }
    }

    /// Replaces a journal by a new one that contains, as one record, all changes that are not in the settings file.
    ///
    /// The new journal is on the disk before it is renamed. Whichever of the two is at the path after a power loss, it
    /// contains all synchronized changes. Processes that use the old journal find the new one in two ways: by a bit of
    /// the position, which is set before the rename, and by the word that retires the old journal afterwards.
    private func replace(_ old: Journal, _ effects: inout Effects) throws -> Journal {
        let directory = try store.file.directory()
        // Neither can change meanwhile, because both locks are held.
        let (changes, position) = store.peek { ($0.journaledChanges, $0.journal.position) }
        try directory.prepareForDraft(of: old.file.path.name)
        let draft = try Journal.draft(changes, replacing: old, at: position, in: directory)
        do {
            try store.withState(&effects) { state in
                // The path may lead to another directory since the old journal was found at it.
                guard state.journal.journal === old, try directory.holds(draft.journal.file, as: draft.name),
                    try directory.holds(old.file, as: old.file.path.name)
                else {
                    throw SystemError(
                        call: .rename,
                        path: directory.handle.path.appending(draft.name),
                        number: Errno.noSuchFileOrDirectory
                    )
                }
                // A checkpoint may have begun or ended since the draft was written.
                for word in JournalHeader.keptWords { draft.journal.page[index: word] = old.page[index: word] }
                do {
                    old.beginReplacing()
                    try directory.system.rename(draft.name, to: old.file.path.name, in: directory.handle)
                } catch {
                    try old.publish(position)
                    throw error
                }
                state.journal.move(to: draft.journal, draft.epoch)
            }
        } catch {
            directory.discardDraft(draft.name)
            throw error
        }
        do {
            try old.retire()
        } catch {
            // The header is gone, and the processes that use the journal notice that as well.
        }
        return draft.journal
    }
}

extension Journal {
    /// Writes a new journal beside the one that it is going to replace.
    ///
    /// - Parameters:
    ///   - changes: All changes that are not in the settings file.
    ///   - old: The journal to replace. The new one receives its owner and permissions, as far as the settings file has
    ///     them.
    ///   - position: The position of the old journal.
    ///   - directory: The directory of both.
    /// - Returns: The journal, locked and on the disk, its temporary name, and its epoch.
    /// - Throws: ``SystemError`` or ``SettingsError``. No file is left then.
    fileprivate static func draft(
        _ changes: [StoreChange],
        replacing old: Journal,
        at position: JournalPosition,
        in directory: SettingsDirectory
    ) throws -> (name: FilePath, journal: Journal, epoch: JournalEpoch) {
        let system = directory.system
        var epoch = JournalEpoch.first()
        var record: [UInt8] = []
        if !changes.isEmpty {
            record = try JournalRecord.bytesOfRecords(of: changes, epoch: epoch.epoch, salt: epoch.salt)
        }
        epoch.firstEnd = try old.end(of: record.count, from: epoch.start)
        // The first record follows the header.
        let header = JournalHeader.words(epoch, replacing: old, at: position)
        let bytes = JournalHeader.bytes(of: header) + record
        let settings = try directory.status().flatMap { $0.isRegular ? $0 : nil }
        var model = try system.status(of: old.file)
        if let settings {
            model = model.narrowed(to: settings)
            // Only root can give the file to another user.
            (model.owner, model.group) = (settings.owner, settings.group)
        }
        let base = old.file.path.name
        let (file, name) = try directory.writeDraft(bytes, of: base, like: model, isSynchronized: false)
        do {
            // If the group could not be copied.
            if let settings { _ = try system.narrowPermissions(of: file, to: settings) }
            try old.checkUsers(of: file, settings, in: directory)
            try system.synchronize(file)
            let renamed = try system.duplicate(file, path: old.file.path)
            guard let journal = try Journal.opened(renamed, isWritable: true, system) else {
                throw SystemError(call: .write, path: file.path, number: Errno.ioError)
            }
            // No other process knows it yet.
            guard try journal.lock.acquireIfFree() else {
                throw SystemError(call: .lock, path: file.path, number: Errno.resourceTemporarilyUnavailable)
            }
            return (name, journal, epoch)
        } catch {
            directory.discardDraft(name)
            throw error
        }
    }

    /// Throws if a draft would replace an exposed journal that the owner of the settings file would not use.
    ///
    /// Users use each other's files only if the settings file is shared with their group. So a member that sets a value
    /// after the owner has removed the group's permissions would exclude the owner. The owner's next set replaces the
    /// journal instead.
    ///
    /// - Parameters:
    ///   - draft: The draft, which has its permissions.
    ///   - settings: The settings file; `nil` when there is none.
    ///   - directory: The directory of both.
    /// - Throws: ``SystemError``, with `EACCES`.
    private func checkUsers(of draft: FileHandle, _ settings: FileStatus?, in directory: SettingsDirectory) throws {
        let user = SystemCalls.currentUser()
        guard isReadableByOthers, user != 0, let owner = settings?.owner, user != owner,
            try !directory.isTrustedByOthers(system.status(of: draft))
        else { return }
        throw SystemError(call: .open, path: file.path, number: Errno.permissionDenied)
    }
}
