// SPDX-License-Identifier: Apache-2.0

extension FileStore {
    /// Where the journal is, or is to be: beside the file that the path leads to now.
    func journalPath() throws -> FilePath {
        try SettingsPath.target(of: file.path, file.system).adding(SettingsFile.journalSuffix)
    }

    /// Finds the journal that is at the path, if it is another one than is known.
    ///
    /// - Returns: Whether it is, so that the contents have to be made anew.
    func findJournal(_ state: inout State, _ news: inout News) -> Bool {
        do {
            let path = try journalPath()
            state.journal.path = path
            if let journal = state.journal.journal, try journal.place(at: path) != .elsewhere {
                state.journal.problem = nil
                return false
            }
            let journal = try Journal.open(at: path, file.system)
            state.journal.problem = nil
            guard let journal else {
                // It was removed, or nobody has made one yet. What is in the file needs none.
                state.journal.forgetFolded()
                if !state.journal.unfolded.isEmpty { news.needsRepair = true }
                return false
            }
            let isOther = state.journal.adopt(journal) { state.contents[$0] }
            if state.journal.stranded != nil { news.needsRepair = true }
            return isOther
        } catch {
            let error = journalError(error)
            if state.journal.problem?.fact != error.fact { news.errors.append(error) }
            state.journal.problem = error
            return false
        }
    }

    /// Makes the contents anew from those of the file and the journal's records that are not in it.
    ///
    /// - Parameters:
    ///   - state: The store's state.
    ///   - news: Is told what is to be done afterwards.
    ///   - base: Gives the contents of the file; asked again when they have become too old meanwhile.
    /// - Throws: What `base` throws.
    func rebuild(
        _ state: inout State,
        _ news: inout News,
        on base: () throws -> [String: StoredValue]
    ) rethrows {
        var wrongLooks = 0
        for _ in 0..<Self.mostAttempts {
            guard let journal = usableJournal(&state, &news) else {
                let contents = try base()
                let unfolded = state.journal.unfolded.keys
                let changed = unfolded.reduce(into: contents) { $0[$1] = state.contents[$1] }
                return publish(changed, .external, &state, &news)
            }
            // The journal's facts are from before the file is read, so that the file has all that they say it has.
            let facts = journal.current?.epoch
            let published = journal.published
            let contents = try base()
            let replay = replay(journal, from: facts, published, &wrongLooks, &state, &news)
            guard let replay else {
                SystemCalls.sleep(seconds: 0.001)
                continue
            }
            return install(replay, over: contents, &state, &news)
        }
        // Other processes have made checkpoints all the time. The next read tries again.
        freshness.mustLook()
    }

    /// The journal, unless its records are in another one, or it was cut off; `nil` when there is none.
    private func usableJournal(_ state: inout State, _ news: inout News) -> Journal? {
        if let journal = state.journal.journal, journal.isAlive, !journal.isRetired { return journal }
        _ = findJournal(&state, &news)
        guard let journal = state.journal.journal, journal.isAlive else { return nil }
        do {
            // A retired one that is at the path again is in use until the next commit repairs it.
            return try !journal.isRetired || journal.place(at: state.journal.path) != .elsewhere ? journal : nil
        } catch {
            return nil
        }
    }

    private func install(
        _ replay: Journal.Replay,
        over base: [String: StoredValue],
        _ state: inout State,
        _ news: inout News
    ) {
        var contents = base
        let old = state.journal
        var unfolded: [String: UInt32] = [:]
        for record in replay.records {
            for (key, value) in record.values {
                contents[key] = value
                unfolded[key] = UInt32(record.end)
            }
        }
        if !replay.isWhole, old.position.epoch == replay.position.epoch {
            // What this process knows to be committed is not lost with its record.
            for (key, end) in old.unfolded where unfolded[key] == nil {
                contents[key] = state.contents[key]
                unfolded[key] = end
            }
        }
        for (key, value) in old.stranded?.values ?? [:] {
            // What others have set since is newer, be it in the journal or folded.
            guard unfolded[key] == nil, base[key] == state.reading?.contents[key] else {
                state.journal.stranded?.values.removeValue(forKey: key)
                continue
            }
            contents[key] = value
            unfolded[key] = replay.position.end
        }
        (state.journal.position, state.journal.salt) = (replay.position, replay.salt)
        state.journal.seen = replay.word
        state.journal.unfolded = unfolded
        state.journal.isDamaged = !replay.isWhole
        if !unfolded.isEmpty { news.isFoldDue = true }
        publish(contents, .external, &state, &news)
    }

    /// How often to read records that are outdated when they have been read.
    private static let mostAttempts = 100
    /// How often records may be wrong although nothing changes, before the journal is called damaged.
    private static let mostWrongLooks = 4

    /// Reads the records that are not in the file.
    ///
    /// - Returns: `nil` when the file has to be read again first, since a new epoch has begun.
    private func replay(
        _ journal: Journal,
        from facts: JournalEpoch?,
        _ published: JournalGeneration,
        _ wrongLooks: inout Int,
        _ state: inout State,
        _ news: inout News
    ) -> Journal.Replay? {
        do {
            if let facts, let replay = try journal.replay(from: facts) {
                state.journal.unreadable = nil
                return replay
            }
            // Only records that are wrong while nothing changes are damaged.
            guard journal.isAlive, journal.published == published, journal.current?.epoch == facts else {
                wrongLooks = 0
                return nil
            }
            wrongLooks += 1
            guard wrongLooks >= Self.mostWrongLooks else { return nil }
            reportDamage(journal, &news)
            return try journal.salvage()
        } catch {
            // What is in memory goes on to serve; the next read tries again.
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

    /// Keeps the journal from being readable by more users than the file, whose permissions may have been changed.
    func narrowJournal(to status: FileStatus, _ state: State, _ news: inout News) {
        guard let journal = state.journal.journal, journal.isWritable else { return }
        do {
            try journal.narrowPermissions(to: status)
        } catch {
            var error = writeError(error)
            error.consequence = "the journal can be read by users who cannot read the file"
            news.errors.append(error)
        }
    }

    func reportDamage(_ journal: Journal, _ news: inout News) {
        news.errors.append(.damagedJournal(journal.file.path))
        news.needsRepair = true
    }

    func reportUnreadable(_ error: any Error, _ state: inout State, _ news: inout News) {
        let error = journalError(error)
        if state.journal.unreadable == nil { news.errors.append(error) }
        state.journal.unreadable = error
    }
}
