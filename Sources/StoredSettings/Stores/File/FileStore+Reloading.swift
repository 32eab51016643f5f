// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension FileStore {
    /// How often to read again because the result was outdated by then.
    private static let mostReloads = 100
    /// How often to read without excluding checkpoints of other processes.
    private static let freeReloads = 2
    /// How often records may be invalid although nothing changes, before the journal counts as damaged.
    static let mostWrongLooks = 3

    /// What to read, and what the state knew before.
    struct ReloadRequest {
        var reload: Reload
        var journal: Journal?
        var facts: JournalEpoch?
        var published: UInt64
        var version: UInt64
        /// The contents in memory if everything is read; otherwise `nil`.
        var contents: [String: StoredValue]?
        /// Whether there are no contents in memory that could be used.
        var isFirst: Bool
        /// The file that was read last.
        ///
        /// The contents in memory are based on it.
        var reading: SettingsFile.Reading?
        var hasBase: Bool
    }

    /// The contents of the settings file, or of its replacement.
    struct ReloadBase {
        /// `nil` to continue with the contents in memory.
        var contents: [String: StoredValue]?
        /// The file that was read, without its contents.
        var reading: SettingsFile.Reading?
        var failure: ReadFailure?
        /// Whether these are the contents of a settings file, of its last good copy, or of a suite that never had a
        /// file.
        var isBase: Bool
    }

    /// Performs the state's `reload`, unless another thread is already reading the file.
    ///
    /// The caller holds neither the state lock nor `reloader`.
    ///
    /// - Parameters:
    ///   - reload: What to read. If it is everything, this method waits for a thread that is already reading.
    ///   - effects: Receives what to do afterwards.
    func reload(_ reload: Reload, _ effects: inout Effects) {
        switch reload {
        case .file: reloader.withLockIfAvailable { _ in reloadAll(&effects) }
        case .everything: reloader.withLock { _ in reloadAll(&effects) }
        }
    }

    /// Brings the contents up to date before the caller takes a lock that other threads may wait for.
    ///
    /// - Parameters:
    ///   - lookingAtFile: Whether to look at the file even if no event has reported a change.
    ///   - effects: Receives what to do afterwards.
    func reloadIfDue(lookingAtFile: Bool = false, _ effects: inout Effects) {
        guard lookingAtFile || versionStamp.contentsVersion == nil else { return }
        let reload = state.withLock { state in
            refresh(&state, &effects, lookingAtFile: lookingAtFile)
            return state.isClosed ? nil : state.reload
        }
        if let reload { self.reload(reload, &effects) }
    }

    private func reloadAll(_ effects: inout Effects) {
        var wrongLooks = 0
        for attempt in 0..<Self.mostReloads {
            // On a disk that is slower than the interval between checkpoints, each file would be replaced before it is
            // read. Sets continue meanwhile, and a background checkpoint of another process is postponed a little.
            let lock = attempt < Self.freeReloads ? nil : checkpointLock()
            defer { if let lock { release(lock) } }
            guard let request = state.withLock({ beginReload(&$0, &effects) }) else { return }
            let isDone =
                switch request.reload {
                case .file: mergeFile(request, &effects)
                case .everything: rebuild(request, &wrongLooks, &effects)
                }
            if isDone { return }
            SystemCalls.sleep(seconds: 0.001)
        }
    }

    /// The checkpoint lock, if it is free and this process may open it.
    private func checkpointLock() -> FileHandle? {
        do {
            return try tryToLockForCheckpoint(creating: false)
        } catch {
            // Reading continues without it.
            return nil
        }
    }

    private func beginReload(_ state: inout State, _ effects: inout Effects) -> ReloadRequest? {
        guard !state.isClosed, state.reload != nil else { return nil }
        if state.reload == .file { replayJournal(&state, &effects) }
        guard let reload = state.reload else { return nil }
        // A change from here on requests another look.
        _ = versionStamp.takeLookDue()
        let journal = findUsableJournal(&state, &effects)
        // The epoch is read before the file, so that the file contains all records that the epoch says it contains.
        let facts = journal?.current?.epoch
        if reload == .file {
            if let facts, facts.epoch == state.journal.position.epoch {
                state.journal.dropCheckpointed(upTo: facts.checkpointed)
            }
            state.keysNewerThanFile = Set(state.journal.journaled.keys)
        }
        return ReloadRequest(
            reload: reload,
            journal: journal,
            facts: facts,
            published: journal?.published.word ?? 0,
            version: state.version,
            contents: reload == .everything ? state.contents : nil,
            isFirst: state.reading == nil && state.readFailure == nil,
            reading: state.reading,
            hasBase: state.hasBase
        )
    }
}

// MARK: - The file

extension FileStore {
    /// Reads the settings file, or the last good copy.
    func readBase(_ request: ReloadRequest) -> ReloadBase {
        // A process that has no contents yet waits a moment for an editor to finish.
        var attemptsLeft = request.isFirst ? Int(Self.settlingTime / Self.pause) : 0
        while true {
            let (base, isRetryable) = readBaseOnce(request)
            guard isRetryable, attemptsLeft > 0 else { return base }
            attemptsLeft -= 1
            SystemCalls.sleep(seconds: Self.pause)
        }
    }

    /// The interval between two attempts to read a file that may be incomplete, in seconds.
    private static let pause = 0.01

    private func readBaseOnce(_ request: ReloadRequest) -> (ReloadBase, isRetryable: Bool) {
        var status: FileStatus?
        do {
            status = try file.status()
            if var reading = try file.read() {
                let contents = reading.contents
                reading.contents = [:]
                return (ReloadBase(contents: contents, reading: reading, isBase: true), isRetryable: false)
            }
            guard try hasEvidenceOfFile(request.journal) else {
                return (ReloadBase(contents: [:], isBase: true), isRetryable: false)
            }
            let copy = lastGoodCopy()
            let isUnknown = copy == nil && (request.reload == .everything || !request.hasBase)
            let failure = ReadFailure(missing: self, hasCopy: copy != nil, isUnknown: isUnknown)
            return (ReloadBase(contents: copy, failure: failure, isBase: copy != nil), isRetryable: true)
        } catch {
            return failedBase(error, status, request)
        }
    }

    private func failedBase(
        _ error: any Error,
        _ status: FileStatus?,
        _ request: ReloadRequest
    ) -> (ReloadBase, isRetryable: Bool) {
        let isMalformed = error is JSONSyntaxError
        let isTransient = isMalformed && (isYoung(status) || isYoungNow)
        let isFollowed = request.reload == .file && request.hasBase
        var copy: [String: StoredValue]?
        if !isFollowed { copy = lastGoodCopy() }
        // A malformed file has no newer values than the last good ones. A file that cannot be read may have.
        let isUnknown =
            isMalformed ? !isFollowed && copy == nil : !(isFollowed && isUnchanged(status, since: request.reading))
        let failure = ReadFailure(
            error,
            of: self,
            status: status,
            isTransient: isTransient,
            isUnknown: isUnknown,
            hasValues: copy != nil || request.hasBase
        )
        return (ReloadBase(contents: copy, failure: failure, isBase: !isUnknown), isRetryable: isTransient)
    }

    private func isUnchanged(_ status: FileStatus?, since reading: SettingsFile.Reading?) -> Bool {
        guard let status, let reading else { return false }
        return status == reading.status && reading.isCertain
    }

    /// Whether another program has started to write the file after the look at it and before it was read.
    private var isYoungNow: Bool {
        do {
            return isYoung(try file.status())
        } catch {
            return false
        }
    }

    /// Notes the file that the contents are based on.
    func settle(_ base: ReloadBase, _ state: inout State, _ effects: inout Effects) {
        if !state.isOpened { effects.isFirstLook = true }
        state.isOpened = true
        state.reload = nil
        state.keysNewerThanFile = nil
        if let failure = base.failure {
            note(failure, &state, &effects)
            if failure.isMissing { (state.reading, state.lineage) = (nil, nil) }
            if base.isBase { state.hasBase = true }
        } else {
            state.reading = base.reading
            if state.readFailure != nil { schedule.retryNow() }
            if let status = base.reading?.status { narrowJournal(to: status, &state, &effects) }
            state.readFailure = nil
            state.hasBase = true
            let placed = state.journal.journal.flatMap { PlacedFile(in: $0.page) }
            let page = state.journal.journal?.page
            let isPlaced = page.flatMap { placed?.isUnchanged(base.reading?.status, in: $0) } ?? false
            state.lineage = isPlaced ? placed?.lineage : nil
            if base.reading?.isCertain == false { effects.isUnsettled = true }
        }
        state.missingSince = nil
        publishVersion(state)
    }

    /// Merges an edited file into contents that include every record of the journal.
    ///
    /// - Returns: Whether the contents are current.
    private func mergeFile(_ request: ReloadRequest, _ effects: inout Effects) -> Bool {
        let base = readBase(request)
        var edits: [StoreChange] = []
        if let contents = base.contents {
            // Keys that change from here on are not merged, so the comparison needs no lock.
            let old = state.withLock { $0.contents }
            edits = [StoreChange](from: old, to: contents)
        }
        return state.withLock { state in
            guard !state.isClosed else { return true }
            replayJournal(&state, &effects)
            guard state.reload == .file, usableJournal(state) === request.journal,
                let newer = state.keysNewerThanFile
            else { return false }
            if let contents = base.contents {
                for key in newer { state.fileValues.updateValue(contents[key], forKey: key) }
                publish(edits.filter { !newer.contains($0.key) }, .external, &state, &effects)
            }
            settle(base, &state, &effects)
            return true
        }
    }
}
