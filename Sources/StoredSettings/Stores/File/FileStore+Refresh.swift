// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A changing file has time to settle".

import Synchronization

/// Bringing memory up to date has two parts.
///
/// The records of the journal are taken over under the state's lock, since a set that has returned in any process must be
/// seen by every read that begins later. They are few.
///
/// The file is read outside that lock, by one thread at a time (see `FileStore+Reloading`), since that takes as long as the
/// file. Other reads go on with the contents there are: they may lack an edit of the file for that time, but no set, because
/// a set is a record. Only where the records cannot be followed, at first or after a gap, do all reads wait for the file.
extension FileStore {
    /// For how long a file that cannot be understood may be one that an editor is writing, in seconds.
    static let settlingTime = 0.1
    /// How often to look for changes that no event reports, in seconds.
    static let lookInterval = 0.1
    /// After how long a suite is watched, in seconds: a short command must not pay for a watch.
    private static let timeUntilWatch = 1.0

    /// Takes over what others have committed, and notes what has to be read to bring the contents up to date.
    ///
    /// - Parameters:
    ///   - state: The store's state. If its `reload` is set, the caller has it read once the lock is free.
    ///   - effects: Receives what is to be done afterwards.
    ///   - lookingAtFile: Whether to look at the file even if no event has reported a change.
    func refresh(_ state: inout State, _ effects: inout Effects, lookingAtFile: Bool = false) {
        guard !state.isClosed else { return }
        let isLookDue = versionStamp.takeLookDue()
        if lookingAtFile || isLookDue || !state.isOpened || isLookOverdue(state) {
            lookAtFile(&state, &effects)
        } else {
            replayJournal(&state, &effects)
        }
        if state.isTransientFailure { effects.isTransientFailure = true }
        publishVersion(state)
    }

    /// Publishes which contents are in memory, for reads without a lock.
    func publishVersion(_ state: State) {
        versionStamp.update(state.journal.journal?.page, seen: state.journal.seen, version: state.version)
        // Until everything is read, every reader comes to wait for it; a file is read by the first to come.
        if state.reload == .everything || (state.reload == .file && state.keysNewerThanFile == nil) {
            versionStamp.mustLook()
        }
    }

    private func isLookOverdue(_ state: State) -> Bool {
        let isUnwatched = state.journal.journal == nil || state.missingSince != nil || state.readFailure?.isRetryable == true
        guard isUnwatched || WorkScheduler.shared.isStarved else { return false }
        return state.lookedAt.map { .now - $0 > .seconds(Self.lookInterval) } ?? true
    }

    private func lookAtFile(_ state: inout State, _ effects: inout Effects) {
        state.lookedAt = .now
        if findJournal(&state, &effects) || !state.isOpened { state.needs(.everything) }
        do {
            let status = try file.status()
            if status != nil { state.missingSince = nil }
            if try mustRead(status, state), !isMissingForAMoment(status, &state, &effects),
                !adoptPlacedFile(status, &state, &effects)
            {
                state.needs(.file)
            }
        } catch {
            note(ReadFailure(error, of: self, status: nil, isTransient: false, isUnknown: true), &state, &effects)
        }
        replayJournal(&state, &effects)
    }

    /// Whether a file in some state has to be read: when it is not the one that was read, or reading it failed for a
    /// reason that may have gone.
    private func mustRead(_ status: FileStatus?, _ state: State) throws -> Bool {
        guard state.isOpened else { return true }
        guard let readFailure = state.readFailure else {
            return status != state.reading?.status || !(state.reading?.isCertain ?? true)
        }
        if readFailure.isMissing {
            guard status == nil else { return true }
            return try !hasEvidenceOfFile(state.journal.journal)
        }
        return readFailure.isRetryable || status != readFailure.status
    }

    /// Whether a file that was there may only be on its way: some editors move it aside before they write it anew.
    private func isMissingForAMoment(_ status: FileStatus?, _ state: inout State, _ effects: inout Effects) -> Bool {
        guard status == nil, state.reading != nil else { return false }
        guard let since = state.missingSince else {
            state.missingSince = .now
            effects.isUnsettled = true
            return true
        }
        return .now - since < .seconds(Self.settlingTime)
    }

    /// Takes a file that a checkpoint has put in place for the one that the contents rest on, without reading it.
    ///
    /// - Returns: Whether it is one whose contents are known: it was made of the file that was read last, or of one that
    ///   differs from it by records of the journal alone, and those records have all been followed.
    private func adoptPlacedFile(_ status: FileStatus?, _ state: inout State, _ effects: inout Effects) -> Bool {
        guard state.isOpened, state.reload == nil, state.readFailure == nil, let journal = state.journal.journal,
            // A file that was put in place is another one than was read; the same one with another status was edited.
            let reading = state.reading, reading.isCertain, status?.isSameFile(as: reading.status) == false,
            let placed = PlacedFile(in: journal.page), placed.isUnchanged(status, in: journal.page),
            placed.lineage == state.lineage || placed.replaced == PlacedFile.fingerprintWithChange(of: reading.status)
        else { return false }
        // After the header's words were read: the records that the file holds were published before those.
        replayJournal(&state, &effects)
        guard state.reload == nil, state.journal.unreadable == nil, !state.journal.isDamaged else { return false }
        do {
            guard let reading = try file.open(), placed.isUnchanged(reading.status, in: journal.page) else {
                return false
            }
            state.reading = reading
            state.lineage = placed.lineage
            narrowJournal(to: reading.status, &state, &effects)
            // Those that the journal overrides may be others than before.
            state.fileValues = [:]
            if !reading.isCertain { effects.isUnsettled = true }
            return true
        } catch {
            // Reading the file fails as well, and that is reported.
            return false
        }
    }

    // MARK: - Files that are not as they should be

    /// Notes why the file cannot be read now, and reports it once for each failure and state of the file.
    func note(_ failure: ReadFailure, _ state: inout State, _ effects: inout Effects) {
        let isKnown = state.readFailure?.isSame(as: failure) ?? false
        state.readFailure = failure
        if failure.isTransient {
            effects.isUnsettled = true
        } else if !isKnown {
            effects.errors.append(failure.error)
        }
    }

    /// The contents of the last good copy; `nil` when there is none that can be read.
    ///
    /// The error that is reported is that of the file itself.
    func lastGoodCopy() -> [String: StoredValue]? {
        do {
            return try file.readLastGood()
        } catch {
            return nil
        }
    }

    /// Whether the disk shows that there was a settings file: its last good copy, or a journal that knows of a checkpoint.
    ///
    /// Every process comes to the same result, whether or not it has read the file.
    func hasEvidenceOfFile(_ journal: Journal?) throws -> Bool {
        let target = try SettingsPath.target(of: file.path, file.system)
        if try file.hasLastGood() { return true }
        guard let journal, try journal.place(at: target.adding(SettingsFile.journalSuffix)) != .elsewhere else {
            return false
        }
        return journal.page[JournalHeader.checkpointedWord] != 0
    }

    /// Whether another program may be writing the file now.
    func isYoung(_ status: FileStatus?) -> Bool {
        guard let status else { return false }
        return abs(SystemCalls.wallClock() - status.modified.secondsSince1970) < Self.settlingTime
    }

    /// Looks at the file again when it has had time to become whole.
    func lookAgain() {
        WorkScheduler.shared.after(Self.settlingTime) { [weak self] in
            self?.look()
        }
    }

    /// Reads again, in a while, what could not be read for want of descriptors or memory: nothing tells when there are some.
    func retryReading() {
        guard !schedule.isLookScheduled.exchange(true, ordering: .relaxed) else { return }
        WorkScheduler.shared.after(Self.lookInterval) { [weak self] in
            self?.schedule.isLookScheduled.store(false, ordering: .relaxed)
            self?.look()
        }
    }

    /// Does what is due in the background when the system starts no thread for it, and reports that once.
    func helpIfStarved() {
        // A transaction holds a lock that the work may need.
        guard WorkScheduler.shared.isStarved, TransactionScope.current == nil else { return }
        if !schedule.isShortageReported.exchange(true, ordering: .relaxed) {
            // What was read before that was known may be in a cache.
            versionStamp.invalidate()
            state.withLock { $0.observer }?.report(.noThread(file.path))
        }
        WorkScheduler.shared.helpIfStarved()
    }

    /// Watches the file when the suite has been open for a while.
    ///
    /// Until then, and while there is no journal, cached values are read again every so often: only a look shows that
    /// another process has created the journal.
    func watchLater() {
        guard schedule.isActive else { return }
        watch(after: Self.timeUntilWatch)
    }

    private func watch(after delay: Double) {
        let hasJournal = state.withLock { $0.journal.journal != nil }
        let pause = hasJournal ? delay : min(delay, Self.lookInterval)
        WorkScheduler.shared.after(pause) { [weak self] in
            guard let self else { return }
            // Not exactly zero at the end.
            guard delay - pause > Self.lookInterval / 2 else { return watch(makingDirectories: false) }
            versionStamp.mustLook()
            watch(after: delay - pause)
        }
    }
}

extension FileStore.State {
    /// Whether the file or the journal could not be read for a reason that may be gone in a moment.
    fileprivate var isTransientFailure: Bool {
        [readFailure?.error, journal.problem, journal.unreadable]
            .contains { error in
                (error?.underlying as? SystemError)?.isTransient ?? false
            }
    }
}
