// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension FileStore {
    /// Makes the contents anew from those of the file and the journal's records that are not in it.
    ///
    /// - Returns: Whether the contents are up to date.
    func rebuild(_ request: ReloadRequest, _ wrongLooks: inout Int, _ news: inout News) -> Bool {
        let base = readBase(request)
        let old = request.contents ?? [:]
        var contents = base.contents ?? old
        guard let journal = request.journal else {
            return state.withLock { state in
                guard usableJournal(state) == nil, state.generation == request.generation else { return false }
                for key in state.journal.unfolded.keys { contents[key] = old[key] }
                publish(contents, .external, &state, &news)
                settle(base, &state, &news)
                return true
            }
        }
        guard let replay = replay(journal, request, &wrongLooks, &news) else { return false }
        let fileContents = contents
        for record in replay.records {
            for (key, value) in record.values { contents[key] = value }
        }
        let changes = [StoreChange](from: old, to: contents)
        return state.withLock { state in
            guard !state.isClosed else { return true }
            guard state.journal.journal === journal, state.generation == request.generation else { return false }
            install(replay, over: fileContents, base.reading, (contents, changes), &state, &news)
            settle(base, &state, &news)
            return true
        }
    }

    /// Reads the records that are not in the file.
    ///
    /// - Returns: `nil` when the file has to be read again first, since it was replaced, or a new epoch has begun.
    private func replay(
        _ journal: Journal,
        _ request: ReloadRequest,
        _ wrongLooks: inout Int,
        _ news: inout News
    ) -> Journal.Replay? {
        do {
            if let facts = request.facts, let replay = try journal.replay(from: facts) {
                state.withLock { $0.journal.unreadable = nil }
                return replay
            }
            // Records that are wrong while nothing changes are damaged. A checkpoint, or a process that is just writing,
            // changes one of these.
            guard journal.isAlive, journal.current?.epoch == request.facts,
                journal.published.word == request.published
            else {
                wrongLooks = 0
                return nil
            }
            wrongLooks += 1
            guard wrongLooks >= Self.mostWrongLooks else { return nil }
            reportDamage(journal, &news)
            return try journal.salvage()
        } catch {
            // What is in memory is used further; the next read tries again.
            return state.withLock { state in
                reportUnreadable(error, &state, &news)
                let known = state.journal.unfolded.map { key, end in
                    JournalRecord(values: [key: state.contents[key]], end: Int(end))
                }
                return Journal.Replay(
                    records: known,
                    position: state.journal.position,
                    salt: state.journal.salt,
                    // None that is ever published, so that the records are asked for again.
                    word: 0,
                    isWhole: true
                )
            }
        }
    }

    /// Makes contents visible that a file and a journal have been found to hold.
    private func install(
        _ replay: Journal.Replay,
        over base: [String: StoredValue],
        _ reading: SettingsFile.Reading?,
        _ found: (contents: [String: StoredValue], changes: [StoreChange]),
        _ state: inout State,
        _ news: inout News
    ) {
        var (contents, changes) = found
        let old = state.journal
        var unfolded: [String: UInt32] = [:]
        for record in replay.records {
            for key in record.values.keys { unfolded[key] = UInt32(record.end) }
        }
        var others: [String: StoredValue?] = [:]
        if !replay.isWhole, old.position.epoch == replay.position.epoch {
            // What this process knows to be committed is not lost with its record.
            for (key, end) in old.unfolded where unfolded[key] == nil {
                others.updateValue(state.contents[key], forKey: key)
                unfolded[key] = end
            }
        }
        for (key, value) in old.stranded?.values ?? [:] {
            // What other processes have set since is newer, in the journal or in the file.
            guard unfolded[key] == nil, isUnchanged(key, in: base, reading, state) else {
                state.journal.stranded?.values.removeValue(forKey: key)
                continue
            }
            others.updateValue(value, forKey: key)
            unfolded[key] = replay.position.end
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
        state.journal.unfolded = unfolded
        state.journal.isDamaged = !replay.isWhole
        state.fileValues = [:]
        for key in unfolded.keys { state.fileValues.updateValue(base[key], forKey: key) }
        if !unfolded.isEmpty { news.isFoldDue = true }
        publish(changes, .external, &state, &news, contents)
    }

    /// Whether the file has the value under a key that it had when it was read last.
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
