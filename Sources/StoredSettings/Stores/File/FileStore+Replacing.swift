// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// A journal is replaced by a new file for three reasons: its format is an old one, the disk failed to take what was written
// to it, or it has become much longer than what it says.

extension FileStore {
    /// Replaces the journal, if it has to be.
    ///
    /// The caller holds `writer` and the journal's lock, and not the state's: this waits for the disk, and reads go on.
    ///
    /// - Parameters:
    ///   - journal: The journal, which is locked and in order.
    ///   - mustBeTrusted: Whether the caller needs to know what the disk has.
    ///   - effects: Receives what is to be reported.
    /// - Returns: The journal that is at the path now, locked. If it is another one, the caller unlocks the old one.
    /// - Throws: ``SystemError`` or ``SettingsError`` when a journal that cannot be used on cannot be replaced.
    func replaced(_ journal: Journal, mustBeTrusted: Bool, _ effects: inout Effects) throws -> Journal {
        let isDue = mustBeTrusted || journal.page[JournalHeader.limitWord] != 0
        let isRequired = journal.isUnsalted || journal.isDistrusted && isDue
        guard isRequired || state.withLock({ isTooLong(journal, $0) }) else { return journal }
        LockHolder.current?.store(as: .journal, in: journal.page)
        defer { LockHolder.remove(as: .journal, from: journal.page) }
        do {
            return try replace(journal)
        } catch {
            guard !isRequired else { throw error }
            // Sets go on while they can. The next attempt is due when the journal is half as long again.
            let isFirst = state.withLock { state in
                let end = state.journal.position.end
                defer { state.journal.replacingEnd = UInt32(clamping: UInt64(end) + UInt64(end / 2)) }
                return state.journal.replacingEnd == 0
            }
            var error = writeError(error)
            error.consequence = "the journal goes on growing; what was set is safe in it"
            if isFirst { effects.errors.append(error) }
            return journal
        }
    }

    /// Whether the journal has grown although it has been due for a checkpoint for long, and is mostly records whose values
    /// were replaced since, as far as that is known.
    private func isTooLong(_ journal: Journal, _ state: State) -> Bool {
        let end = state.journal.position.end
        guard Int(end) > schedule.journalBound * 2, end >= state.journal.replacingEnd,
            let epoch = journal.current?.epoch
        else { return false }
        return (end - epoch.start) / 2 > epoch.firstEnd - epoch.start
    }

    /// Puts a new journal in the place of one, with all that is not in the settings file as one record.
    ///
    /// The new one is on the disk before it gets its name. Whichever of the two a loss of power leaves at the path, it has
    /// all that was synchronized. Processes that use the old one find the new one: by a bit of the position that is set
    /// before the new one gets its name, and by the word that retires the old one afterwards.
    private func replace(_ old: Journal) throws -> Journal {
        let directory = try file.directory()
        // Neither changes meanwhile: both locks are held.
        let (changes, position) = state.withLock { ($0.journaledChanges, $0.journal.position) }
        let draft = try Journal.draft(changes, replacing: old, at: position, in: directory)
        do {
            try state.withLock { state in
                guard state.journal.journal === old, try directory.holds(draft.journal.file, as: draft.name) else {
                    throw SystemError(call: .rename, path: directory.handle.path.appending(draft.name), number: ENOENT)
                }
                do {
                    old.beginReplacing()
                    try file.system.rename(draft.name, to: old.file.path.name, in: directory.handle)
                } catch {
                    try old.publish(position)
                    throw error
                }
                state.journal.move(to: draft.journal, draft.epoch)
                versionStamp.update(draft.journal.page, seen: state.journal.seen, version: state.version)
            }
        } catch {
            Journal.discard(draft.name, in: directory)
            throw error
        }
        do {
            try old.retire()
        } catch {
            // Its header is gone, which tells its users as well.
        }
        return draft.journal
    }
}

/// A new journal that is on the disk and not at its path yet.
struct JournalDraft {
    /// The name that it has for the moment.
    var name: FilePath
    var journal: Journal
    var epoch: JournalEpoch
}

extension Journal {
    /// Writes a new journal beside one whose place it is to take.
    ///
    /// - Parameters:
    ///   - changes: All that is not in the settings file.
    ///   - old: The journal to be replaced, whose owner and permissions the new one gets.
    ///   - position: How far the old one has come.
    ///   - directory: Where it is.
    /// - Returns: The journal, locked.
    /// - Throws: ``SystemError`` or ``SettingsError``; then no file is left.
    static func draft(
        _ changes: [StoreChange],
        replacing old: Journal,
        at position: JournalPosition,
        in directory: SettingsDirectory
    ) throws -> JournalDraft {
        let system = directory.system
        let name = DraftName.random(for: old.file.path.name)
        guard let file = try directory.createSibling(name, O_RDWR | O_NONBLOCK) else {
            throw SystemError(call: .open, path: directory.handle.path.appending(name), number: EEXIST)
        }
        do {
            // No other process knows the file.
            guard try system.tryLock(file) else { throw SystemError(call: .lock, path: file.path, number: EAGAIN) }
            var epoch = JournalEpoch.first()
            if !changes.isEmpty {
                let record = try JournalRecord.records(of: changes, epoch: epoch.epoch, salt: epoch.salt)
                let (end, isOverflow) = epoch.start.addingReportingOverflow(UInt32(clamping: record.count))
                guard !isOverflow else { throw SystemError(call: .write, path: file.path, number: EFBIG) }
                epoch.firstEnd = end
                try system.write(record, to: file, at: Int(epoch.start))
            }
            try system.write(JournalHeader.bytes(epoch, replacing: old, at: position), to: file)
            try system.copyPermissions(of: system.status(of: old.file), to: file)
            try system.synchronize(file)
            let renamed = try system.duplicate(file, path: old.file.path)
            guard let journal = try Journal.opened(renamed, isWritable: true, system) else {
                throw SystemError(call: .write, path: file.path, number: EIO)
            }
            return JournalDraft(name: name, journal: journal, epoch: epoch)
        } catch {
            discard(name, in: directory)
            throw error
        }
    }

    /// Removes the drafts of journals that processes have left when they were killed.
    ///
    /// The caller holds the journal's lock, so no other process is writing one.
    func removeAbandonedDrafts(in directory: SettingsDirectory) throws {
        for name in try directory.drafts(of: file.path.name) {
            Self.discard(name, in: directory)
        }
    }

    fileprivate static func discard(_ name: FilePath, in directory: SettingsDirectory) {
        do {
            try directory.system.unlink(name, in: directory.handle)
        } catch {
            // It is removed by a later checkpoint; the error to report is the one that came first.
        }
    }
}
