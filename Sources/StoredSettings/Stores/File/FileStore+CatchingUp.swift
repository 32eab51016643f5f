// SPDX-License-Identifier: Apache-2.0

extension FileStore {
    /// Takes over the records that were appended since the last time.
    func catchUp(_ state: inout State, _ news: inout News) {
        var mayBeSuperseded = true
        // What is going to be read anew begins with the newest records.
        while state.reload != .everything, let journal = state.journal.journal {
            if mayBeSuperseded, journal.isSuperseded {
                mayBeSuperseded = false
                if findJournal(&state, &news) { return beginAnew(&state, &news) }
                continue
            }
            if !journal.isAlive || journal.isRetired || journal.isBeingReplaced {
                // It was cut off, removed or replaced, and another one may be at the path.
                if findJournal(&state, &news) { return beginAnew(&state, &news) }
                guard journal.isAlive, !journal.isRetired else { return }
            }
            let published = journal.published
            guard published.word != state.journal.seen else { return }
            do {
                let position = state.journal.position
                if published.epoch == position.epoch, published.end >= position.end, !state.journal.isDamaged {
                    guard try takeRecords(of: journal, to: published, &state, &news) else { continue }
                } else if let (epoch, _) = journal.current, state.journal.continues(into: epoch) {
                    state.journal.goOn(into: epoch)
                } else {
                    if let (epoch, _) = journal.current { state.journal.strand(by: epoch) { state.contents[$0] } }
                    if state.journal.stranded != nil { news.needsRepair = true }
                    return beginAnew(&state, &news)
                }
                state.journal.unreadable = nil
            } catch {
                return reportUnreadable(error, &state, &news)
            }
        }
    }

    /// - Returns: Whether all was as it should be, so that the loop makes progress.
    private func takeRecords(
        of journal: Journal,
        to published: JournalGeneration,
        _ state: inout State,
        _ news: inout News
    ) throws -> Bool {
        let position = state.journal.position
        let salt = state.journal.salt
        let reading = try journal.records(from: position.end, to: published.end, epoch: position.epoch, salt: salt)
        for record in reading.records {
            apply(record, &state, &news)
        }
        state.journal.position.end = reading.end
        if !reading.records.isEmpty { news.isFoldDue = true }
        if reading.isWhole {
            state.journal.seen = published.word
            return true
        }
        if let (epoch, _) = journal.current, epoch.epoch == position.epoch, epoch.folded > reading.end {
            // They are in the file by now, and their place is being used again.
            beginAnew(&state, &news)
            return true
        }
        // Unless somebody has begun to write over them, they are damaged.
        guard journal.published == published, journal.isAlive else { return false }
        state.journal.isDamaged = true
        state.journal.seen = published.word
        reportDamage(journal, &news)
        return true
    }

    /// Has the file and the journal read again once the lock is free.
    func beginAnew(_ state: inout State, _ news: inout News) {
        state.needs(.everything)
        freshness.mustLook()
    }

    /// Takes over what a record says.
    private func apply(_ record: JournalRecord, _ state: inout State, _ news: inout News) {
        var changes: [StoreChange] = []
        for (key, value) in record.values {
            // Newer than what is still to be carried over from the journal before this one.
            state.journal.stranded?.values.removeValue(forKey: key)
            let old = state.contents[key]
            if old == value {
                noteRecord(of: key, over: old, end: UInt32(record.end), &state)
            } else {
                changes.append(StoreChange(key: key, old: old, new: value))
            }
        }
        changes.sort { $0.key < $1.key }
        apply(changes, end: UInt32(record.end), .external, &state, &news)
    }

    /// Makes the changes of a record visible and takes them down.
    func apply(
        _ changes: [StoreChange],
        end: UInt32,
        _ origin: SettingChangeOrigin,
        _ state: inout State,
        _ news: inout News
    ) {
        for change in changes { noteRecord(of: change.key, over: change.old, end: end, &state) }
        publish(changes, origin, &state, &news)
    }

    /// Notes that the journal has a newer value than the file.
    private func noteRecord(of key: String, over old: StoredValue?, end: UInt32, _ state: inout State) {
        if state.journal.unfolded.updateValue(end, forKey: key) == nil {
            state.fileValues.updateValue(old, forKey: key)
        }
        state.keysNewerThanFile?.insert(key)
    }

    /// Makes contents visible and takes down what they change.
    func publish(
        _ contents: [String: StoredValue],
        _ origin: SettingChangeOrigin,
        _ state: inout State,
        _ news: inout News
    ) {
        publish([StoreChange](from: state.contents, to: contents), origin, &state, &news)
    }

    /// Makes changes visible and takes them down.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - origin: Where they were made.
    ///   - state: The store's state.
    ///   - news: Receives what is to be done afterwards.
    ///   - contents: What they lead to, if that is known; it takes the place of the contents.
    func publish(
        _ changes: [StoreChange],
        _ origin: SettingChangeOrigin,
        _ state: inout State,
        _ news: inout News,
        _ contents: [String: StoredValue]? = nil
    ) {
        let changes = changes.allSatisfy { $0.old != $0.new } ? changes : changes.filter { $0.old != $0.new }
        guard !changes.isEmpty else { return }
        if let contents {
            state.contents = contents
        } else {
            for change in changes { state.contents[change.key] = change.new }
        }
        state.generation &+= 1
        if let observer = state.observer {
            news.observers.append(observer)
            news.deliveries.append(observer.record(StoreCommit(changes: changes, origin: origin)))
        }
    }
}
