// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension FileStore {
    /// Builds the contents from those of the file and the journal's records that are not in it.
    ///
    /// - Returns: Whether the contents are current.
    func rebuild(_ request: ReloadRequest, _ wrongLooks: inout Int, _ effects: inout Effects) -> Bool {
        let base = readBase(request)
        let old = request.contents ?? [:]
        var contents = base.contents ?? old
        guard let journal = request.journal else {
            return state.withLock { state in
                guard usableJournal(state) == nil, state.version == request.version else { return false }
                for key in state.journal.journaled.keys { contents[key] = old[key] }
                publish(contents, .external, &state, &effects)
                settle(base, &state, &effects)
                return true
            }
        }
        guard let replay = replay(journal, request, &wrongLooks, &effects) else { return false }
        let fileContents = contents
        for record in replay.records {
            for (key, value) in record.values { contents[key] = value }
        }
        let changes = [StoreChange](from: old, to: contents)
        return state.withLock { state in
            guard !state.isClosed else { return true }
            guard state.journal.journal === journal, state.version == request.version else { return false }
            install(replay, over: fileContents, base.reading, (contents, changes), &state, &effects)
            settle(base, &state, &effects)
            return true
        }
    }

    /// Reads the records that are not in the file.
    ///
    /// - Returns: `nil` when the file has to be read again first, because it was replaced or a new epoch has begun.
    private func replay(
        _ journal: Journal,
        _ request: ReloadRequest,
        _ wrongLooks: inout Int,
        _ effects: inout Effects
    ) -> Journal.Replay? {
        do {
            if let facts = request.facts, let replay = try journal.replay(from: facts) {
                state.withLock { $0.journal.unreadable = nil }
                return replay
            }
            // Records that are invalid while nothing changes are damaged. A checkpoint, or a process that is writing,
            // changes one of these.
            guard journal.isAlive, journal.current?.epoch == request.facts,
                journal.published.word == request.published
            else {
                wrongLooks = 0
                return nil
            }
            wrongLooks += 1
            guard wrongLooks >= Self.mostWrongLooks else { return nil }
            reportDamage(journal, &effects)
            return try journal.salvage()
        } catch {
            // The values in memory remain in use. The next read tries again.
            return state.withLock { state in
                reportUnreadable(error, &state, &effects)
                let known = state.journal.journaled.map { key, end in
                    JournalRecord(values: [key: state.contents[key]], end: Int(end))
                }
                return Journal.Replay(
                    records: known,
                    position: state.journal.position,
                    salt: state.journal.salt,
                    // This word is never published, so the next read asks for the records again.
                    word: 0,
                    isWhole: true
                )
            }
        }
    }

    /// Makes the contents of a file and a journal visible.
    private func install(
        _ replay: Journal.Replay,
        over base: [String: StoredValue],
        _ reading: SettingsFile.Reading?,
        _ found: (contents: [String: StoredValue], changes: [StoreChange]),
        _ state: inout State,
        _ effects: inout Effects
    ) {
        var (contents, changes) = found
        let old = state.journal
        var journaled: [String: UInt32] = [:]
        for record in replay.records {
            for key in record.values.keys { journaled[key] = UInt32(record.end) }
        }
        var others: [String: StoredValue?] = [:]
        if !replay.isWhole, old.position.epoch == replay.position.epoch {
            // A value that this process knows to be committed outlives its damaged record.
            for (key, end) in old.journaled where journaled[key] == nil {
                others.updateValue(state.contents[key], forKey: key)
                journaled[key] = end
            }
        }
        for (key, value) in old.stranded?.values ?? [:] {
            // A value that another process has set since is newer, in the journal or in the file.
            guard journaled[key] == nil, isUnchanged(key, in: base, reading, state) else {
                state.journal.stranded?.values.removeValue(forKey: key)
                continue
            }
            others.updateValue(value, forKey: key)
            journaled[key] = replay.position.end
        }
        if !others.isEmpty {
            changes.removeAll { others[$0.key] != nil }
            for (key, value) in others {
                contents[key] = value
                changes.append(StoreChange(key: key, old: state.contents[key], new: value))
            }
            changes.sort { $0.key < $1.key }
        }
        (state.journal.position, state.journal.salt) = (replay.position, replay.salt)
        state.journal.seen = replay.word
        state.journal.journaled = journaled
        state.journal.isDamaged = !replay.isWhole
        state.fileValues = [:]
        for key in journaled.keys { state.fileValues.updateValue(base[key], forKey: key) }
        if !journaled.isEmpty { effects.isCheckpointDue = true }
        publish(changes, .external, &state, &effects, contents)
    }

    /// Whether the file has the same value under a key as when it was read last.
    private func isUnchanged(
        _ key: String,
        in base: [String: StoredValue],
        _ reading: SettingsFile.Reading?,
        _ state: State
    ) -> Bool {
        if let value = state.fileValues[key] { return base[key] == value }
        return reading?.status == state.reading?.status
    }
}
