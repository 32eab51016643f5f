// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension FileStore {
    /// For how long a file that cannot be understood may be one that an editor is writing, in seconds.
    static let settlingTime = 0.1
    /// How often to look for changes that nothing tells of, in seconds.
    static let lookInterval = 0.1
    /// After how long a suite is watched, in seconds: a short command must not pay for a watch.
    private static let timeUntilWatch = 1.0

    /// Takes over what others have committed and written, if it can be read.
    ///
    /// - Parameters:
    ///   - state: The store's state.
    ///   - news: Is told what is to be done afterwards.
    ///   - lookingAtFile: Whether to look at the file even if nobody has said that it may have changed.
    func refresh(_ state: inout State, _ news: inout News, lookingAtFile: Bool = false) {
        guard !state.isClosed else { return }
        let isLookDue = freshness.takeLookDue()
        if lookingAtFile || isLookDue || !state.isOpened || isLookOverdue(state) {
            lookAtFile(&state, &news)
        } else {
            catchUp(&state, &news)
        }
        state.isOpened = true
        if state.isTransientFailure { news.isTransientFailure = true }
        freshness.update(state.journal.journal?.page, seen: state.journal.seen, generation: state.generation)
    }

    private func isLookOverdue(_ state: State) -> Bool {
        let isUntold = state.journal.journal == nil || state.missingSince != nil || state.defect?.mayPass == true
        guard isUntold || WorkScheduler.shared.isStarved else { return false }
        return state.lookedAt.map { .now - $0 > .seconds(Self.lookInterval) } ?? true
    }

    private func lookAtFile(_ state: inout State, _ news: inout News) {
        if !state.isOpened { news.isFirstLook = true }
        state.lookedAt = .now
        let isOther = findJournal(&state, &news)
        // From before the file is read: what takes its place meanwhile then has another status, and is read next time.
        var status: FileStatus?
        do {
            status = try file.status()
            if status != nil { state.missingSince = nil }
            guard isOther || isNews(status, state), !isMissingForAMoment(status, &state, &news) else {
                return catchUp(&state, &news)
            }
            try readFile(&state, &news)
        } catch {
            keepLastGood(error, status, &state, &news)
        }
    }

    /// Whether a file in some state has to be read: when it is not the one that was read, or reading it failed for a
    /// reason that may have gone.
    private func isNews(_ status: FileStatus?, _ state: State) -> Bool {
        guard state.isOpened else { return true }
        guard let defect = state.defect else {
            return status != state.reading?.status || !(state.reading?.isCertain ?? true)
        }
        return defect.mayPass || status != defect.status
    }

    /// Whether a file that was there may only be on its way: some editors move it aside before they write it anew.
    private func isMissingForAMoment(_ status: FileStatus?, _ state: inout State, _ news: inout News) -> Bool {
        guard status == nil, state.reading != nil else { return false }
        guard let since = state.missingSince else {
            state.missingSince = .now
            news.isUnsettled = true
            return true
        }
        return .now - since < .seconds(Self.settlingTime)
    }

    func readFile(_ state: inout State, _ news: inout News) throws {
        var latest: SettingsFile.Reading?
        try rebuild(&state, &news) {
            latest = try file.read()
            return latest?.contents ?? [:]
        }
        state.reading = latest
        if state.defect != nil { schedule.retryNow() }
        state.defect = nil
        state.missingSince = nil
        if let status = latest?.status { narrowJournal(to: status, state, &news) }
        if latest?.isCertain == false { news.isUnsettled = true }
    }

    // MARK: - Files that are not as they should be

    /// Goes on with the last contents that were good, and tells why, once for each failure and state of the file.
    private func keepLastGood(_ error: any Error, _ status: FileStatus?, _ state: inout State, _ news: inout News) {
        let error = readError(error)
        let isPassing = error.code == .malformedFile && (isYoung(status) || isYoungNow)
        let isFirst = state.reading == nil && state.defect == nil
        let defect = Defect(status: status, error: error, isPassing: isPassing)
        let isKnown = state.defect?.isSame(as: defect) ?? false
        state.defect = defect
        if isFirst { serveLastGoodCopy(&state, &news) } else { catchUp(&state, &news) }
        // Who meets the file first has nothing better to serve, and may be gone before it is looked at again.
        if isPassing, isFirst {
            SystemCalls.sleep(seconds: Self.settlingTime)
            return lookAtFile(&state, &news)
        }
        if isPassing {
            news.isUnsettled = true
        } else if !isKnown {
            news.errors.append(error)
        }
    }

    private func serveLastGoodCopy(_ state: inout State, _ news: inout News) {
        let contents = lastGoodCopy() ?? state.contents
        rebuild(&state, &news) { contents }
    }

    /// The contents of the copy, if it is of any use.
    ///
    /// If it is not, the error that is told is that of the file itself.
    func lastGoodCopy() -> [String: StoredValue]? {
        do {
            return try file.readLastGood()
        } catch {
            return nil
        }
    }

    /// Whether somebody has begun to write the file since it was looked at, and before it was read.
    private var isYoungNow: Bool {
        do {
            return isYoung(try file.status())
        } catch {
            return false
        }
    }

    private func isYoung(_ status: FileStatus?) -> Bool {
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
            freshness.invalidate()
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
            freshness.mustLook()
            watch(after: delay - pause)
        }
    }
}

extension FileStore.State {
    /// Whether the file or the journal could not be read for a reason that may be gone in a moment.
    fileprivate var isTransientFailure: Bool {
        [defect?.error, journal.problem, journal.unreadable]
            .contains { error in
                (error?.underlying as? SystemError)?.isTransient ?? false
            }
    }
}
