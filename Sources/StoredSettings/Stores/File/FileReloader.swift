// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Reads the settings file, and the journal if necessary, outside the state lock.
///
/// Other reads continue with the contents in memory meanwhile. Those may lack an edit of the file, but no set, because
/// every set is a record of the journal. Only when the records cannot be followed, at first or after a gap, do all reads
/// wait for the file.
struct FileReloader {
    private let store: FileStore
    private var effects = Effects()
    /// How often the records were invalid although the epoch had not changed.
    private var invalidReadings = 0

    private var file: SettingsFile { store.file }

    /// How often to read again because the result was outdated by then.
    private static let mostReloads = 100
    /// How often to read without excluding checkpoints of other processes.
    private static let freeReloads = 2
    /// How often records may be invalid in an epoch, before the journal counts as damaged.
    private static let mostInvalidReadings = 3
    /// The interval between two attempts to read a file that may be incomplete, in seconds.
    private static let pause = 0.01

    private init(_ store: FileStore) {
        self.store = store
    }

    /// Reads until the contents are current, unless another thread is already reading an edited file.
    ///
    /// The caller holds neither the state lock nor ``FileStore/reloader``.
    ///
    /// - Parameters:
    ///   - reload: What to read. If it is everything, this method waits for a thread that is already reading.
    ///   - store: The store.
    ///   - effects: Receives what to do afterwards.
    static func run(_ reload: FileStoreState.Reload, _ store: FileStore, _ effects: inout Effects) {
        var reloader = FileReloader(store)
        switch reload {
        case .file: store.reloader.withLockIfAvailable { _ in reloader.run() }
        case .everything: store.reloader.withLock { _ in reloader.run() }
        }
        effects.take(&reloader.effects)
    }

    private mutating func run() {
        for attempt in 0..<Self.mostReloads {
            // On a disk that is slower than the interval between checkpoints, each file would be replaced before it is
            // read. Sets continue meanwhile, and a background checkpoint of another process is postponed a little.
            let lock = attempt < Self.freeReloads ? nil : checkpointLock()
            defer { lock?.release() }
            guard let request = store.withState(&effects, { $0.beginReload() }) else { return }
            let isDone =
                switch request.reload {
                case .file: mergeFile(request)
                case .everything: readEverything(request)
                }
            if isDone { return }
            SystemCalls.sleep(seconds: 0.001)
        }
    }

    /// The checkpoint lock, if it is free and this process may open it.
    private func checkpointLock() -> CheckpointLock? {
        do {
            return try CheckpointLock.tryToAcquire(for: file, creating: false)
        } catch {
            // Reading continues without it.
            return nil
        }
    }

    /// - Returns: Whether the contents are current.
    private mutating func mergeFile(_ request: ReloadRequest) -> Bool {
        let base = readBase(request)
        var edits: [StoreChange] = []
        if let contents = base.contents {
            // Keys that change from here on are not merged, so the comparison needs no lock.
            edits = [StoreChange](from: store.peek { $0.contents.all }, to: contents)
        }
        return store.withState(&effects) { $0.merge(base, edits, for: request) }
    }

    /// - Returns: Whether the contents are current.
    private mutating func readEverything(_ request: ReloadRequest) -> Bool {
        let base = readBase(request)
        guard let journal = request.journal else {
            return store.withState(&effects) { $0.install(base, for: request) }
        }
        guard let replay = replay(journal, request) else { return false }
        let old = request.contents ?? [:]
        let fileContents = base.contents ?? old
        var contents = fileContents
        for record in replay.records {
            for (key, value) in record.values { contents[key] = value }
        }
        let reloaded = ReloadedContents(
            base: base,
            fileContents: fileContents,
            replay: replay,
            contents: contents,
            changes: [StoreChange](from: old, to: contents),
            written: writtenValues(base, journal, request)
        )
        return store.withState(&effects) { $0.install(reloaded, for: request) }
    }

    /// Reads the records that are not in the file.
    ///
    /// - Returns: `nil` when the file has to be read again first, because it was replaced or a new epoch has begun.
    private mutating func replay(_ journal: Journal, _ request: ReloadRequest) -> JournalReader.Replay? {
        let reader = JournalReader(journal)
        do {
            if let epoch = request.epoch, let replay = try reader.replay(from: epoch) {
                store.withState(&effects) { $0.journal.unreadable = nil }
                return replay
            }
            // Records that are invalid in an epoch that does not change are damaged, whatever has been appended meanwhile.
            let (published, newest) = (JournalPosition(word: request.published), journal.published)
            guard journal.isAlive, journal.current?.epoch == request.epoch, newest.epoch == published.epoch,
                newest.end >= published.end
            else {
                invalidReadings = 0
                return nil
            }
            invalidReadings += 1
            guard invalidReadings >= Self.mostInvalidReadings else { return nil }
            store.withState(&effects) { $0.reportDamage(journal) }
            return try reader.salvage()
        } catch {
            // The values in memory remain in use. The next read tries again.
            return store.withState(&effects) { state in
                state.reportUnreadable(error)
                return state.journal.knownRecords { state.contents[$0] }
            }
        }
    }

    private func writtenValues(_ base: ReloadBase, _ journal: Journal, _ request: ReloadRequest) -> WrittenValues {
        // Where nothing could be read, nothing is known to have changed.
        guard base.contents != nil else { return .all }
        guard let checkpoint = request.lastCheckpoint else { return .unknown }
        if checkpoint.hasPlaced(base.reading?.status) || checkpoint.isBeforeMove(to: journal) { return .all }
        return checkpoint.lastGoodCopy(in: file, journal).map { .these($0) } ?? .unknown
    }
}

// MARK: - The file

extension FileReloader {
    /// Reads the settings file, or the last good copy.
    private func readBase(_ request: ReloadRequest) -> ReloadBase {
        // A process that has no contents yet waits a moment for an editor to finish.
        var attemptsLeft = request.isFirst ? Int(SettingsFileState.settlingTime / Self.pause) : 0
        while true {
            let (base, isRetryable) = readBaseOnce(request)
            guard isRetryable, attemptsLeft > 0 else { return base }
            attemptsLeft -= 1
            SystemCalls.sleep(seconds: Self.pause)
        }
    }

    private func readBaseOnce(_ request: ReloadRequest) -> (ReloadBase, isRetryable: Bool) {
        var status: FileStatus?
        do {
            status = try file.status()
            if var reading = try file.read() {
                let contents = reading.contents
                reading.contents = [:]
                return (ReloadBase(contents: contents, reading: reading, isBase: true), isRetryable: false)
            }
            guard try file.hasEvidence(in: request.journal) else {
                return (ReloadBase(contents: [:], isBase: true), isRetryable: false)
            }
            let copy = lastGoodCopy()
            let isUnknown = copy == nil && (request.reload == .everything || !request.hasBase)
            let failure = ReadFailure(missing: file, hasCopy: copy != nil, isUnknown: isUnknown)
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
        let copy = isFollowed ? nil : lastGoodCopy()
        // A malformed file has no newer values than the last good ones. A file that cannot be read may have.
        let isUnknown =
            isMalformed ? !isFollowed && copy == nil : !(isFollowed && isUnchanged(status, since: request.reading))
        let cause = ReadFailure.Cause(error, isTransient: isTransient, isUnknown: isUnknown)
        let failure = ReadFailure(cause, of: file, status: status, hasValues: copy != nil || request.hasBase)
        return (ReloadBase(contents: copy, failure: failure, isBase: !isUnknown), isRetryable: isTransient)
    }

    /// The contents of the last good copy; `nil` when there is none that can be read.
    ///
    /// The error that is reported is that of the settings file itself.
    private func lastGoodCopy() -> [String: StoredValue]? {
        do {
            return try file.readLastGood()
        } catch {
            return nil
        }
    }

    private func isUnchanged(_ status: FileStatus?, since reading: SettingsFile.Reading?) -> Bool {
        guard let status, let reading else { return false }
        return status == reading.status && reading.isCertain
    }

    /// Whether another program may be writing the file.
    private func isYoung(_ status: FileStatus?) -> Bool {
        guard let status else { return false }
        return abs(SystemCalls.wallClock() - status.modified.secondsSince1970) < SettingsFileState.settlingTime
    }

    /// Whether another program has started to write the file after the look at it and before it was read.
    private var isYoungNow: Bool {
        do {
            return isYoung(try file.status())
        } catch {
            return false
        }
    }
}
