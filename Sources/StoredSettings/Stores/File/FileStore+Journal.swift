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
        guard let journal = state.journal.journal else {
            let contents = try base()
            let unfolded = state.journal.unfolded.keys
            return publish(unfolded.reduce(into: contents) { $0[$1] = state.contents[$1] }, .external, &state, &news)
        }
        for attempt in 0..<Self.mostAttempts {
            // The journal's facts are from before the file is read, so that the file has all that they say it has.
            let facts = journal.current?.epoch
            let contents = try base()
            let replay = replay(journal, from: facts, isLast: attempt == Self.mostAttempts - 1, &state, &news)
            guard let replay else {
                SystemCalls.sleep(seconds: 0.001)
                continue
            }
            return install(replay, over: contents, &state, &news)
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
        state.journal.position = replay.position
        state.journal.seen = replay.word
        state.journal.unfolded = unfolded
        state.journal.isDamaged = !replay.isWhole
        if !unfolded.isEmpty { news.isFoldDue = true }
        publish(contents, .external, &state, &news)
    }

    /// How often to read records that are not right: somebody may be writing over them.
    private static let mostAttempts = 4

    /// Reads the records that are not in the file.
    ///
    /// - Returns: `nil` when the file has to be read again first, since a new epoch has begun.
    private func replay(
        _ journal: Journal,
        from facts: JournalEpoch?,
        isLast: Bool,
        _ state: inout State,
        _ news: inout News
    ) -> Journal.Replay? {
        do {
            if let facts, let replay = try journal.replay(from: facts) {
                state.journal.unreadable = nil
                return replay
            }
            guard isLast else { return nil }
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
                // None that is ever published, so that the records are asked for again.
                word: 0,
                isWhole: true
            )
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
