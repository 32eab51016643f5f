// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension FileStore {
    /// Mends what is not right with the journal, whose lock is held.
    func recover(_ journal: Journal, isCut: Bool, _ state: inout State, _ effects: inout Effects) throws {
        if journal.isRetired {
            // Another one had taken its place, and now it is back.
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
            // The process that began the epoch has died before it published that, or one that replaced the journal.
            try journal.publish(position)
        }
        // Behind what was not read there is nothing to be built.
        if let error = state.journal.unreadable { throw error }
        try takeOverStranded(journal, &state, &effects)
        state.journal.noteLost(in: journal)
        state.journal.seen = journal.published.word
        versionStamp.update(journal.page, seen: state.journal.seen, version: state.version)
    }

    private static let longestJournal = 1 << 31

    /// Writes what is known to be committed anew, behind all that is in the journal.
    private func beginEpoch(of journal: Journal, _ state: inout State) throws {
        let changes = state.journaledChanges
        let size = max(try file.system.status(of: journal.file).size, JournalHeader.size)
        // Behind what is there, unless that is absurdly long, which no journal of this library is.
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

    /// Takes over what was committed to a journal that somebody has put this one in the place of.
    private func takeOverStranded(_ journal: Journal, _ state: inout State, _ effects: inout Effects) throws {
        guard var stranded = state.journal.stranded else { return }
        guard !stranded.lost.isTakenOver(into: journal) else { return forgetStranded(&state, &effects) }
        if let old = stranded.journal, old.isAlive, !old.isInherited {
            // Nobody commits to it any more when it is locked: who does so looks at the path afterwards.
            // Reads wait meanwhile, so this is tried again with the next commit rather than waited for.
            try FileLock.acquire(old.file, file.system, patience: .milliseconds(100)) { old.published.word }
            defer { release(old.file) }
            guard !old.isRetired else { return forgetStranded(&state, &effects) }
            // What was set in the new journal is newer.
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

    /// Goes on with what is in the file and the journal: another process has taken over what this one knew, and may have
    /// changed it since.
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
        // Most are visible already: they are those that this process has known all the time.
        for change in changes { state.journal.journaled[change.key] = state.journal.position.end }
        apply(changes.filter { $0.old != $0.new }, end: state.journal.position.end, .external, &state, &effects)
        effects.isCheckpointDue = true
    }

    /// Whether the journal is not where it should be, or not whole, or there is something to be taken over.
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

    /// Has a commit put the journal in order, soon.
    func repairLater() {
        guard schedule.isActive, !schedule.isRepairScheduled.exchange(true, ordering: .relaxed) else { return }
        WorkScheduler.shared.soon { [weak self] in
            guard let self else { return }
            schedule.isRepairScheduled.store(false, ordering: .relaxed)
            do {
                try write { _ in }
            } catch {
                // What is wrong was told when it was found; the next commit tries again, and throws.
            }
        }
    }
}
