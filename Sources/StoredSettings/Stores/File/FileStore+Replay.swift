// SPDX-License-Identifier: Apache-2.0

extension FileStore {
    /// Replays the records that were appended since the last time.
    func replayJournal(_ state: inout State, _ effects: inout Effects) {
        var mayBeSuperseded = true
        // When everything is read again, that starts with the newest records.
        while state.reload != .everything, let journal = state.journal.journal {
            if mayBeSuperseded, journal.isSuperseded {
                mayBeSuperseded = false
                if findJournal(&state, &effects) { return requireReload(&state, &effects) }
                continue
            }
            if !journal.isAlive || journal.isRetired || journal.isBeingReplaced {
                // The journal was truncated, removed or replaced, and another one may be at the path.
                if findJournal(&state, &effects) { return requireReload(&state, &effects) }
                guard journal.isAlive, !journal.isRetired else { return }
            }
            let published = journal.published
            guard published.word != state.journal.seen else { return }
            do {
                let position = state.journal.position
                if published.epoch == position.epoch, published.end >= position.end, !state.journal.isDamaged {
                    guard try takeRecords(of: journal, to: published, &state, &effects) else { continue }
                } else if let (epoch, _) = journal.current, state.journal.continues(into: epoch) {
                    state.journal.goOn(into: epoch)
                } else if let (epoch, end) = journal.current, state.journal.isAhead(of: epoch, at: end) {
                    // The next commit writes what this process knows anew.
                    if !state.journal.isDamaged { effects.errors.append(.olderJournal(journal.file.path)) }
                    state.journal.isDamaged = true
                    state.journal.seen = published.word
                    effects.needsRepair = true
                } else {
                    if let (epoch, _) = journal.current { state.journal.strand(by: epoch) { state.contents[$0] } }
                    if state.journal.stranded != nil { effects.needsRepair = true }
                    return requireReload(&state, &effects)
                }
                state.journal.unreadable = nil
            } catch {
                return reportUnreadable(error, &state, &effects)
            }
        }
    }

    /// - Returns: Whether the position has advanced.
    private func takeRecords(
        of journal: Journal,
        to published: JournalPosition,
        _ state: inout State,
        _ effects: inout Effects
    ) throws -> Bool {
        let position = state.journal.position
        let salt = state.journal.salt
        let reading = try journal.records(from: position.end, to: published.end, epoch: position.epoch, salt: salt)
        for record in reading.records {
            apply(record, &state, &effects)
        }
        state.journal.position.end = reading.end
        if !reading.records.isEmpty { effects.isCheckpointDue = true }
        if reading.isWhole {
            state.journal.seen = published.word
            return true
        }
        if let (epoch, _) = journal.current, epoch.epoch == position.epoch, epoch.checkpointed > reading.end {
            // A checkpoint has written these records to the file, and their space is in use again.
            requireReload(&state, &effects)
            return true
        }
        // The records are damaged, unless another process has started to overwrite them.
        guard journal.published == published, journal.isAlive else { return false }
        state.journal.isDamaged = true
        state.journal.seen = published.word
        reportDamage(journal, &effects)
        return true
    }

    /// Requests that the file and the journal are read again after the lock is released.
    func requireReload(_ state: inout State, _ effects: inout Effects) {
        state.needs(.everything)
        versionStamp.mustLook()
    }

    /// Applies a record of another process.
    private func apply(_ record: JournalRecord, _ state: inout State, _ effects: inout Effects) {
        var changes: [StoreChange] = []
        for (key, value) in record.values {
            // Newer than the value that is still to be carried over from the previous journal.
            state.journal.stranded?.values.removeValue(forKey: key)
            let old = state.contents[key]
            if old == value {
                noteRecord(of: key, over: old, end: UInt32(record.end), &state)
            } else {
                changes.append(StoreChange(key: key, old: old, new: value))
            }
        }
        changes.sort { $0.key < $1.key }
        apply(changes, end: UInt32(record.end), .external, &state, &effects)
    }

    /// Makes the changes of a record visible and records them with the observer.
    func apply(
        _ changes: [StoreChange],
        end: UInt32,
        _ origin: SettingChangeOrigin,
        _ state: inout State,
        _ effects: inout Effects
    ) {
        for change in changes { noteRecord(of: change.key, over: change.old, end: end, &state) }
        publish(changes, origin, &state, &effects)
    }

    /// Notes that the journal has a newer value than the file.
    private func noteRecord(of key: String, over old: StoredValue?, end: UInt32, _ state: inout State) {
        if state.journal.journaled.updateValue(end, forKey: key) == nil {
            state.fileValues.updateValue(old, forKey: key)
        }
        state.keysNewerThanFile?.insert(key)
    }

    /// Makes contents visible and records their changes with the observer.
    func publish(
        _ contents: [String: StoredValue],
        _ origin: SettingChangeOrigin,
        _ state: inout State,
        _ effects: inout Effects
    ) {
        publish([StoreChange](from: state.contents, to: contents), origin, &state, &effects)
    }

    /// Makes changes visible and records them with the observer.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - origin: The process that made them.
    ///   - state: The store's state.
    ///   - effects: Receives what to do afterwards.
    ///   - contents: The contents after the changes, if the caller has them.
    func publish(
        _ changes: [StoreChange],
        _ origin: SettingChangeOrigin,
        _ state: inout State,
        _ effects: inout Effects,
        _ contents: [String: StoredValue]? = nil
    ) {
        let changes = changes.allSatisfy { $0.old != $0.new } ? changes : changes.filter { $0.old != $0.new }
        guard !changes.isEmpty else { return }
        if let contents {
            state.contents = contents
        } else {
            for change in changes { state.contents[change.key] = change.new }
        }
        state.version &+= 1
        if let observer = state.observer {
            effects.observers.append(observer)
            effects.deliveries.append(observer.record(StoreCommit(changes: changes, origin: origin)))
        }
    }
}
