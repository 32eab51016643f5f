// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A changing file has time to settle".

import Synchronization

/// The contents in memory are brought up to date in two parts.
///
/// The records of the journal are replayed under the state lock, because every later read has to see a set that has
/// returned in any process. They are few.
///
/// The file is read outside that lock, by one thread at a time (see `FileStore+Reloading`), because this takes time in
/// proportion to the file. Other reads continue with the contents in memory meanwhile. Those may lack an edit of the
/// file, but no set, because every set is a record. Only when the records cannot be followed, at first or after a gap,
/// do all reads wait for the file.
extension FileStore {
    /// How long a file that cannot be parsed may be one that an editor is writing, in seconds.
    static let settlingTime = 0.1
    /// The interval between looks for changes that no event reports, in seconds.
    static let lookInterval = 0.1
    /// The delay until a suite is watched, in seconds.
    ///
    /// A short command must not spend time on a watch.
    private static let timeUntilWatch = 1.0

    /// Replays the records of other processes, and notes what has to be read to bring the contents up to date.
    ///
    /// - Parameters:
    ///   - state: The store's state. If its `reload` is set afterwards, the caller performs it after the lock is
    ///     released.
    ///   - effects: Receives what to do afterwards.
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

    /// Makes the contents known to reads without a lock.
    func publishVersion(_ state: State) {
        versionStamp.update(state.journal.journal?.page, seen: state.journal.seen, version: state.version)
        // Until everything is read, every reader has to wait for it. An edited file is read by the first reader.
        if state.reload == .everything || (state.reload == .file && state.keysNewerThanFile == nil) {
            versionStamp.mustLook()
        }
    }

    private func isLookOverdue(_ state: State) -> Bool {
        let isUnwatched =
            state.journal.journal == nil || state.missingSince != nil || state.readFailure?.isRetryable == true
        guard isUnwatched || WorkScheduler.shared.isStarved else { return false }
        return state.lookedAt.map { .now - $0 > .seconds(Self.lookInterval) } ?? true
    }

    private func lookAtFile(_ state: inout State, _ effects: inout Effects) {
        state.lookedAt = .now
        if findJournal(&state, &effects) || !state.isOpened { state.needs(.everything) }
        do {
            let status = try file.status()
            if status != nil { state.missingSince = nil }
            if try mustRead(status, state), !isMissingBriefly(status, &state, &effects),
                !adoptPlacedFile(status, &state, &effects)
            {
                state.needs(.file)
            }
        } catch {
            let failure = ReadFailure(
                error,
                of: self,
                status: nil,
                isTransient: false,
                isUnknown: true,
                hasValues: state.hasBase
            )
            note(failure, &state, &effects)
        }
        replayJournal(&state, &effects)
    }

    /// Whether the file has to be read: it is not the file that was read last, or reading it may succeed now.
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

    /// Whether a file that existed may be missing only for a moment: some editors move it aside before they write it.
    private func isMissingBriefly(_ status: FileStatus?, _ state: inout State, _ effects: inout Effects) -> Bool {
        guard status == nil, state.reading != nil else { return false }
        guard let since = state.missingSince else {
            state.missingSince = .now
            effects.isUnsettled = true
            return true
        }
        return .now - since < .seconds(Self.settlingTime)
    }

    /// Accepts a file that a checkpoint has put in place, without reading it.
    ///
    /// - Returns: Whether its contents are known. It was made of the file that was read last, or of a file that differs
    ///   from it only by records of the journal, and all those records have been replayed.
    private func adoptPlacedFile(_ status: FileStatus?, _ state: inout State, _ effects: inout Effects) -> Bool {
        guard state.isOpened, state.reload == nil, state.readFailure == nil, let journal = state.journal.journal,
            // A file that was put in place has another inode than the file that was read. The same inode means an edit.
            let reading = state.reading, reading.isCertain, status?.isSameFile(as: reading.status) == false,
            let placed = PlacedFile(in: journal.page), placed.isUnchanged(status, in: journal.page),
            placed.lineage == state.lineage || placed.replaced == PlacedFile.fingerprintWithChange(of: reading.status)
        else { return false }
        // After the header's words were read: the records that the file contains were published before them.
        replayJournal(&state, &effects)
        guard state.reload == nil, state.journal.unreadable == nil, !state.journal.isDamaged else { return false }
        do {
            guard let reading = try file.open(), placed.isUnchanged(reading.status, in: journal.page) else {
                return false
            }
            state.reading = reading
            state.lineage = placed.lineage
            narrowJournal(to: reading.status, &state, &effects)
            // The values that the journal overrides may have changed.
            state.fileValues = [:]
            if !reading.isCertain { effects.isUnsettled = true }
            return true
        } catch {
            // Reading the file fails as well, and reports the error.
            return false
        }
    }

    // MARK: - Files that are not as they should be

    /// Notes the error that prevents reading the file.
    ///
    /// Reports it once per failure and state of the file.
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
    /// The error that is reported is that of the settings file itself.
    func lastGoodCopy() -> [String: StoredValue]? {
        do {
            return try file.readLastGood()
        } catch {
            return nil
        }
    }

    /// Whether the disk shows that there was a settings file: a last good copy, or a journal that has recorded a
    /// checkpoint.
    ///
    /// Every process obtains the same result, whether or not it has read the file.
    func hasEvidenceOfFile(_ journal: Journal?) throws -> Bool {
        let target = try SettingsPath.target(of: file.path, file.system)
        if try file.hasLastGood() { return true }
        guard let journal, try journal.place(at: target.adding(SettingsFile.journalSuffix)) != .elsewhere else {
            return false
        }
        return journal.page[JournalHeader.checkpointedWord] != 0
    }

    /// Whether another program may be writing the file.
    func isYoung(_ status: FileStatus?) -> Bool {
        guard let status else { return false }
        return abs(SystemCalls.wallClock() - status.modified.secondsSince1970) < Self.settlingTime
    }

    /// Looks at the file again when a program that was writing it should have finished.
    func lookAgain() {
        WorkScheduler.shared.after(Self.settlingTime) { [weak self] in
            self?.look()
        }
    }

    /// Retries a read that failed for lack of descriptors or memory.
    ///
    /// No event reports when there are enough again.
    func retryReading() {
        guard !schedule.isLookScheduled.exchange(true, ordering: .relaxed) else { return }
        WorkScheduler.shared.after(Self.lookInterval) { [weak self] in
            self?.schedule.isLookScheduled.store(false, ordering: .relaxed)
            self?.look()
        }
    }

    /// Does due background work on this thread if the system starts no thread, and reports that once.
    func helpIfStarved() {
        // A transaction holds a lock that the work may need.
        guard WorkScheduler.shared.isStarved, TransactionScope.current == nil else { return }
        if !schedule.isShortageReported.exchange(true, ordering: .relaxed) {
            // Caches may contain values that were read before this was known.
            versionStamp.invalidate()
            state.withLock { $0.observer }?.report(.noThread(file.path))
        }
        WorkScheduler.shared.helpIfStarved()
    }

    /// Watches the file after the suite has been open for a while.
    ///
    /// Until then, and while there is no journal, cached values are invalidated periodically: only a look at the disk
    /// shows that another process has created the journal.
    func watchLater() {
        guard schedule.isActive else { return }
        watch(after: Self.timeUntilWatch)
    }

    private func watch(after delay: Double) {
        let hasJournal = state.withLock { $0.journal.journal != nil }
        let pause = hasJournal ? delay : min(delay, Self.lookInterval)
        WorkScheduler.shared.after(pause) { [weak self] in
            guard let self else { return }
            // Rounding may leave a small difference at the end.
            guard delay - pause > Self.lookInterval / 2 else { return watch(makingDirectories: false) }
            versionStamp.mustLook()
            watch(after: delay - pause)
        }
    }
}

extension FileStore.State {
    /// Whether the file or the journal could not be read for lack of descriptors or memory.
    fileprivate var isTransientFailure: Bool {
        [readFailure?.error, journal.problem, journal.unreadable]
            .contains { error in
                (error?.underlying as? SystemError)?.isTransient ?? false
            }
    }
}
