// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A changing file has time to settle".

import Synchronization

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
    let storeVersion: StoreVersion
    let schedule: CheckpointSchedule

    /// The values of the settings file, with the journal's records applied.
    ///
    /// A value is changed only by a method that also changes ``version``.
    var contents = StoreContents()
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
    /// The keys of the settings that this process has declared.
    var declaredKeys = DeclaredKeys()
    var watch: PathWatch?
    /// What to do after the locks are released.
    ///
    /// ``FileStore/withState(_:_:)`` takes it from here.
    var effects = Effects()

    init(_ file: SettingsFile, _ storeVersion: StoreVersion, _ schedule: CheckpointSchedule) {
        (self.file, self.storeVersion, self.schedule) = (file, storeVersion, schedule)
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

    /// The keys whose values were set or removed since the file was written: not those of members that only share their object with one.
    var newerKeys: Set<String> {
        let names = journal.journaled.keys
        let members = declaredKeys.keys(in: names)
            .filter { key in
                let before = value(ofKey: key) { settings.overridden[$0] ?? contents[$0] }
                return before != contents.value(forKey: key)
            }
        return Set(names).union(members)
    }

    /// The values that the settings of an observer use instead of the stored ones, by key.
    func replacements(of observer: (any LastGoodObserver)?) -> [String: StoredValue?] {
        let current = observer?.replacements.filter { contents.value(forKey: $0.key) == $0.stored } ?? []
        return Dictionary(current.map { ($0.key, $0.used) }) { $1 }
    }

    /// Releases the file and the journal.
    ///
    /// The contents remain.
    ///
    /// - Returns: The released objects. They must be deinitialized outside the lock, because ending a watch takes the
    ///   watcher's lock.
    mutating func close() -> (PathWatch?, SettingsFile.Reading?, Journal?) {
        isClosed = true
        storeVersion.close()
        defer { (watch, settings.reading, journal.journal) = (nil, nil, nil) }
        return (watch, settings.reading, journal.journal)
    }
}

// MARK: - Changing the contents

extension FileStoreState {
    /// Makes the changes of a record visible.
    mutating func apply(
        _ changes: [StoreChange],
        end: UInt32,
        _ origin: SettingChangeOrigin,
        gap: StoreCommit.Gap? = nil
    ) {
        for change in changes { noteRecord(of: change.key, over: change.old, end: end) }
        publish(changes, origin, gap: gap)
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
    /// A caller that has the contents after the changes passes them, too.
    mutating func publish(
        _ changes: [StoreChange],
        _ origin: SettingChangeOrigin,
        resultingIn contents: [String: StoredValue]? = nil,
        gap: StoreCommit.Gap? = nil
    ) {
        let reassigned = origin == .external ? changes.filter { $0.old == $0.new } : []
        let changes = changes.allSatisfy { $0.old != $0.new } ? changes : changes.filter { $0.old != $0.new }
        guard !changes.isEmpty || !reassigned.isEmpty || origin == .local || (gap != nil && isOpened) else { return }
        let others = keysInObjects(of: changes).map { ($0, self.contents.value(forKey: $0)) }
        if let contents {
            self.contents = StoreContents(contents)
        } else {
            for change in changes { self.contents[change.key] = change.new }
        }
        if !changes.isEmpty { version &+= 1 }
        if let observer {
            effects.observers.append(observer)
            let keyed = others.map { StoreChange(key: $0, old: $1, new: self.contents.value(forKey: $0)) }
            var commit = StoreCommit(changes: changes.completed(with: keyed), origin: origin)
            (commit.gap, commit.reassigned) = (gap, reassigned)
            commit.keysInObjects = Set(others.map(\.0).filter { self.contents[$0] == nil })
            effects.deliveries.append(observer.record(commit))
        }
    }

    /// The declared keys whose values may be in objects that change, and the keys that change and may have other values in objects.
    private func keysInObjects(of changes: [StoreChange]) -> Set<String> {
        let objects = changes.filter { $0.old?.isDictionary == true || $0.new?.isDictionary == true }.map(\.key)
        let names = changes.map(\.key).filter { mayBeInObject($0) }
        return Set(names).union(objects.isEmpty ? [] : declaredKeys.keys(in: objects))
    }

    /// Whether there is an object in which the value of a key may be.
    func mayBeInObject(_ key: String) -> Bool {
        key.hasPeriod && key.divisions.contains { contents[$0.object]?.isDictionary == true }
    }

    /// Whether a set changes an object with values of other keys, or a value in one.
    func needsTransaction(_ key: String, _ old: StoredValue?, _ new: StoredValue?) -> Bool {
        let isObject = old?.isDictionary == true || new?.isDictionary == true
        return mayBeInObject(key) || isObject && !declaredKeys.keys(in: CollectionOfOne(key)).isEmpty
    }

    /// Makes the record of a single set visible, without notifying the observer.
    mutating func apply(_ value: StoredValue?, forKey key: String, over old: StoredValue?, end: UInt32) {
        version &+= 1
        contents[key] = value
        noteRecord(of: key, over: old, end: end)
    }

    /// Makes the contents known to reads without a lock.
    func publishVersion() {
        storeVersion.update(journal.journal?.page, seen: journal.seen, version: version)
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
        let isLookDue = storeVersion.takeLookDue()
        guard !isClosed else { return }
        if lookingAtFile || isLookDue || !isOpened || isLookOverdue {
            lookAtFile()
        } else {
            replayJournal()
        }
        if isTransientFailure { effects.mustPoll = true }
        // Until everything is read, every reader has to wait for it. An edited file is read by the first reader.
        if !isUsable { storeVersion.mustLook() }
    }

    /// Requests that the file and the journal are read again after the lock is released.
    mutating func requireReload() {
        reload = .everything
        storeVersion.mustLook()
    }

    private var isLookOverdue: Bool {
        let isUnwatched =
            journal.journal == nil || settings.missingSince != nil || settings.failure?.isRetryable == true
        guard isUnwatched || WorkScheduler.shared.isStarved else { return false }
        return settings.lookedAt.map { .now - $0 > .seconds(SettingsFileState.pollInterval) } ?? true
    }

    /// Whether the file or the journal could not be read for lack of descriptors or memory.
    var isTransientFailure: Bool {
        [settings.failure?.error, journal.problem, journal.unreadable]
            .contains { ($0?.underlying as? SystemError)?.isTransient ?? false }
    }

    private mutating func lookAtFile() {
        settings.lookedAt = .now
        settings.looks &+= 1
        if watch?.isUnwatched ?? schedule.isActive { effects.mustPoll = true }
        if findJournal() || !isOpened { reload = .everything }
        // The file at the path is that of another suite, which was reported.
        guard journal.problem?.isChangedRoot != true else { return replayJournal() }
        do {
            let status = try file.status()
            if status != nil { settings.missingSince = nil }
            if try mustRead(status), !isMissingForNow(status), !adoptWrittenFile(status) {
                reload = reload ?? .file
            }
        } catch {
            note(ReadFailure(error: file.readError(error, hasValues: settings.hasBase), isUnknown: true))
        }
        replayJournal()
    }

    /// Whether the file is known to be the one whose contents are in memory.
    ///
    /// It makes one system call.
    var isFileUnchanged: Bool {
        guard isOpened, reload == nil, settings.failure == nil else { return false }
        guard let reading = settings.reading else { return file.system.isUnchanged(file.path, since: nil) }
        return reading.isCertain && file.system.isUnchanged(file.path, since: reading.status)
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
            let isRemembered = try settings.rememberedPlace != nil && file.place() == settings.rememberedPlace
            return try !file.isMissed(journal.journal, isRemembered: isRemembered)
        }
        return failure.isRetryable || failure.status != status
    }

    /// Whether a file that existed may be missing only for a moment: some editors move it aside before they write it.
    private mutating func isMissingForNow(_ status: FileStatus?) -> Bool {
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
    /// - Returns: Whether its contents are known. It differs from the file that was read last only by records of the journal, and
    ///   all those records have been replayed.
    private mutating func adoptWrittenFile(_ status: FileStatus?) -> Bool {
        guard isOpened, reload == nil, settings.failure == nil, let page = journal.journal?.page,
            // A file that was put in place has another inode than the file that was read. The same inode means an edit.
            let reading = settings.reading, reading.isCertain, status?.isSameFile(as: reading.status) == false,
            let written = WrittenFile(in: page), written.isUnchanged(status, in: page),
            written.editVersion == settings.editVersion
        else { return false }
        // After the header's words were read: the records that the file contains were published before them.
        replayJournal()
        guard reload == nil, journal.unreadable == nil, !journal.isDamaged else { return false }
        do {
            guard var next = try file.open(), written.isUnchanged(next.status, in: page) else { return false }
            // A checkpoint preserves the form of the file.
            next.isCanonical = reading.isCanonical
            effects.close(settings.reading)
            (settings.reading, settings.editVersion) = (next, written.editVersion)
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
        let known = settings.failure
        settings.failure = failure
        settings.failure?.reported = known?.reported
        if failure.isTransient {
            effects.isUnsettled = true
        } else if known?.isSame(as: failure) != true, !failure.error.isChangedRoot {
            if let error = known?.reported { effects.reportRecovery(from: error) }
            effects.report(failure.error)
            settings.failure?.reported = failure.error
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
            try LastGoodCopy(in: file.directory(), current.page).narrowPermissions(to: status)
        } catch let error as SettingsError where error.code == .untrustedFile {
            // The file is not the last good copy.
        } catch  where FileHandle.isClosed(error) {
            // The program has closed it. It is opened again, and looked at then.
        } catch {
            var error = file.writeError(error)
            error.consequence =
                "users without access to the settings file may be able to read the journal or the last good copy"
            effects.report(error)
        }
    }
}

// MARK: - Replaying the journal

// How the state of a store follows its journal: finding it, and replaying its records.

extension FileStoreState {
    /// Replays the records that were appended since the last time.
    mutating func replayJournal() {
        var mayBeSuperseded = true
        // When everything is read again, that starts with the newest records.
        while reload != .everything, let current = journal.journal {
            if mayBeSuperseded, current.isSuperseded {
                mayBeSuperseded = false
                if findJournal() { return requireReload() }
                continue
            }
            if !current.isAlive || current.isRetired || current.isBeingReplaced {
                // The journal was truncated, removed or replaced, and another one may be at the path.
                if findJournal() { return requireReload() }
                guard current.isAlive else { return }
                guard !current.isRetired else { return takeRest(of: current) }
            }
            let published = current.published
            guard published.word != journal.seen else { return }
            do {
                let position = journal.position
                if published.epoch == position.epoch, published.end >= position.end, !journal.isDamaged {
                    guard try takeRecords(of: current, to: published) else { continue }
                    journal.unreadable = nil
                    // Other processes may append records faster than this one reads them. Those that were published
                    // before this read began are read.
                    return
                } else {
                    guard follow(current, to: published) else { return requireReload() }
                }
                journal.unreadable = nil
            } catch {
                if !current.file.isOpen {
                    if findJournal() { return requireReload() }
                    if journal.journal !== current { continue }
                    // `findJournal` has reported the reason.
                    if journal.problem != nil { return }
                }
                return reportUnreadable(error)
            }
        }
    }

    /// Replays what was appended to a retired journal before another one replaced it.
    private mutating func takeRest(of current: Journal) {
        let (position, salt) = (journal.position, journal.salt)
        do {
            let rest = try current.validRecords(from: position.end, to: nil, epoch: position.epoch, salt: salt)
            for record in rest.records { apply(record) }
            journal.position.end = rest.end
            journal.unreadable = nil
        } catch {
            reportUnreadable(error)
        }
    }

    /// Replays the records up to a position in the same epoch.
    ///
    /// - Returns: Whether the position has advanced.
    private mutating func takeRecords(of current: Journal, to published: JournalPosition) throws -> Bool {
        let (position, salt) = (journal.position, journal.salt)
        let reading = try current.validRecords(
            from: position.end,
            to: published.end,
            epoch: position.epoch,
            salt: salt,
            omittingReplaced: !storeVersion.needsChanges.load(ordering: .acquiring)
        )
        for record in reading.records { apply(record) }
        journal.position.end = reading.end
        if !reading.records.isEmpty { effects.isCheckpointDue = true }
        if reading.isWhole {
            journal.seen = published.word
            return true
        }
        // Another epoch has begun, or the file contains an older copy or another journal.
        let newest = current.published
        guard newest.epoch == published.epoch, newest.end >= published.end, current.isAlive else {
            return false
        }
        guard let (epoch, _) = current.current, epoch.epoch == position.epoch, epoch.checkpointed <= reading.end
        else {
            // A checkpoint has written these records to the file, and their space is in use again. The process that begins
            // the next epoch may not have published it yet.
            requireReload()
            return true
        }
        // Within an epoch, the other records do not change, so these are damaged, whatever has been appended meanwhile.
        journal.isDamaged = true
        journal.seen = published.word
        reportDamage(current)
        return true
    }

    /// Follows the journal into another epoch.
    ///
    /// - Returns: Whether the contents include all its records. Otherwise, everything has to be read.
    private mutating func follow(_ current: Journal, to published: JournalPosition) -> Bool {
        guard let (epoch, end) = current.current else { return false }
        if journal.continues(into: epoch) {
            journal.enterNext(epoch)
            return true
        }
        if journal.isAhead(of: epoch, at: end) {
            // The next commit writes the values of this process again.
            if !journal.isDamaged { effects.report(.olderJournal(current.file.path)) }
            journal.isDamaged = true
            journal.seen = published.word
            effects.needsRepair = true
            return true
        }
        journal.strand(by: epoch) { [contents] in contents[$0] }
        if journal.stranded != nil { effects.needsRepair = true }
        return false
    }

    /// Applies a record of another process.
    private mutating func apply(_ record: JournalRecord) {
        let changes = record.values.keys.sorted()
            .map { StoreChange(key: $0, old: contents[$0], new: record.values[$0] ?? nil) }
        // Newer than the values that are still to be carried over from the previous journal.
        for change in changes { journal.stranded?.values.removeValue(forKey: change.key) }
        let gap = record.hasOmitted ? record.values.keys.first.map(StoreCommit.Gap.key) : nil
        apply(changes, end: UInt32(record.end), .external, gap: gap)
    }

    mutating func reportDamage(_ journal: Journal) {
        // One that another journal had replaced has all its records, in an epoch that it does not know.
        if !journal.isRetired { effects.report(.damagedJournal(journal.file.path)) }
        effects.needsRepair = true
    }

    mutating func reportUnreadable(_ error: any Error) {
        let error = file.journalError(error)
        if journal.unreadable == nil { effects.report(error) }
        journal.unreadable = error
    }
}

// MARK: - Finding the journal

extension FileStoreState {
    /// Opens the journal at the path, if it is not the known one.
    ///
    /// - Returns: Whether it is another journal, so that everything has to be read again.
    mutating func findJournal() -> Bool {
        do {
            let (isKnown, found): (Bool, Journal?) = try FileHandle.reopening {
                journal.path = try file.journalPath()
                if let known = journal.journal, !known.isSuperseded, try known.place(at: journal.path) != .elsewhere {
                    return (true, known)
                }
                return (false, try Journal.open(at: journal.path, file.system))
            }
            journal.problem = nil
            guard !isKnown else { return false }
            guard let found else {
                // The journal was removed, or none has been created yet. Values in the file need none.
                journal.forgetCheckpointed()
                if !journal.journaled.isEmpty { effects.needsRepair = true }
                return false
            }
            let isOther = adopt(found)
            if journal.stranded != nil { effects.needsRepair = true }
            return isOther
        } catch {
            let error = file.journalError(error)
            if journal.problem?.fact != error.fact { effects.report(error) }
            journal.problem = error
            return false
        }
    }

    /// Adopts a journal that was found at the path.
    ///
    /// - Returns: Whether it is another journal, so that everything has to be read again.
    mutating func adopt(_ found: Journal) -> Bool {
        let isFirst = journal.journal == nil
        guard journal.adopt(found, value: { [contents] in contents[$0] }) else { return false }
        if !isFirst { settings.rememberedPlace = nil }
        return true
    }

    /// Looks for the journal at the path if the known one was truncated, or its records are in another one.
    mutating func findUsableJournal() -> Journal? {
        if let known = journal.journal, known.isAlive, !known.isRetired, known.file.isOpen { return known }
        _ = findJournal()
        return usableJournal
    }

    /// The known journal, unless it was truncated, or its records are in another one.
    var usableJournal: Journal? {
        guard let known = journal.journal, known.isAlive, known.file.isOpen else { return nil }
        do {
            // A retired journal that is at the path again is in use until the next commit recovers it.
            return try !known.isRetired || known.place(at: journal.path) != .elsewhere ? known : nil
        } catch {
            return nil
        }
    }
}

// MARK: - Recovering the journal

// What the state of a store changes in the journal, while the store holds its lock.

extension FileStoreState {
    /// Recovers a journal whose lock the store holds, so that a record can be appended.
    ///
    /// - Parameters:
    ///   - current: The journal.
    ///   - isCut: Whether its file is shorter than its records.
    /// - Throws: ``SystemError`` or ``SettingsError`` if no record can be appended.
    mutating func recover(_ current: Journal, isCut: Bool) throws {
        if current.isRetired {
            // Another journal had replaced this one, which is back at the path.
            takeRest(of: current)
            if let error = journal.unreadable { throw error }
            current.page[.retired] = 0
            journal.isDamaged = true
        }
        if isCut, !journal.isDamaged {
            journal.isDamaged = true
            effects.report(.cutJournal(current.file.path))
        }
        if journal.isDamaged {
            try beginEpoch(of: current)
        } else if let (_, position) = current.current, current.published != position || current.isBeingReplaced {
            // A process has died before it published the epoch that it began, or while it was replacing the journal.
            try current.publish(position)
            replayJournal()
            guard reload != .everything else { return }
        }
        // No record must follow records that could not be read.
        if let error = journal.unreadable { throw error }
        try takeOverStranded(into: current)
        journal.noteLost(in: current)
        journal.seen = current.published.word
    }

    private static let longestJournal = 1 << 31

    /// Writes the values that are known to be committed and not in the file after the end of the journal.
    private mutating func beginEpoch(of current: Journal) throws {
        let size = max(try file.system.status(of: current.file).size, JournalHeader.size)
        // A file of that length was not written by this library, so its end is not used.
        let start = UInt32(size > Self.longestJournal ? JournalHeader.size : (size + 7) / 8 * 8)
        let known = journal.position.epoch
        let epoch = JournalHeader.epoch(in: current.page)
        // Another epoch says nothing about the records that other processes know.
        let checkpointed = epoch?.epoch == known ? epoch?.checkpointed ?? 0 : 0
        try journal.enter(
            current.begin(
                at: start,
                with: journaledChanges,
                checkpointed: checkpointed,
                previousEnd: 0,
                after: known
            )
        )
        journal.isDamaged = false
    }

    /// Takes over the values of a journal that another file has replaced at the path.
    private mutating func takeOverStranded(into current: Journal) throws {
        guard var stranded = journal.stranded else { return }
        guard !stranded.lost.isTakenOver(into: current) else { return forgetStranded() }
        // In the same file, the lock is held already, and the records are those of this journal. One that the program has
        // closed is at no path to open it again.
        if let old = stranded.journal, old.isAlive, !old.isInherited, old.file.isOpen, !old.isSameFile(as: current) {
            // No process commits to the old journal after it is locked: a writer looks at the path after it has locked
            // a journal. Reads wait meanwhile, so the next commit tries again instead of waiting here.
            //
            // A process that may not write to the old journal cannot lock it. It may miss a record that is written now.
            // The process that writes it takes it over with its next commit.
            let isLocked = old.isWritable
            let timeout = Duration.milliseconds(100)
            if isLocked {
                try old.acquireLock(LockTimeouts(withoutProgress: timeout, withSlowHolder: timeout))
            }
            defer { if isLocked { old.unlock() } }
            guard !old.isRetired else { return forgetStranded() }
            // A value that was set in the new journal is newer.
            let isOverwritten = { [journaled = journal.journaled, values = stranded.values] key in
                journaled[key] != nil && values[key] == nil
            }
            let (position, salt) = (stranded.lost.position, stranded.lost.salt)
            for record in try old.validRecords(from: position.end, to: nil, epoch: position.epoch, salt: salt).records {
                for (key, value) in record.values where !isOverwritten(key) {
                    stranded.values.updateValue(value, forKey: key)
                }
            }
            try append(stranded.values, to: current)
            if old.isWritable { try old.retire() }
        } else {
            try append(stranded.values, to: current)
        }
        journal.stranded = nil
    }

    /// Reads the file and the journal again: another process has taken over the values of the lost journal, and may have
    /// changed them since.
    private mutating func forgetStranded() {
        journal.stranded = nil
        requireReload()
    }

    /// Appends values that were committed to another journal.
    private mutating func append(_ values: [String: StoredValue?], to current: Journal) throws {
        guard !values.isEmpty else { return }
        let changes = values.map { StoreChange(key: $0.key, old: contents[$0.key], new: $0.value) }
            .sorted { $0.key < $1.key }
        let record = try JournalRecord.bytesOfRecords(of: changes, epoch: journal.position.epoch, salt: journal.salt)
        journal.position = try current.append(record, after: journal.position)
        // Most of the values are already visible, because this process has had them in memory.
        for change in changes {
            journal.journaled[change.key] = journal.position.end
            keysNewerThanFile?.insert(change.key)
        }
        apply(changes.filter { $0.old != $0.new }, end: journal.position.end, .external)
        effects.isCheckpointDue = true
    }

    /// Appends the changes of a commit.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - current: The journal, which is locked and recovered.
    ///   - base: The version of the contents that the changes are based on.
    /// - Throws: ``SystemError`` or ``SettingsError`` if they cannot be appended. Nothing has changed then.
    mutating func commit(_ changes: [StoreChange], to current: Journal, since base: UInt64) throws {
        guard !changes.isEmpty else { return publish([], .local) }
        guard !isClosed else { throw SettingsError.suiteFinished }
        // Another thread has found another journal at the path.
        guard journal.journal === current else {
            throw SystemError(call: .lock, path: current.file.path, number: Errno.resourceTemporarilyUnavailable)
        }
        let record = try JournalRecord.bytes(of: changes, epoch: journal.position.epoch, salt: journal.salt)
        // Readers wait meanwhile. Otherwise, they would attribute the record to another process.
        let appended = try record.withUnsafeBytes {
            try current.append($0, after: journal.position, in: &journal.space)
        }
        journal.position = try appended ?? current.append(record, after: journal.position)
        journal.seen = journal.position.word
        var changes = changes
        if version != base {
            // The file was edited during the commit.
            for index in changes.indices { changes[index].old = contents[changes[index].key] }
        }
        apply(changes, end: journal.position.end, .local)
    }

    /// Whether the journal is not at its path, is damaged or truncated, or has values to take over.
    var needsRepair: Bool {
        guard let current = journal.journal else { return !journal.journaled.isEmpty }
        do {
            return try journal.isDamaged || journal.stranded != nil || current.isUnreliable
                || current.place(at: journal.path) != .here
        } catch {
            return true
        }
    }
}

// MARK: - After a checkpoint

// The space of the journal is reused. It then contains no value that the file no longer has.

extension FileStoreState {
    /// Begins a new epoch at the front of the journal if the records there are in the file.
    ///
    /// - Parameters:
    ///   - current: The journal, which is locked.
    ///   - epoch: Its epoch.
    /// - Throws: ``SystemError`` or ``SettingsError`` if further records follow and cannot be moved.
    mutating func reuse(_ current: Journal, _ epoch: JournalEpoch) throws {
        let end = journal.position.end
        let front = UInt32(JournalHeader.size)
        var tail: [StoreChange] = []
        if end > epoch.checkpointed {
            // Further records follow. They are moved only if the journal has become long, and they fit before their old
            // place.
            guard Int(end) > schedule.journalBound, end - epoch.checkpointed < epoch.checkpointed / 2 else {
                return
            }
            tail = journaledChanges
        } else if end == front {
            return
        }
        journal.dropCheckpointed(upTo: epoch.checkpointed)
        try journal.enter(
            current.begin(
                at: front,
                with: tail,
                checkpointed: epoch.checkpointed,
                previousEnd: end,
                limit: tail.isEmpty ? 0 : epoch.checkpointed
            )
        )
    }

    /// Clears the space of records that are in the file.
    ///
    /// An empty journal receives the permissions of the file.
    ///
    /// The header on the disk must contain the checkpointed end of this epoch, or of the previous one if no checkpoint
    /// was made in this one.
    ///
    /// - Parameter current: The journal, which is locked.
    /// - Throws: ``SystemError`` or ``SettingsError`` if part of the space may not be cleared.
    mutating func clearUnused(_ current: Journal) throws {
        guard let (epoch, position) = current.current else { return }
        let front = UInt32(JournalHeader.size)
        let known = journal.cleared?.epoch == epoch.epoch ? journal.cleared : nil
        try file.directory().removeAbandonedDrafts(of: current.file.path.name)
        try current.clear(from: known?.end ?? front, to: epoch.checkpointed)
        let limit = current.page[.limit]
        if limit != 0 {
            // The header on the disk still refers to the space that follows, so the next checkpoint clears it.
            try current.clear(from: position.end, to: UInt32(clamping: limit))
            journal.cleared = nil
            return
        }
        try current.clear(behind: position.end)
        journal.cleared = JournalPosition(epoch: epoch.epoch, end: epoch.checkpointed)
        guard position.end == front, let status = settings.reading?.status else { return }
        try current.copyPermissions(of: status)
    }
}
