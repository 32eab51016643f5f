// SPDX-License-Identifier: Apache-2.0

extension FileStore {
    /// Where the journal is, or is to be: beside the file that the path leads to now.
    func journalPath() throws(SystemError) -> String {
        try SettingsPath.target(of: file.path, file.system) + SettingsFile.journalSuffix
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
