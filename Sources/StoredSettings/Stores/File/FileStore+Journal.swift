// SPDX-License-Identifier: Apache-2.0

extension FileStore {
    /// The path of the journal, which may not exist yet: beside the file that the settings path leads to now.
    func journalPath() throws -> FilePath {
        try SettingsPath.target(of: file.path, file.system).adding(SettingsFile.journalSuffix)
    }

    /// Opens the journal at the path, if it is not the known one.
    ///
    /// - Returns: Whether it is another journal, so that everything has to be read again.
    func findJournal(_ state: inout State, _ effects: inout Effects) -> Bool {
        do {
            let path = try journalPath()
            state.journal.path = path
            if let journal = state.journal.journal, !journal.isSuperseded, try journal.place(at: path) != .elsewhere {
                state.journal.problem = nil
                return false
            }
            let journal = try Journal.open(at: path, file.system)
            state.journal.problem = nil
            guard let journal else {
                // The journal was removed, or none has been created yet. Values in the file need none.
                state.journal.forgetCheckpointed()
                if !state.journal.journaled.isEmpty { effects.needsRepair = true }
                return false
            }
            let isOther = state.journal.adopt(journal) { state.contents[$0] }
            if state.journal.stranded != nil { effects.needsRepair = true }
            return isOther
        } catch {
            let error = journalError(error)
            if state.journal.problem?.fact != error.fact { effects.errors.append(error) }
            state.journal.problem = error
            return false
        }
    }

    /// Looks for the journal at the path if the known one was truncated, or its records are in another one.
    func findUsableJournal(_ state: inout State, _ effects: inout Effects) -> Journal? {
        if let journal = state.journal.journal, journal.isAlive, !journal.isRetired { return journal }
        _ = findJournal(&state, &effects)
        return usableJournal(state)
    }

    /// The known journal, unless it was truncated, or its records are in another one.
    func usableJournal(_ state: State) -> Journal? {
        guard let journal = state.journal.journal, journal.isAlive else { return nil }
        do {
            // A retired journal that is at the path again is in use until the next commit recovers it.
            return try !journal.isRetired || journal.place(at: state.journal.path) != .elsewhere ? journal : nil
        } catch {
            return nil
        }
    }

    /// Removes permissions that the settings file does not have from the journal and the last good copy.
    func narrowJournal(to status: FileStatus, _ state: inout State, _ effects: inout Effects) {
        guard let journal = state.journal.journal, journal.isWritable else { return }
        // Each checkpoint copies the permissions of the file to the last good copy. Only another program changes them
        // in between.
        let isCopyDue = state.narrowedTo != status.permissions
        state.narrowedTo = status.permissions
        do {
            try journal.narrowPermissions(to: status)
            if isCopyDue {
                try LastGoodCopy(directory: file.directory(), knownInode: 0).narrowPermissions(to: status)
            }
        } catch let error as SettingsError where error.code == .untrustedFile {
            // The file is not the last good copy.
        } catch {
            var error = writeError(error)
            error.consequence =
                "the journal or the last good copy is readable by users without access to the settings file"
            effects.errors.append(error)
        }
    }

    func reportDamage(_ journal: Journal, _ effects: inout Effects) {
        effects.errors.append(.damagedJournal(journal.file.path))
        effects.needsRepair = true
    }

    func reportUnreadable(_ error: any Error, _ state: inout State, _ effects: inout Effects) {
        let error = journalError(error)
        if state.journal.unreadable == nil { effects.errors.append(error) }
        state.journal.unreadable = error
    }
}
