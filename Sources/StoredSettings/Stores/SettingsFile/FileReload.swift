// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What to read, and what the state knew before.
struct ReloadRequest {
    let reload: FileStoreState.Reload
    /// The settings file as it was known before it was read.
    let settings: SettingsFileState
    let journal: Journal?
    /// The journal's epoch before the file was read.
    let epoch: JournalEpoch?
    /// The journal's published word before the file was read.
    let published: UInt64
    /// The version of the contents.
    let version: UInt64
    /// The contents in memory if everything is read; otherwise `nil`.
    let contents: [String: StoredValue]?
    /// See ``SettingsFileState/rememberedPlace``; `nil` after the known journal is gone.
    let rememberedPlace: FileIdentity?
    /// The last checkpoint through a journal that is lost, if values of it have to be taken over.
    let lastCheckpoint: LastCheckpoint?
}

/// The contents of the settings file, or of its replacement.
struct ReloadBase {
    /// `nil` to continue with the contents in memory.
    var contents: [String: StoredValue]?
    /// The file that was read, without its contents.
    var reading: SettingsFile.Reading?
    /// The directory of that file; `nil` if the path has led to another one meanwhile.
    var place: FileIdentity?
    var failure: ReadFailure?
}

/// The contents that follow from a settings file and the records of a journal.
struct ReloadedContents {
    var base: ReloadBase
    /// The contents of the file, or those in memory if there is no base.
    var fileContents: [String: StoredValue]
    var replay: Journal.Replay
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
        _ = storeVersion.takeLookDue()
        let usable = findUsableJournal()
        // The epoch is read before the file, so that the file contains all records that the epoch says it contains.
        let epoch = usable?.current?.epoch
        if reload == .file {
            if let epoch, epoch.epoch == journal.position.epoch {
                journal.dropCheckpointed(upTo: epoch.checkpointed)
            }
            // Values that have to be taken over into the journal are not in the file, and have no record there yet.
            for key in journal.stranded?.values.keys ?? [:].keys {
                journal.journaled[key] = journal.journaled[key] ?? journal.position.end
            }
            keysNewerThanFile = Set(journal.journaled.keys)
        }
        return ReloadRequest(
            reload: reload,
            settings: settings,
            journal: usable,
            epoch: epoch,
            published: usable?.published.word ?? 0,
            version: version,
            contents: reload == .everything ? contents.all : nil,
            rememberedPlace: usable != nil || journal.position.epoch == 0 ? settings.rememberedPlace : nil,
            lastCheckpoint: journal.stranded?.checkpoint
        )
    }

    /// Merges an edited file into contents that include every record of the journal.
    ///
    /// Edits of keys that are newer than the file are not applied.
    ///
    /// - Returns: Whether the contents are current.
    mutating func merge(_ base: ReloadBase, _ edits: [StoreChange], for request: ReloadRequest) -> Bool {
        guard !isClosed else { return true }
        replayJournal()
        guard reload == .file, usableJournal === request.journal, let newer = keysNewerThanFile else {
            return false
        }
        if let contents = base.contents {
            for key in newer { settings.overridden.updateValue(contents[key], forKey: key) }
            publish(edits.filter { !newer.contains($0.key) }, .external)
        }
        settle(base, for: request)
        return true
    }

    /// Makes the contents of a file visible for which there is no journal.
    ///
    /// - Returns: Whether the contents are current.
    mutating func install(_ base: ReloadBase, for request: ReloadRequest) -> Bool {
        guard !isClosed else { return true }
        guard usableJournal == nil, version == request.version else { return false }
        var new = base.contents ?? contents.all
        for key in journal.journaled.keys {
            if let found = base.contents { settings.overridden.updateValue(found[key], forKey: key) }
            new[key] = contents[key]
        }
        publish([StoreChange](from: contents.all, to: new), .external, gap: isOpened ? nil : .allKeys)
        settle(base, for: request)
        return true
    }

    /// Makes the contents of a file and a journal visible.
    ///
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
        var others = known.reduce(into: [String: StoredValue?]()) {
            $0.updateValue(contents[$1.key], forKey: $1.key)
        }
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

    /// Makes reloaded contents visible, and retains values that are neither in the file nor in the journal.
    private mutating func publish(_ reloaded: ReloadedContents, with others: [String: StoredValue?]) {
        var (new, changes) = (reloaded.contents, reloaded.changes)
        if !others.isEmpty {
            changes.removeAll { others[$0.key] != nil }
            for (key, value) in others {
                new[key] = value
                let change = StoreChange(key: key, old: contents[key], new: value)
                // It is retained, which is no assignment.
                if change.old != change.new { changes.append(change) }
            }
            changes.sort { $0.key < $1.key }
        }
        publish(changes, .external, resultingIn: new, gap: .allKeys)
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
            if failure.isMissing { (settings.reading, settings.editVersion) = (nil, nil) }
            if let status = failure.status, status.isRegular { adjustPermissions(to: status) }
            if !failure.isUnknown || request.reload == .everything { settings.hasBase = !failure.isUnknown }
        } else {
            if let failure = settings.failure {
                if let error = failure.reported { effects.reportRecovery(from: error) }
                schedule.retryNow()
                // A process that has committed nothing does not retry a failed checkpoint.
                if !journal.journaled.isEmpty { effects.isCheckpointDue = true }
            }
            if let status = base.reading?.status { adjustPermissions(to: status) }
            settings.accept(base.reading, journal.journal?.page)
            settings.rememberedPlace = base.place
            if base.reading?.isCertain == false { effects.isUnsettled = true }
        }
        settings.missingSince = nil
        // Another thread that looked during the read has left a newer file to this thread.
        if settings.looks != request.settings.looks {
            storeVersion.mustLook()
            effects.isUnsettled = true
        }
    }

    /// Notes that this process has put a file in place, with the journal's records so far.
    mutating func noteWritten(
        _ reading: SettingsFile.Reading,
        editVersion: UInt64,
        _ fileContents: [String: StoredValue]
    ) {
        effects.close(settings.reading)
        // A missing file is written again.
        if let error = settings.failure?.reported { effects.reportRecovery(from: error) }
        (settings.reading, settings.editVersion, settings.failure) = (reading, editVersion, nil)
        settings.missingSince = nil
        // It must not retain the contents.
        settings.reading?.contents = [:]
        if !reading.isCertain { effects.isUnsettled = true }
        for key in journal.journaled.keys { settings.overridden.updateValue(fileContents[key], forKey: key) }
    }
}

// MARK: - Reading and merging

/// Reads the settings file, and the journal if necessary, outside the state lock.
///
/// Other reads continue with the contents in memory meanwhile. Those may lack an edit of the file, but no set, because
/// every set is a record of the journal. Only when the records cannot be followed, at first or after a gap, do all reads
/// wait for the file.
struct FileReloader {
    private let store: FileStore
    private var effects = Effects()

    private var file: SettingsFile { store.file }

    /// How often to read again because the result was outdated by then.
    private static let mostReloads = 100
    /// How often to read without excluding checkpoints of other processes.
    private static let freeReloads = 2
    /// The interval between two attempts to read a file that may be incomplete, in seconds.
    private static let pause = 0.01

    /// Reads until the contents are current, unless another thread is already reading an edited file.
    ///
    /// To read everything, this waits for a thread that is already reading. The caller holds neither the state lock nor
    /// ``FileStore/reloader``.
    static func run(_ reload: FileStoreState.Reload, _ store: FileStore, _ effects: inout Effects) {
        var reloader = FileReloader(store: store)
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
            let base = readBase(request)
            let isDone =
                switch request.reload {
                case .file: merge(base, request)
                case .everything: install(base, request)
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
    private mutating func merge(_ base: ReloadBase, _ request: ReloadRequest) -> Bool {
        var edits: [StoreChange] = []
        if let contents = base.contents {
            // Keys that change from here on are not merged, so the comparison needs no lock.
            edits = [StoreChange](from: store.peek { $0.contents.all }, to: contents)
        }
        return store.withState(&effects) { $0.merge(base, edits, for: request) }
    }

    /// - Returns: Whether the contents are current.
    private mutating func install(_ base: ReloadBase, _ request: ReloadRequest) -> Bool {
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
    private mutating func replay(_ journal: Journal, _ request: ReloadRequest) -> Journal.Replay? {
        do {
            if let epoch = request.epoch, let replay = try journal.replay(from: epoch) {
                store.withState(&effects) { $0.journal.unreadable = nil }
                return replay
            }
            // Records that are invalid in an epoch that does not change are damaged, whatever has been appended meanwhile.
            let (published, newest) = (JournalPosition(word: request.published), journal.published)
            guard journal.isAlive, journal.current?.epoch == request.epoch, newest.epoch == published.epoch,
                newest.end >= published.end
            else { return nil }
            store.withState(&effects) { $0.reportDamage(journal) }
            return try journal.salvage()
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
        if checkpoint.hasWritten(base.reading?.status) || checkpoint.isBeforeMove(to: journal) { return .all }
        return checkpoint.lastGoodCopy(in: file, journal).map { .these($0) } ?? .unknown
    }
}

// MARK: - The file

extension FileReloader {
    /// Reads the settings file, or the last good copy.
    private func readBase(_ request: ReloadRequest) -> ReloadBase {
        // A process that has no contents yet waits a moment for an editor to finish.
        let isFirst = request.settings.reading == nil && request.settings.failure == nil
        var attemptsLeft = isFirst ? Int(SettingsFileState.settlingTime / Self.pause) : 0
        while true {
            let base = readBaseOnce(request)
            guard let failure = base.failure, failure.isTransient || failure.isMissing, attemptsLeft > 0 else {
                return base
            }
            attemptsLeft -= 1
            SystemCalls.sleep(seconds: Self.pause)
        }
    }

    private func readBaseOnce(_ request: ReloadRequest) -> ReloadBase {
        var status: FileStatus?
        do {
            status = try file.status()
            let place = try file.place()
            if var reading = try file.read() {
                let contents = reading.contents
                reading.contents = [:]
                return ReloadBase(
                    contents: contents,
                    reading: reading,
                    place: try file.place() == place ? place : nil
                )
            }
            let isRemembered = request.rememberedPlace != nil && place == request.rememberedPlace
            guard try file.isMissed(request.journal, isRemembered: isRemembered) else {
                return ReloadBase(contents: [:])
            }
            let copy = file.readLastGood()?.contents
            // After a checkpoint, the file may have had values that this process has not read.
            let hasCheckpoint = request.journal.map { $0.page[.checkpointed] != 0 } ?? false
            let isUnknown =
                copy == nil
                && (request.reload == .everything ? !isRemembered || hasCheckpoint : !request.settings.hasBase)
            let error = file.missingError(
                hasCopy: copy != nil,
                isUnknown: isUnknown,
                isAlone: request.journal == nil
            )
            return ReloadBase(
                contents: copy,
                failure: ReadFailure(error: error, isMissing: true, isUnknown: isUnknown)
            )
        } catch {
            return failedBase(error, status, request)
        }
    }

    private func failedBase(_ error: any Error, _ status: FileStatus?, _ request: ReloadRequest) -> ReloadBase {
        let isMalformed = error is JSONSyntaxError
        let isFollowed = request.reload == .file && request.settings.hasBase
        let copy = isFollowed ? nil : file.readLastGood()?.contents
        let isUnchanged = request.settings.reading?.isCertain == true && request.settings.reading?.status == status
        // A malformed file has no newer values than the last good ones. A file that cannot be read may have.
        let isUnknown = isMalformed ? !isFollowed && copy == nil : !(isFollowed && isUnchanged)
        let failure = ReadFailure(
            error: file.readError(error, hasValues: copy != nil || request.settings.hasBase),
            status: status,
            isTransient: isMalformed && isYoung,
            isUnknown: isUnknown
        )
        return ReloadBase(contents: copy, failure: failure)
    }

    /// Whether another program may be writing the file.
    private var isYoung: Bool {
        do {
            guard let status = try file.status() else { return false }
            return abs(SystemCalls.wallClock() - status.modified.secondsSince1970) < SettingsFileState.settlingTime
        } catch {
            return false
        }
    }
}
