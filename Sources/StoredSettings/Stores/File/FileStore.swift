// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The store that keeps a suite in a JSON file which people can read and edit, shared by any number of processes.
///
/// A commit appends one record to the journal beside the file; a little later the journal is checkpointed into the file. So the
/// contents are those of the file with the records of the journal over it that are not checkpointed. A read looks at one word
/// that all processes share: as long as it is the one that was seen last, what is in memory is right.
///
/// Locks are taken in this order: the lock for checkpointing, `writer`, the journal's, `reloader`, `state`.
final class FileStore: VersionedStore {
    struct State {
        var contents: [String: StoredValue] = [:]
        var version: UInt64 = 1
        /// What is known of the journal, and how far it has been read.
        var journal: JournalState = JournalState()
        /// The file that was read, or written, last, without its contents; `nil` when there was none.
        var reading: SettingsFile.Reading?
        /// The lineage of that file, if a checkpoint has put it in place.
        var lineage: UInt64?
        /// What the file has under the keys that the journal has newer values of, as far as that is known.
        var fileValues: [String: StoredValue?] = [:]
        /// What has to be read before the contents are the newest; `nil` when they are.
        var reload: Reload?
        /// The keys whose values are newer than the file that is being read; `nil` while none is.
        var keysNewerThanFile: Set<String>?
        /// Whether the contents rest on a settings file or its last good copy, or on there being none.
        var hasBase = false
        /// The state of the file that could not be read, and why; `contents` are then the last good ones.
        var readFailure: ReadFailure?
        /// Since when the file that was read is not there; `contents` are still those.
        var missingSince: ContinuousClock.Instant?
        /// When the file was looked at last.
        var lookedAt: ContinuousClock.Instant?
        var isOpened = false
        var isClosed = false
        weak var observer: (any StoreObserver)?
        var watch: FileWatch?

        /// What the journal has to say, as the changes of one record.
        var journaledChanges: [StoreChange] {
            journal.journaled.keys.sorted().map { StoreChange(key: $0, old: nil, new: contents[$0]) }
        }

        mutating func needs(_ reload: Reload) {
            self.reload = max(reload, self.reload ?? reload)
        }
    }

    /// What has to be read before the contents are the newest.
    enum Reload: Comparable {
        /// The file, which may have been edited. The contents have every record of the journal.
        case file
        /// The file and the journal. The contents may lack what was set.
        case everything
    }

    /// When a commit has last waited for the journal's lock in vain.
    struct LockFailure {
        var time: ContinuousClock.Instant
        var error: SettingsError
    }

    let file: SettingsFile
    let state = Locked(State())
    /// Held for a whole commit, the user's body included; `state` is free meanwhile, so that reads go on.
    let writer = Locked<LockFailure?>(nil)
    /// Held by the thread that reads the file.
    let reloader = Locked<Void>(())
    let versionStamp = VersionStamp()
    let schedule: CheckpointSchedule
    /// How long an explicit checkpoint waits for a process that gets nothing done.
    let lockPatience: Duration
    /// The thread that closes the store; 0 while none does.
    private let closer = Atomic<UInt>(0)

    /// Creates a store, which reads and makes nothing yet.
    ///
    /// - Parameters:
    ///   - path: Where the file is, or is to be.
    ///   - system: Makes the calls.
    ///   - checkpointsInBackground: Whether the file is written by itself, a little after the last set.
    ///   - journalBound: How long the journal may become before it is checkpointed at once, and shortened although new records
    ///     come, in bytes.
    ///   - lockPatience: How long an explicit checkpoint waits for a process that gets nothing done.
    init(
        path: FilePath,
        system: SystemCalls = SystemCalls(),
        checkpointsInBackground: Bool = true,
        journalBound: Int = 1 << 22,
        lockPatience: Duration = FileLock.patience
    ) {
        self.lockPatience = lockPatience
        file = SettingsFile(path: path, system: system)
        schedule = CheckpointSchedule(isActive: checkpointsInBackground, journalBound: journalBound)
    }

    deinit {
        OpenStores.remove(self)
    }

    func setObserver(_ observer: any StoreObserver) {
        state.withLock { $0.observer = observer }
    }
}

// MARK: - Reading

extension FileStore {
    func version() -> UInt64 {
        versionStamp.contentsVersion ?? withCurrentState { $0.version }
    }

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        withCurrentState { body($0.contents[key]) }
    }

    func contents() -> [String: StoredValue] {
        withCurrentState { $0.contents }
    }

    var problem: SettingsError? {
        withCurrentState { $0.readFailure?.error ?? $0.journal.problem ?? $0.journal.unreadable }
    }

    /// Runs a body on the newest contents that can be read.
    private func withCurrentState<Result>(_ body: (inout State) -> Result) -> Result {
        var effects = Effects()
        // The observer is notified outside the locks.
        defer { deliver(effects) }
        for _ in 0..<Self.mostRefreshes {
            let (result, reload): (Result?, Reload?) = state.withLock { state in
                refresh(&state, &effects)
                // While another thread reads an edited file, all that was set is known without it.
                let isUsable = state.reload == .file && state.keysNewerThanFile != nil
                guard let reload = state.reload, !isUsable, !state.isClosed else { return (body(&state), nil) }
                return (nil, reload)
            }
            if let result { return result }
            if let reload { self.reload(reload, &effects) }
        }
        return state.withLock { body(&$0) }
    }

    /// How often to bring the contents up to date for one read, while the file is replaced again and again.
    private static let mostRefreshes = 4

    /// Looks at the file, for those who wait to hear of changes.
    ///
    /// - Parameter isFileChanged: Whether anything but the journal's records may have changed.
    /// - Returns: Whether there was anything new.
    @discardableResult
    func look(isFileChanged: Bool = true) -> Bool {
        if isFileChanged { versionStamp.mustLook() }
        guard versionStamp.contentsVersion == nil else { return false }
        withCurrentState { _ in }
        return true
    }

    /// What is to be told and done once the locks are free.
    struct Effects {
        var deliveries: [StoreDelivery] = []
        var errors: [SettingsError] = []
        /// Whether the file has to be looked at again when it has had time to settle.
        var isUnsettled = false
        /// Whether reading failed for a reason that may be gone in a moment.
        var isTransientFailure = false
        /// Whether there are records that somebody should checkpoint.
        var isCheckpointDue = false
        /// Whether the journal needs a commit to put it in order.
        var needsRepair = false
        var isFirstLook = false
        /// Kept until the locks are free: the last reference to an observer closes the store.
        var observers: [any StoreObserver] = []
    }

    func deliver(_ effects: Effects) {
        for delivery in effects.deliveries {
            delivery.perform()
        }
        if !effects.errors.isEmpty {
            let observer = state.withLock { $0.observer }
            for error in effects.errors {
                observer?.report(error)
            }
        }
        if effects.isUnsettled { lookAgain() }
        if effects.isTransientFailure { retryReading() }
        if effects.isFirstLook { watchLater() }
        if effects.needsRepair { repairLater() }
        if effects.isCheckpointDue { checkpointLater(isOwn: false) }
        helpIfStarved()
    }
}

// MARK: - The rest of the contract

extension FileStore {
    var persistence: SettingsPersistence {
        if let problem = state.withLock({ $0.journal.problem }) {
            return .readOnly(path: file.path.description, reason: problem.fact)
        }
        do {
            try checkWritable()
            try checkTarget(journal: journalPath())
            if let journal = state.withLock({ $0.journal.journal }), !journal.isWritable {
                try file.system.checkWritable(journal.file.path)
            }
            return .durable(path: file.path.description)
        } catch {
            return .readOnly(
                path: file.path.description,
                reason: (error as? SystemError)?.reason ?? writeError(error).fact
            )
        }
    }

    /// Waits until the disk has the journal.
    func synchronize() throws {
        do {
            // Without a journal that is open, other processes may have created one.
            look(isFileChanged: state.withLock { $0.journal.journal == nil || $0.journal.problem != nil })
            // Values that other processes have set may be in a journal that cannot be opened.
            if let problem = state.withLock({ $0.journal.problem }) { throw problem }
            // What was committed to a journal that was removed since, or that the disk failed to take, is not safe there.
            if needsRepair() { try commit(isBlind: true, mustBeTrusted: true) { _ in } }
            let (journal, isNamed, reading) = state.withLock {
                ($0.journal.journal, $0.journal.isNamed, $0.reading)
            }
            if let journal {
                try journal.synchronize()
                guard !isNamed else { return }
                do {
                    try file.system.synchronizeDirectory(journal.file.path.directory)
                } catch {
                    // The name may never reach the disk, so a new file has to take it.
                    journal.distrust()
                    throw error
                }
                state.withLock { state in
                    if state.journal.journal === journal { state.journal.isNamed = true }
                }
            } else if let reading {
                try file.synchronize(reading)
            }
        } catch {
            throw writeError(error)
        }
    }

    func watch() {
        watch(makingDirectories: true)
    }

    func watch(makingDirectories: Bool) {
        let isNeeded = state.withLock { !$0.isClosed && ($0.watch?.isInherited ?? true) }
        guard isNeeded else { return }
        let watch = FileWatch(file) { [weak self] in self?.look(isFileChanged: $0) ?? false }
        let inherited = state.withLock { state in
            guard state.watch?.isInherited ?? true, !state.isClosed else { return nil as FileWatch? }
            defer { state.watch = watch }
            return state.watch
        }
        _ = consume inherited
        watch.start(makingDirectories: makingDirectories)
        // What has changed since the last look, and before the watch, nobody would tell.
        look()
    }

    /// Checkpoints what is not checkpointed, and lets go of files and watches.
    ///
    /// Whoever calls this while another thread is doing so waits for it.
    func close() {
        let thread = SystemCalls.currentThread()
        let (isFirst, closer) = closer.compareExchange(expected: 0, desired: thread, ordering: .acquiringAndReleasing)
        guard isFirst else {
            // Unless it is a reporter that is called while the store is closed, which would wait for itself.
            while closer != thread, !state.withLock({ $0.isClosed }) { SystemCalls.sleep(seconds: 0.001) }
            return
        }
        checkpointAtEnd()
        let (watch, reading, journal) = state.withLock { state in
            state.isClosed = true
            versionStamp.close()
            defer { (state.watch, state.reading, state.journal.journal) = (nil, nil, nil) }
            return (state.watch, state.reading, state.journal.journal)
        }
        // They end outside the lock: a watch waits for nobody, but takes the watcher's lock.
        _ = (consume watch, consume reading, consume journal)
    }
}
