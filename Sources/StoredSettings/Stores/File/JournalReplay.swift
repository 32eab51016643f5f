// SPDX-License-Identifier: Apache-2.0

import Synchronization

// How the state of a store follows its journal: finding it, and replaying its records.

extension FileStoreState {
    /// Replays the records that were appended since the last time.
    mutating func replayJournal() {
        var mayBeSuperseded = true
        // When everything is read again, that starts with the newest records.
        while reload != .everything, let current = journal.journal {
            if mayBeSuperseded, current.isSuperseded {
                mayBeSuperseded = false
                if findJournal() { return requireReload() }
                continue
            }
            if !current.isAlive || current.isRetired || current.isBeingReplaced {
                // The journal was truncated, removed or replaced, and another one may be at the path.
                if findJournal() { return requireReload() }
                guard current.isAlive, !current.isRetired else { return }
            }
            let published = current.published
            guard published.word != journal.seen else { return }
            do {
                let position = journal.position
                if published.epoch == position.epoch, published.end >= position.end, !journal.isDamaged {
                    guard try takeRecords(of: current, to: published) else { continue }
                    journal.unreadable = nil
                    // Other processes may append records faster than this one reads them. Those that were published
                    // before this read began are read.
                    return
                } else {
                    guard follow(current, to: published) else { return requireReload() }
                }
                journal.unreadable = nil
            } catch {
                if !current.file.isOpen {
                    if findJournal() { return requireReload() }
                    if journal.journal !== current { continue }
                }
                return reportUnreadable(error)
            }
        }
    }

    /// Replays the records up to a position in the same epoch.
    ///
    /// - Returns: Whether the position has advanced.
    private mutating func takeRecords(of current: Journal, to published: JournalPosition) throws -> Bool {
        let (position, salt) = (journal.position, journal.salt)
        let reading = try JournalReader(current)
            .records(
                from: position.end,
                to: published.end,
                epoch: position.epoch,
                salt: salt,
                omittingReplaced: !versionStamp.needsChanges.load(ordering: .acquiring)
            )
        for record in reading.records { apply(record) }
        journal.position.end = reading.end
        if !reading.records.isEmpty { effects.isCheckpointDue = true }
        if reading.isWhole {
            journal.seen = published.word
            return true
        }
        // Another epoch has begun, or the file contains an older copy or another journal.
        let newest = current.published
        guard newest.epoch == published.epoch, newest.end >= published.end, current.isAlive else { return false }
        guard let (epoch, _) = current.current, epoch.epoch == position.epoch, epoch.checkpointed <= reading.end else {
            // A checkpoint has written these records to the file, and their space is in use again. The process that begins
            // the next epoch may not have published it yet.
            requireReload()
            return true
        }
        // Within an epoch, the other records do not change, so these are damaged, whatever has been appended meanwhile.
        journal.isDamaged = true
        journal.seen = published.word
        reportDamage(current)
        return true
    }

    /// Follows the journal into another epoch.
    ///
    /// - Returns: Whether the contents include all its records. Otherwise, everything has to be read.
    private mutating func follow(_ current: Journal, to published: JournalPosition) -> Bool {
        guard let (epoch, end) = current.current else { return false }
        if journal.continues(into: epoch) {
            journal.enterNext(epoch)
            return true
        }
        if journal.isAhead(of: epoch, at: end) {
            // The next commit writes the values of this process again.
            if !journal.isDamaged { effects.errors.append(.olderJournal(current.file.path)) }
            journal.isDamaged = true
            journal.seen = published.word
            effects.needsRepair = true
            return true
        }
        journal.strand(by: epoch) { [contents] in contents[$0] }
        if journal.stranded != nil { effects.needsRepair = true }
        return false
    }

    /// Applies a record of another process.
    private mutating func apply(_ record: JournalRecord) {
        var changes: [StoreChange] = []
        for (key, value) in record.values {
            // Newer than the value that is still to be carried over from the previous journal.
            journal.stranded?.values.removeValue(forKey: key)
            let old = contents[key]
            if old == value {
                noteRecord(of: key, over: old, end: UInt32(record.end))
            } else {
                changes.append(StoreChange(key: key, old: old, new: value))
            }
        }
        changes.sort { $0.key < $1.key }
        apply(changes, end: UInt32(record.end), .external)
    }

    mutating func reportDamage(_ journal: Journal) {
        effects.errors.append(.damagedJournal(journal.file.path))
        effects.needsRepair = true
    }

    mutating func reportUnreadable(_ error: any Error) {
        let error = file.journalError(error)
        if journal.unreadable == nil { effects.errors.append(error) }
        journal.unreadable = error
    }
}

// MARK: - Finding the journal

extension FileStoreState {
    /// Opens the journal at the path, if it is not the known one.
    ///
    /// - Returns: Whether it is another journal, so that everything has to be read again.
    mutating func findJournal() -> Bool {
        do {
            let (isKnown, found): (Bool, Journal?) = try FileHandle.reopening {
                journal.path = try file.journalPath()
                if let known = journal.journal, !known.isSuperseded, try known.place(at: journal.path) != .elsewhere {
                    return (true, known)
                }
                return (false, try Journal.open(at: journal.path, file.system))
            }
            journal.problem = nil
            guard !isKnown else { return false }
            guard let found else {
                // The journal was removed, or none has been created yet. Values in the file need none.
                journal.forgetCheckpointed()
                if !journal.journaled.isEmpty { effects.needsRepair = true }
                return false
            }
            let isOther = adopt(found)
            if journal.stranded != nil { effects.needsRepair = true }
            return isOther
        } catch {
            let error = file.journalError(error)
            if journal.problem?.fact != error.fact { effects.errors.append(error) }
            journal.problem = error
            return false
        }
    }

    /// Adopts a journal that was found at the path.
    ///
    /// - Returns: Whether it is another journal, so that everything has to be read again.
    mutating func adopt(_ found: Journal) -> Bool {
        journal.adopt(found) { [contents] in contents[$0] }
    }

    /// Looks for the journal at the path if the known one was truncated, or its records are in another one.
    mutating func findUsableJournal() -> Journal? {
        if let known = journal.journal, known.isAlive, !known.isRetired, known.file.isOpen { return known }
        _ = findJournal()
        return usableJournal
    }

    /// The known journal, unless it was truncated, or its records are in another one.
    var usableJournal: Journal? {
        guard let known = journal.journal, known.isAlive, known.file.isOpen else { return nil }
        do {
            // A retired journal that is at the path again is in use until the next commit recovers it.
            return try !known.isRetired || known.place(at: journal.path) != .elsewhere ? known : nil
        } catch {
            return nil
        }
    }
}
