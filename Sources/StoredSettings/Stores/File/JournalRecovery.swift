// SPDX-License-Identifier: Apache-2.0

// What the state of a store changes in the journal, while the store holds its lock.

extension FileStoreState {
    /// Recovers a journal whose lock the store holds, so that a record can be appended.
    ///
    /// - Parameters:
    ///   - current: The journal.
    ///   - isCut: Whether its file is shorter than its records.
    /// - Throws: ``SystemError`` or ``SettingsError`` if no record can be appended.
    mutating func recover(_ current: Journal, isCut: Bool) throws {
        if current.isRetired {
            // Another journal had replaced this one, which is back at the path.
            current.page[JournalHeader.retiredWord] = 0
            journal.isDamaged = true
        }
        if isCut, !journal.isDamaged {
            journal.isDamaged = true
            effects.errors.append(.cutJournal(current.file.path))
        }
        if journal.isDamaged {
            try beginEpoch(of: current)
        } else if let (_, position) = current.current, current.published != position || current.isBeingReplaced {
            // A process has died before it published the epoch that it began, or while it was replacing the journal.
            try current.publish(position)
            replayJournal()
            guard reload != .everything else { return }
        }
        // No record must follow records that could not be read.
        if let error = journal.unreadable { throw error }
        try takeOverStranded(into: current)
        journal.noteLost(in: current)
        journal.seen = current.published.word
    }

    private static let longestJournal = 1 << 31

    /// Writes the values that are known to be committed and not in the file after the end of the journal.
    private mutating func beginEpoch(of current: Journal) throws {
        let size = max(try file.system.status(of: current.file).size, JournalHeader.size)
        // A file of that length was not written by this library, so its end is not used.
        let start = UInt32(size > Self.longestJournal ? JournalHeader.size : (size + 7) / 8 * 8)
        let known = journal.position.epoch
        let epoch = JournalHeader.epoch(in: current.page)
        // Another epoch says nothing about the records that other processes know.
        let checkpointed = epoch?.epoch == known ? epoch?.checkpointed ?? 0 : 0
        try journal.enter(
            current.begin(
                at: start,
                with: journaledChanges,
                checkpointed: checkpointed,
                previousEnd: 0,
                after: known
            )
        )
        journal.isDamaged = false
    }

    /// Takes over the values of a journal that another file has replaced at the path.
    private mutating func takeOverStranded(into current: Journal) throws {
        guard var stranded = journal.stranded else { return }
        guard !stranded.lost.isTakenOver(into: current) else { return forgetStranded() }
        // In the same file, the lock is held already, and the records are those of this journal.
        if let old = stranded.journal, old.isAlive, !old.isInherited, !old.isSameFile(as: current) {
            // No process commits to the old journal after it is locked: a writer looks at the path after it has locked
            // a journal. Reads wait meanwhile, so the next commit tries again instead of waiting here.
            //
            // A process that may not write to the old journal cannot lock it. It may miss a record that is written now.
            // The process that writes it takes it over with its next commit.
            let isLocked = old.isWritable
            let patience = Duration.milliseconds(100)
            if isLocked { _ = try old.acquireLock(Patience(withoutProgress: patience, withSlowHolder: patience)) }
            defer { if isLocked { old.unlock() } }
            guard !old.isRetired else { return forgetStranded() }
            // A value that was set in the new journal is newer.
            let isOverwritten = { [journaled = journal.journaled, values = stranded.values] key in
                journaled[key] != nil && values[key] == nil
            }
            let (position, salt) = (stranded.lost.position, stranded.lost.salt)
            let reader = JournalReader(old)
            for record in try reader.records(from: position.end, to: nil, epoch: position.epoch, salt: salt).records {
                for (key, value) in record.values where !isOverwritten(key) {
                    stranded.values.updateValue(value, forKey: key)
                }
            }
            try append(stranded.values, to: current)
            if old.isWritable { try old.retire() }
        } else {
            try append(stranded.values, to: current)
        }
        journal.stranded = nil
    }

    /// Reads the file and the journal again: another process has taken over the values of the lost journal, and may have
    /// changed them since.
    private mutating func forgetStranded() {
        journal.stranded = nil
        requireReload()
    }

    /// Appends values that were committed to another journal.
    private mutating func append(_ values: [String: StoredValue?], to current: Journal) throws {
        guard !values.isEmpty else { return }
        let changes = values.map { StoreChange(key: $0.key, old: contents[$0.key], new: $0.value) }
            .sorted { $0.key < $1.key }
        let record = try JournalRecord.records(of: changes, epoch: journal.position.epoch, salt: journal.salt)
        journal.position = try current.append(record, after: journal.position)
        // Most of the values are already visible, because this process has had them in memory.
        for change in changes {
            journal.journaled[change.key] = journal.position.end
            keysNewerThanFile?.insert(change.key)
        }
        apply(changes.filter { $0.old != $0.new }, end: journal.position.end, .external)
        effects.isCheckpointDue = true
    }

    /// Appends the changes of a commit.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - current: The journal, which is locked and recovered.
    ///   - base: The version of the contents that the changes are based on.
    /// - Throws: ``SystemError`` or ``SettingsError`` if they cannot be appended. Nothing has changed then.
    mutating func commit(_ changes: [StoreChange], to current: Journal, since base: UInt64) throws {
        guard !isClosed else { throw SettingsError.suiteFinished }
        // Another thread has found another journal at the path.
        guard journal.journal === current else {
            throw SystemError(call: .lock, path: current.file.path, number: Errno.resourceTemporarilyUnavailable)
        }
        let record = try JournalRecord.bytes(of: changes, epoch: journal.position.epoch, salt: journal.salt)
        // Readers wait meanwhile. Otherwise, they would attribute the record to another process.
        let appended = try record.withUnsafeBytes {
            try current.append($0, after: journal.position, in: &journal.space)
        }
        journal.position = try appended ?? current.append(record, after: journal.position)
        journal.seen = journal.position.word
        var changes = changes
        if version != base {
            // The file was edited during the commit.
            for index in changes.indices { changes[index].old = contents[changes[index].key] }
        }
        apply(changes, end: journal.position.end, .local)
    }

    /// Whether the journal is not at its path, is damaged or truncated, or has values to take over.
    var needsRepair: Bool {
        guard let current = journal.journal else { return !journal.journaled.isEmpty }
        do {
            return try journal.isDamaged || journal.stranded != nil || current.isDistrusted
                || current.place(at: journal.path) != .here
        } catch {
            return true
        }
    }
}

// MARK: - After a checkpoint

// The space of the journal is reused. It then contains no value that the file no longer has.

extension FileStoreState {
    /// Begins a new epoch at the front of the journal if the records there are in the file.
    ///
    /// - Parameters:
    ///   - current: The journal, which is locked.
    ///   - epoch: Its epoch.
    /// - Throws: ``SystemError`` or ``SettingsError`` if further records follow and cannot be moved.
    mutating func reuse(_ current: Journal, _ epoch: JournalEpoch) throws {
        let end = journal.position.end
        let front = UInt32(JournalHeader.size)
        var tail: [StoreChange] = []
        if end > epoch.checkpointed {
            // Further records follow. They are moved only if the journal has become long, and they fit before their old
            // place.
            guard Int(end) > schedule.journalBound, end - epoch.checkpointed < epoch.checkpointed / 2 else { return }
            tail = journaledChanges
        } else if end == front {
            return
        }
        journal.dropCheckpointed(upTo: epoch.checkpointed)
        try journal.enter(
            current.begin(
                at: front,
                with: tail,
                checkpointed: epoch.checkpointed,
                previousEnd: end,
                limit: tail.isEmpty ? 0 : epoch.checkpointed
            )
        )
    }

    /// Clears the space of records that are in the file.
    ///
    /// An empty journal receives the permissions of the file.
    ///
    /// The header on the disk must contain the checkpointed end of this epoch, or of the previous one if no checkpoint
    /// was made in this one.
    ///
    /// - Parameter current: The journal, which is locked.
    /// - Throws: ``SystemError`` or ``SettingsError`` if part of the space may not be cleared.
    mutating func clearUnused(_ current: Journal) throws {
        guard let (epoch, position) = current.current else { return }
        let front = UInt32(JournalHeader.size)
        let known = journal.cleared?.epoch == epoch.epoch ? journal.cleared : nil
        try file.directory().removeAbandonedDrafts(of: current.file.path.name)
        try current.clear(from: known?.front ?? front, to: epoch.checkpointed)
        let limit = current.page[JournalHeader.limitWord]
        if limit != 0 {
            // The header on the disk still refers to the space that follows, so the next checkpoint clears it.
            try current.clear(from: position.end, to: UInt32(clamping: limit))
            journal.cleared = nil
            return
        }
        try current.clear(behind: position.end)
        journal.cleared = JournalState.Cleared(epoch: epoch.epoch, front: epoch.checkpointed)
        guard position.end == front, let status = settings.reading?.status else { return }
        try current.copyPermissions(of: status)
    }
}
