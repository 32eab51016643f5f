// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension FileStore {
    /// How often to read again because what was read was outdated by then, before the next read has to go on.
    private static let mostReloads = 100
    /// How often to read without keeping other processes from making checkpoints.
    private static let freeReloads = 2
    /// How often records may be wrong although nothing changes, before the journal is called damaged.
    static let mostWrongLooks = 3

    /// What is to be read, and what is known of the journal before.
    struct ReloadRequest {
        var reload: Reload
        var journal: Journal?
        var facts: JournalEpoch?
        var published: UInt64
        var version: UInt64
        /// What is in memory, if it does not change meanwhile; otherwise `nil`.
        var contents: [String: StoredValue]?
        /// Whether there is nothing in memory that could be used.
        var isFirst: Bool
        /// Whether the file that was read last has the contents that are in memory, as far as the journal has no others.
        var reading: SettingsFile.Reading?
        var hasBase: Bool
    }

    /// What the contents are to rest on.
    struct ReloadBase {
        /// `nil` to go on with what is in memory.
        var contents: [String: StoredValue]?
        /// The file that was read, without its contents.
        var reading: SettingsFile.Reading?
        var failure: ReadFailure?
        /// Whether these are the contents of a settings file, of its copy, or of a suite that never had one.
        var isBase: Bool
    }

    /// Reads what the state's `reload` asks for, unless another thread does.
    ///
    /// The caller holds neither the state's lock nor `reloader`.
    ///
    /// - Parameters:
    ///   - reload: What is missing. For everything, this waits for a thread that is reading.
    ///   - effects: Receives what is to be done afterwards.
    func reload(_ reload: Reload, _ effects: inout Effects) {
        switch reload {
        case .file: reloader.withLockIfAvailable { _ in reloadAll(&effects) }
        case .everything: reloader.withLock { _ in reloadAll(&effects) }
        }
    }

    /// Brings the contents up to date before a lock is taken that others may wait for.
    ///
    /// - Parameters:
    ///   - lookingAtFile: Whether to look at the file even if no event has reported a change.
    ///   - effects: Receives what is to be done afterwards.
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
            // On a disk that is slower than the checkpoints come, these would replace every file before it is read. Sets
            // go on meanwhile, and a background checkpoint of another process is made a little later.
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

    /// The lock for checkpoints, if it is free and this process may open it.
    private func checkpointLock() -> FileHandle? {
        do {
            return try tryToLockForCheckpoint(creating: false)
        } catch {
            // Reading goes on without it.
            return nil
        }
    }

    private func beginReload(_ state: inout State, _ effects: inout Effects) -> ReloadRequest? {
        guard !state.isClosed, state.reload != nil else { return nil }
        if state.reload == .file { replayJournal(&state, &effects) }
        guard let reload = state.reload else { return nil }
        // What is changed from here on asks for another look.
        _ = versionStamp.takeLookDue()
        let journal = findUsableJournal(&state, &effects)
        // The journal's facts are from before the file is read, so that the file has all that they say it has.
        let facts = journal?.current?.epoch
        if reload == .file {
            if let facts, facts.epoch == state.journal.position.epoch { state.journal.dropCheckpointed(upTo: facts.checkpointed) }
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
    /// Reads the file, or what stands in for it.
    func readBase(_ request: ReloadRequest) -> ReloadBase {
        // A process that has nothing to use yet gives an editor time to finish.
        var turnsLeft = request.isFirst ? Int(Self.settlingTime / Self.turn) : 0
        while true {
            let (base, isRetryable) = readBaseOnce(request)
            guard isRetryable, turnsLeft > 0 else { return base }
            turnsLeft -= 1
            SystemCalls.sleep(seconds: Self.turn)
        }
    }

    /// Between two looks at a file that may be on its way, in seconds.
    private static let turn = 0.01

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
        // A malformed file has no newer values than the last good ones. Another one may have.
        let isUnknown =
            isMalformed ? !isFollowed && copy == nil : !(isFollowed && isUnchanged(status, since: request.reading))
        var failure = ReadFailure(error, of: self, status: status, isTransient: isTransient, isUnknown: isUnknown)
        if !isFollowed, copy == nil {
            failure.error.consequence = "it is left as it is, and the defaults are used, with what is set meanwhile"
        }
        return (ReloadBase(contents: copy, failure: failure, isBase: !isUnknown), isRetryable: isTransient)
    }

    private func isUnchanged(_ status: FileStatus?, since reading: SettingsFile.Reading?) -> Bool {
        guard let status, let reading else { return false }
        return status == reading.status && reading.isCertain
    }

    /// Whether another program has begun to write the file since it was looked at, and before it was read.
    private var isYoungNow: Bool {
        do {
            return isYoung(try file.status())
        } catch {
            return false
        }
    }

    /// Notes what the contents rest on now.
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
            if let status = base.reading?.status { narrowJournal(to: status, state, &effects) }
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

    /// Merges the file into contents that have followed every record of the journal.
    ///
    /// - Returns: Whether the contents are up to date.
    private func mergeFile(_ request: ReloadRequest, _ effects: inout Effects) -> Bool {
        let base = readBase(request)
        var edits: [StoreChange] = []
        if let contents = base.contents {
            // What is changed from here on is not merged, so the comparison needs no lock.
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
