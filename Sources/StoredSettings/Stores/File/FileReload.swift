// SPDX-License-Identifier: Apache-2.0

/// What to read, and what the state knew before.
struct ReloadRequest {
    let reload: FileStoreState.Reload
    /// The number of looks at the file before it was read.
    let looks: Int
    let journal: Journal?
    /// The journal's epoch before the file was read.
    let epoch: JournalEpoch?
    /// The journal's published word before the file was read.
    let published: UInt64
    /// The version of the contents.
    let version: UInt64
    /// The contents in memory if everything is read; otherwise `nil`.
    let contents: [String: StoredValue]?
    /// Whether there are no contents in memory that could be used.
    let isFirst: Bool
    /// The file that was read last.
    ///
    /// The contents in memory are based on it.
    let reading: SettingsFile.Reading?
    let hasBase: Bool
    /// The last checkpoint through a journal that is lost, if values of it have to be taken over.
    let lastCheckpoint: LastCheckpoint?
}

/// The contents of the settings file, or of its replacement.
struct ReloadBase {
    /// `nil` to continue with the contents in memory.
    var contents: [String: StoredValue]?
    /// The file that was read, without its contents.
    var reading: SettingsFile.Reading?
    var failure: ReadFailure?
    /// Whether these are the contents of a settings file, of its last good copy, or of a suite that never had a file.
    var isBase: Bool
}

/// The contents that follow from a settings file and the records of a journal.
struct ReloadedContents {
    var base: ReloadBase
    /// The contents of the file, or those in memory if there is no base.
    var fileContents: [String: StoredValue]
    var replay: JournalReader.Replay
    var contents: [String: StoredValue]
    /// The changes that lead from the contents in memory to these.
    var changes: [StoreChange]
    var written: WrittenValues
}

/// The values of the file that are older than the values that were committed to a lost journal and are not in the file.
enum WrittenValues {
    case all
    case these([String: StoredValue])
    case unknown
}

// MARK: - The state

extension FileStoreState {
    /// Starts to read the file outside the lock.
    ///
    /// - Returns: What to read; `nil` when there is nothing to read anymore.
    mutating func beginReload() -> ReloadRequest? {
        guard !isClosed, reload != nil else { return nil }
        if reload == .file { replayJournal() }
        guard let reload else { return nil }
        // A change from here on requests another look.
        _ = versionStamp.takeLookDue()
        let usable = findUsableJournal()
        // The epoch is read before the file, so that the file contains all records that the epoch says it contains.
        let epoch = usable?.current?.epoch
        if reload == .file {
            if let epoch, epoch.epoch == journal.position.epoch { journal.dropCheckpointed(upTo: epoch.checkpointed) }
            // Values that have to be taken over into the journal are not in the file, and have no record there yet.
            for key in journal.stranded?.values.keys ?? [:].keys {
                journal.journaled[key] = journal.journaled[key] ?? journal.position.end
            }
            keysNewerThanFile = Set(journal.journaled.keys)
        }
        return ReloadRequest(
            reload: reload,
            looks: settings.looks,
            journal: usable,
            epoch: epoch,
            published: usable?.published.word ?? 0,
            version: version,
            contents: reload == .everything ? contents.all : nil,
            isFirst: settings.reading == nil && settings.failure == nil,
            reading: settings.reading,
            hasBase: settings.hasBase,
            lastCheckpoint: journal.stranded?.checkpoint
        )
    }

    /// Merges an edited file into contents that include every record of the journal.
    ///
    /// - Parameters:
    ///   - base: The file.
    ///   - edits: The changes that lead from the contents in memory to the file. Those of newer keys are not applied.
    ///   - request: The request that the file was read for.
    /// - Returns: Whether the contents are current.
    mutating func merge(_ base: ReloadBase, _ edits: [StoreChange], for request: ReloadRequest) -> Bool {
        guard !isClosed else { return true }
        replayJournal()
        guard reload == .file, usableJournal === request.journal, let newer = keysNewerThanFile else { return false }
        if let contents = base.contents {
            for key in newer { settings.overridden.updateValue(contents[key], forKey: key) }
            let edits = edits.filter { !newer.contains($0.key) }
            settings.lastGood.note(edits)
            publish(edits, .external)
        }
        settle(base, for: request)
        return true
    }

    /// Makes the contents of a file visible for which there is no journal.
    ///
    /// - Parameters:
    ///   - base: The file.
    ///   - request: The request that the file was read for.
    /// - Returns: Whether the contents are current.
    mutating func install(_ base: ReloadBase, for request: ReloadRequest) -> Bool {
        guard usableJournal == nil, version == request.version else { return false }
        var new = base.contents ?? contents.all
        for key in journal.journaled.keys {
            if let found = base.contents { settings.overridden.updateValue(found[key], forKey: key) }
            new[key] = contents[key]
        }
        let edits = [StoreChange](from: contents.all, to: new)
        if isOpened { settings.lastGood.note(edits) }
        publish(edits, .external)
        settle(base, for: request)
        return true
    }

    /// Makes the contents of a file and a journal visible.
    ///
    /// - Parameters:
    ///   - reloaded: The contents.
    ///   - request: The request that they were read for.
    /// - Returns: Whether the contents are current.
    mutating func install(_ reloaded: ReloadedContents, for request: ReloadRequest) -> Bool {
        guard !isClosed else { return true }
        guard journal.journal === request.journal, version == request.version else { return false }
        let replay = reloaded.replay
        var journaled: [String: UInt32] = [:]
        for record in replay.records {
            for key in record.values.keys { journaled[key] = UInt32(record.end) }
        }
        let known = journal.keysMissing(in: replay, journaled)
        var others = known.reduce(into: [String: StoredValue?]()) { $0.updateValue(contents[$1.key], forKey: $1.key) }
        journaled.merge(known) { $1 }
        // A journal that is whole again, but lacks values, may be an older copy with new records.
        let isUnwritten = replay.isWhole && !known.isEmpty
        for (key, value) in journal.stranded?.values ?? [:] {
            // A value that another process has set since is newer, in the journal or in the file.
            guard journaled[key] == nil, isUnchanged(key, in: reloaded) else {
                journal.stranded?.values.removeValue(forKey: key)
                continue
            }
            others.updateValue(value, forKey: key)
            journaled[key] = replay.position.end
        }
        journal.install(replay, journaled, isUnwritten: isUnwritten)
        settings.overridden = [:]
        for key in journaled.keys { settings.overridden.updateValue(reloaded.fileContents[key], forKey: key) }
        if !journaled.isEmpty { effects.isCheckpointDue = true }
        if isUnwritten { effects.needsRepair = true }
        publish(reloaded, with: others)
        settle(reloaded.base, for: request)
        return true
    }

    /// Makes reloaded contents visible.
    ///
    /// - Parameters:
    ///   - reloaded: The contents.
    ///   - others: The values that are neither in the file nor in the journal, and are retained.
    private mutating func publish(_ reloaded: ReloadedContents, with others: [String: StoredValue?]) {
        var (new, changes) = (reloaded.contents, reloaded.changes)
        if !others.isEmpty {
            changes.removeAll { others[$0.key] != nil }
            for (key, value) in others {
                new[key] = value
                changes.append(StoreChange(key: key, old: contents[key], new: value))
            }
            changes.sort { $0.key < $1.key }
        }
        noteHistory(changes, of: reloaded)
        publish(changes, .external, resultingIn: new)
    }

    /// Notes the values that an edit has replaced.
    ///
    /// Several values may have come between those in memory and those that another process has set.
    private mutating func noteHistory(_ changes: [StoreChange], of reloaded: ReloadedContents) {
        guard isOpened else { return }
        let edits = isPlaced(reloaded.base.reading) ? [] : changes.filter { journal.journaled[$0.key] == nil }
        let edited = Set(edits.map(\.key))
        settings.lastGood.forget(changes.lazy.map(\.key).filter { !edited.contains($0) })
        settings.lastGood.note(edits)
    }

    /// Whether checkpoints have put a file in place since the last one was read, and no edit has come between.
    private func isPlaced(_ reading: SettingsFile.Reading?) -> Bool {
        guard let page = journal.journal?.page, let placed = PlacedFile(in: page) else { return false }
        return placed.lineage == settings.lineage && placed.isUnchanged(reading?.status, in: page)
    }

    /// Whether the file has the same value under a key as when it was read last.
    private func isUnchanged(_ key: String, in reloaded: ReloadedContents) -> Bool {
        let value = reloaded.fileContents[key]
        switch reloaded.written {
        case .all: return true
        case .these(let values) where value == values[key]: return true
        case .these, .unknown: break
        }
        if let known = settings.overridden[key] { return value == known }
        return reloaded.base.reading?.status == settings.reading?.status
    }

    /// Notes the file that the contents are based on.
    private mutating func settle(_ base: ReloadBase, for request: ReloadRequest) {
        if !isOpened { effects.isFirstLook = true }
        (isOpened, reload, keysNewerThanFile) = (true, nil, nil)
        if base.failure == nil || base.failure?.isMissing == true { effects.close(settings.reading) }
        if let failure = base.failure {
            note(failure)
            if failure.isMissing { (settings.reading, settings.lineage) = (nil, nil) }
            if base.isBase { settings.hasBase = true }
        } else {
            if let failure = settings.failure {
                if !failure.isTransient { effects.recoveries.append(failure.error) }
                schedule.retryNow()
                // A process that has committed nothing does not retry a failed checkpoint.
                if !journal.journaled.isEmpty { effects.isCheckpointDue = true }
            }
            if let status = base.reading?.status { adjustPermissions(to: status) }
            settings.accept(base.reading, journal.journal?.page)
            if base.reading?.isCertain == false { effects.isUnsettled = true }
        }
        settings.missingSince = nil
        // Another thread that looked during the read has left a newer file to this thread.
        if settings.looks != request.looks {
            versionStamp.mustLook()
            effects.isUnsettled = true
        }
    }

    /// Notes that this process has put a file in place, with the journal's records so far.
    mutating func notePlaced(_ reading: SettingsFile.Reading, lineage: UInt64, _ fileContents: [String: StoredValue]) {
        effects.close(settings.reading)
        // A missing file is written again.
        if let failure = settings.failure, !failure.isTransient { effects.recoveries.append(failure.error) }
        settings.place(reading, lineage: lineage)
        if !reading.isCertain { effects.isUnsettled = true }
        for key in journal.journaled.keys { settings.overridden.updateValue(fileContents[key], forKey: key) }
    }
}
