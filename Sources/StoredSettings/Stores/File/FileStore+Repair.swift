// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension FileStore {
    /// Recovers a journal.
    ///
    /// The caller holds its lock.
    func recover(_ journal: Journal, isCut: Bool, _ state: inout State, _ effects: inout Effects) throws {
        if journal.isRetired {
            // Another journal had replaced this one, which is back at the path.
            journal.page[JournalHeader.retiredWord] = 0
            state.journal.isDamaged = true
        }
        if isCut, !state.journal.isDamaged {
            state.journal.isDamaged = true
            effects.errors.append(.cutJournal(journal.file.path))
        }
        if state.journal.isDamaged {
            try beginEpoch(of: journal, &state)
        } else if journal.page[JournalHeader.positionWord] != state.journal.position.word,
            let (_, position) = journal.current
        {
            // A process has died before it published the epoch that it began, or while it was replacing the journal.
            try journal.publish(position)
        }
        // No record must follow records that could not be read.
        if let error = state.journal.unreadable { throw error }
        try takeOverStranded(journal, &state, &effects)
        state.journal.noteLost(in: journal)
        state.journal.seen = journal.published.word
        versionStamp.update(journal.page, seen: state.journal.seen, version: state.version)
    }

    private static let longestJournal = 1 << 31

    /// Appends the values that are known to be committed and not in the file, after the end of the journal.
    private func beginEpoch(of journal: Journal, _ state: inout State) throws {
        let changes = state.journaledChanges
        let size = max(try file.system.status(of: journal.file).size, JournalHeader.size)
        // A file of that length was not written by this library, so its end is not used.
        let start = UInt32(size > Self.longestJournal ? JournalHeader.size : (size + 7) / 8 * 8)
        let known = state.journal.position.epoch
        let facts = JournalHeader.epoch(in: journal.page)
        // Facts of another epoch say nothing about the records that other processes know.
        let checkpointed = facts?.epoch == known ? facts?.checkpointed ?? 0 : 0
        try state.journal.enter(
            journal.begin(at: start, with: changes, checkpointed: checkpointed, previousEnd: 0, after: known)
        )
        state.journal.isDamaged = false
    }

    /// Takes over the values of a journal that another file has replaced at the path.
    private func takeOverStranded(_ journal: Journal, _ state: inout State, _ effects: inout Effects) throws {
        guard var stranded = state.journal.stranded else { return }
        guard !stranded.lost.isTakenOver(into: journal) else { return forgetStranded(&state, &effects) }
        if let old = stranded.journal, old.isAlive, !old.isInherited {
            // No process commits to the old journal after it is locked: a writer looks at the path after it has locked
            // a journal. Reads wait meanwhile, so the next commit tries again instead of waiting here.
            try FileLock.acquire(old.file, file.system, patience: .milliseconds(100)) { old.published.word }
            defer { release(old.file) }
            guard !old.isRetired else { return forgetStranded(&state, &effects) }
            // A value that was set in the new journal is newer.
            let isOverwritten = { [journaled = state.journal.journaled, values = stranded.values] key in
                journaled[key] != nil && values[key] == nil
            }
            let position = stranded.lost.position
            let salt = stranded.lost.salt
            for record in try old.records(from: position.end, to: nil, epoch: position.epoch, salt: salt).records {
                for (key, value) in record.values where !isOverwritten(key) {
                    stranded.values.updateValue(value, forKey: key)
                }
            }
            try append(stranded.values, to: journal, &state, &effects)
            if old.isWritable { try old.retire() }
        } else {
            try append(stranded.values, to: journal, &state, &effects)
        }
        state.journal.stranded = nil
    }

    /// Reads the file and the journal again: another process has taken over the values that this one knew of, and may
    /// have changed them since.
    private func forgetStranded(_ state: inout State, _ effects: inout Effects) {
        state.journal.stranded = nil
        requireReload(&state, &effects)
    }

    private func append(
        _ values: [String: StoredValue?],
        to journal: Journal,
        _ state: inout State,
        _ effects: inout Effects
    ) throws {
        guard !values.isEmpty else { return }
        let changes = values.map { StoreChange(key: $0.key, old: state.contents[$0.key], new: $0.value) }
            .sorted { $0.key < $1.key }
        let (epoch, salt) = (state.journal.position.epoch, state.journal.salt)
        let record = try JournalRecord.records(of: changes, epoch: epoch, salt: salt)
        state.journal.position = try journal.append(record, after: state.journal.position)
        // Most of the values are already visible, because this process has had them in memory.
        for change in changes { state.journal.journaled[change.key] = state.journal.position.end }
        apply(changes.filter { $0.old != $0.new }, end: state.journal.position.end, .external, &state, &effects)
        effects.isCheckpointDue = true
    }

    /// Whether the journal is not at its path, is damaged or truncated, or has values to take over.
    func needsRepair() -> Bool {
        state.withLock { state in
            guard let journal = state.journal.journal else { return !state.journal.journaled.isEmpty }
            do {
                return try state.journal.isDamaged || state.journal.stranded != nil || journal.isDistrusted
                    || journal.place(at: state.journal.path) != .here
            } catch {
                return true
            }
        }
    }

    /// Schedules a commit that recovers the journal.
    func repairLater() {
        guard schedule.isActive, !schedule.isRepairScheduled.exchange(true, ordering: .relaxed) else { return }
        WorkScheduler.shared.soon { [weak self] in
            guard let self else { return }
            schedule.isRepairScheduled.store(false, ordering: .relaxed)
            do {
                try write { _ in }
            } catch {
                // The problem was reported when it was found. The next commit tries again, and throws.
            }
        }
    }
}
