// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A changing file has time to settle".

/// The state of a ``FileStore``: a value whose methods follow the journal and the settings file.
///
/// Every method runs under the state lock, in ``FileStore/withState(_:_:)``. What has to happen after the locks are
/// released is added to ``effects``.
///
/// The contents are brought up to date in two parts. The records of the journal are replayed under the lock, because
/// every later read has to see a set that has returned in any process. They are few. The settings file is read outside
/// the lock, by one thread at a time, because this takes time in proportion to the file: see ``FileReloader``.
struct FileStoreState: ~Copyable {
    let file: SettingsFile
    let versionStamp: VersionStamp
    let schedule: CheckpointSchedule

    /// The values of the settings file, with the journal's records applied.
    private(set) var contents = StoreContents()
    /// Increases with every change of the contents.
    private(set) var version: UInt64 = 1
    var journal = JournalState()
    var settings = SettingsFileState()
    /// What has to be read before the contents are current; `nil` when they are.
    var reload: Reload?
    /// The keys whose values are newer than the file that is being read; `nil` while no thread reads it.
    var keysNewerThanFile: Set<String>?
    /// Whether the contents have been read once.
    var isOpened = false
    private(set) var isClosed = false
    weak var observer: (any StoreObserver)?
    var watch: FileWatch?
    /// What to do after the locks are released.
    ///
    /// ``FileStore/withState(_:_:)`` takes it from here.
    var effects = Effects()

    init(_ file: SettingsFile, _ versionStamp: VersionStamp, _ schedule: CheckpointSchedule) {
        (self.file, self.versionStamp, self.schedule) = (file, versionStamp, schedule)
    }

    /// What has to be read before the contents are current.
    enum Reload: Comparable {
        /// The settings file, which may have been edited. The contents include every record of the journal.
        case file
        /// The settings file and the journal. The contents may lack committed values.
        case everything
    }

    /// Whether a read may use the contents now.
    ///
    /// While another thread reads an edited file, the contents include all committed values.
    var isUsable: Bool {
        reload == nil || isClosed || (reload == .file && keysNewerThanFile != nil)
    }

    /// The error that prevents a current read, or `nil`.
    var problem: SettingsError? { settings.failure?.error ?? journal.problem ?? journal.unreadable }

    /// The error that a change based on the contents throws; `nil` when the contents are known.
    var unknownContents: SettingsError? {
        guard let failure = settings.failure, failure.isUnknown else { return nil }
        var error = failure.error
        error.consequence = "nothing is changed, because the change depends on stored values that cannot be read"
        return error
    }

    /// The changes that are in the journal and not in the settings file, as one record.
    var journaledChanges: [StoreChange] {
        journal.journaled.keys.sorted().map { StoreChange(key: $0, old: nil, new: contents[$0]) }
    }

    /// Releases the file and the journal.
    ///
    /// The contents remain.
    ///
    /// - Returns: The released objects. They must be deinitialized outside the lock, because ending a watch takes the
    ///   watcher's lock.
    mutating func close() -> (FileWatch?, SettingsFile.Reading?, Journal?) {
        isClosed = true
        versionStamp.close()
        defer { (watch, settings.reading, journal.journal) = (nil, nil, nil) }
        return (watch, settings.reading, journal.journal)
    }
}

// MARK: - Changing the contents

extension FileStoreState {
    /// Makes the changes of a record visible.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - end: The end of the record in the journal.
    ///   - origin: The process that made the changes.
    mutating func apply(_ changes: [StoreChange], end: UInt32, _ origin: SettingChangeOrigin) {
        for change in changes {
            switch origin {
            case .local: settings.lastGood.noteOwn(change.key, from: change.old, to: change.new)
            case .external: settings.lastGood.note([change])
            }
            noteRecord(of: change.key, over: change.old, end: end)
        }
        publish(changes, origin)
    }

    /// Notes that the journal has a newer value than the file.
    mutating func noteRecord(of key: String, over old: StoredValue?, end: UInt32) {
        if journal.journaled.updateValue(end, forKey: key) == nil {
            settings.overridden.updateValue(old, forKey: key)
        }
        keysNewerThanFile?.insert(key)
    }

    /// Makes changes visible to readers, and records them with the observer.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - origin: The process that made them.
    ///   - contents: The contents after the changes, if the caller has them.
    mutating func publish(
        _ changes: [StoreChange],
        _ origin: SettingChangeOrigin,
        resultingIn contents: [String: StoredValue]? = nil
    ) {
        let changes = changes.allSatisfy { $0.old != $0.new } ? changes : changes.filter { $0.old != $0.new }
        guard !changes.isEmpty else { return }
        if let contents {
            self.contents = StoreContents(contents)
        } else {
            for change in changes { self.contents[change.key] = change.new }
        }
        version &+= 1
        if let observer {
            effects.observers.append(observer)
            effects.deliveries.append(observer.record(StoreCommit(changes: changes, origin: origin)))
        }
    }

    /// Replaces the value of one key without notifying the observer.
    ///
    /// - Parameters:
    ///   - value: The new value; `nil` to remove the old one.
    ///   - place: The place of the old value.
    ///   - key: The key.
    /// - Returns: The old value.
    mutating func replace(
        _ value: StoredValue?,
        at place: StoreContents.Place?,
        forKey key: String
    ) -> StoredValue? {
        version &+= 1
        let old = contents.replace(value, at: place, forKey: key)
        settings.lastGood.noteOwn(key, from: old, to: value)
        return old
    }

    /// Returns the contents for a checkpoint.
    ///
    /// Changes do not copy them until ``endSnapshot()``.
    mutating func beginSnapshot() -> [String: StoredValue] { contents.beginSnapshot() }

    /// Ends the snapshot, which has been released.
    mutating func endSnapshot() { contents.endSnapshot() }

    /// Makes the contents known to reads without a lock.
    func publishVersion() {
        versionStamp.update(journal.journal?.page, seen: journal.seen, version: version)
    }
}

// MARK: - Refreshing

extension FileStoreState {
    /// Replays the records of other processes, and notes what has to be read to bring the contents up to date.
    ///
    /// If ``reload`` is set afterwards, the caller performs it after the lock is released.
    ///
    /// - Parameter lookingAtFile: Whether to look at the file even if no event has reported a change.
    mutating func refresh(lookingAtFile: Bool = false) {
        let isLookDue = versionStamp.takeLookDue()
        guard !isClosed else { return }
        if lookingAtFile || isLookDue || !isOpened || isLookOverdue {
            lookAtFile()
        } else {
            replayJournal()
        }
        if isTransientFailure { effects.mustLookLater = true }
        // Until everything is read, every reader has to wait for it. An edited file is read by the first reader.
        if !isUsable { versionStamp.mustLook() }
    }

    /// Requests that the file and the journal are read again after the lock is released.
    mutating func requireReload() {
        reload = .everything
        versionStamp.mustLook()
    }

    private var isLookOverdue: Bool {
        let isUnwatched =
            journal.journal == nil || settings.missingSince != nil || settings.failure?.isRetryable == true
        guard isUnwatched || WorkScheduler.shared.isStarved else { return false }
        return settings.lookedAt.map { .now - $0 > .seconds(SettingsFileState.lookInterval) } ?? true
    }

    /// Whether the file or the journal could not be read for lack of descriptors or memory.
    var isTransientFailure: Bool {
        [settings.failure?.error, journal.problem, journal.unreadable]
            .contains { ($0?.underlying as? SystemError)?.isTransient ?? false }
    }

    private mutating func lookAtFile() {
        settings.lookedAt = .now
        settings.looks &+= 1
        if watch?.isUnwatched ?? schedule.isActive { effects.mustLookLater = true }
        if findJournal() || !isOpened { reload = .everything }
        do {
            let status = try file.status()
            if status != nil { settings.missingSince = nil }
            if try mustRead(status), !isMissingBriefly(status), !adoptPlacedFile(status) { reload = reload ?? .file }
        } catch {
            let cause = ReadFailure.Cause(error, isTransient: false, isUnknown: true)
            note(ReadFailure(cause, of: file, status: nil, hasValues: settings.hasBase))
        }
        replayJournal()
    }

    /// Whether the file has to be read: it is not the file that was read last, or reading it may succeed now.
    private func mustRead(_ status: FileStatus?) throws -> Bool {
        guard isOpened else { return true }
        guard let failure = settings.failure else {
            guard let reading = settings.reading else { return status != nil }
            return status != reading.status || !reading.isCertain || !reading.handle.isOpen
        }
        if failure.isMissing {
            guard status == nil else { return true }
            return try !file.hasEvidence(in: journal.journal)
        }
        return failure.isRetryable || !failure.isAbout(status)
    }

    /// Whether a file that existed may be missing only for a moment: some editors move it aside before they write it.
    private mutating func isMissingBriefly(_ status: FileStatus?) -> Bool {
        guard status == nil, settings.reading != nil else { return false }
        guard let since = settings.missingSince else {
            settings.missingSince = .now
            effects.isUnsettled = true
            return true
        }
        return .now - since < .seconds(SettingsFileState.settlingTime)
    }

    /// Accepts a file that a checkpoint has put in place, without reading it.
    ///
    /// - Returns: Whether its contents are known. It was made of the file that was read last, or of a file that differs
    ///   from it only by records of the journal, and all those records have been replayed.
    private mutating func adoptPlacedFile(_ status: FileStatus?) -> Bool {
        guard isOpened, reload == nil, settings.failure == nil, let page = journal.journal?.page,
            // A file that was put in place has another inode than the file that was read. The same inode means an edit.
            let reading = settings.reading, reading.isCertain, status?.isSameFile(as: reading.status) == false,
            let placed = PlacedFile(in: page), placed.isUnchanged(status, in: page),
            placed.lineage == settings.lineage
                || placed.replaced == PlacedFile.fingerprintWithChange(of: reading.status)
        else { return false }
        // After the header's words were read: the records that the file contains were published before them.
        replayJournal()
        guard reload == nil, journal.unreadable == nil, !journal.isDamaged else { return false }
        do {
            guard var next = try file.open(), placed.isUnchanged(next.status, in: page) else { return false }
            // A checkpoint preserves the form of the file.
            next.isCanonical = reading.isCanonical
            effects.close(settings.reading)
            (settings.reading, settings.lineage) = (next, placed.lineage)
            adjustPermissions(to: next.status)
            // The values that the journal overrides may have changed.
            settings.overridden = [:]
            if !next.isCertain { effects.isUnsettled = true }
            return true
        } catch {
            // Reading the file fails as well, and reports the error.
            return false
        }
    }

    /// Notes the error that prevents reading the file.
    ///
    /// Reports it once per failure and state of the file.
    mutating func note(_ failure: ReadFailure) {
        let isKnown = settings.failure?.isSame(as: failure) ?? false
        settings.failure = failure
        if failure.isTransient {
            effects.isUnsettled = true
        } else if !isKnown {
            effects.errors.append(failure.error)
        }
    }

    /// Whether the journal contains no value.
    private var isEmptyAndCleared: Bool {
        let position = journal.position
        return position.end == UInt32(JournalHeader.size) && journal.seen == position.word
            && journal.cleared?.epoch == position.epoch
    }

    /// Removes permissions that the settings file does not have from the journal and the last good copy.
    ///
    /// An empty journal also receives further permissions.
    mutating func adjustPermissions(to status: FileStatus) {
        guard let current = journal.journal, current.isWritable else { return }
        // Each checkpoint copies the permissions of the file to the last good copy. Only another program changes them
        // in between.
        let (isNew, isLess) = settings.noteAdjustment(to: status)
        // This user may not be allowed to change the permissions of the journal.
        if isLess { current.noteExposure() }
        do {
            let isRefused = try current.narrowPermissions(to: status)
            // A new journal belongs to this user. It is created once, because a file system may ignore modes.
            if isRefused, !settings.isRefusalNoted {
                settings.isRefusalNoted = true
                current.noteExposure()
            }
            guard isNew else { return }
            if isEmptyAndCleared { try current.copyPermissions(of: status) }
            try LastGoodCopy(directory: file.directory(), knownInode: 0).narrowPermissions(to: status)
        } catch let error as SettingsError where error.code == .untrustedFile {
            // The file is not the last good copy.
        } catch {
            var error = file.writeError(error)
            error.consequence =
                "the journal or the last good copy is readable by users without access to the settings file"
            effects.errors.append(error)
        }
    }
}
