// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "Records take precedence over an edit".

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The store of a suite in a JSON file that people can read and edit, and that any number of processes share.
///
/// A commit appends one record to the journal beside the file. A little later, a checkpoint writes the journal into the
/// file. So the contents are those of the file, with every record applied that no checkpoint has written to it. A read
/// compares one word that all processes share: while it is unchanged, the contents in memory are current.
///
/// Locks are taken in this order: the checkpoint lock, `writer`, the journal's lock, `reloader`, `state`.
final class FileStore: VersionedStore {
    struct State {
        var contents: [String: StoredValue] = [:]
        var version: UInt64 = 1
        /// The known journal, and the position up to which it has been read.
        var journal: JournalState = JournalState()
        /// The file that was read or written last, without its contents; `nil` when there was none.
        var reading: SettingsFile.Reading?
        /// The lineage of that file, if a checkpoint has put it in place: see ``PlacedFile``.
        var lineage: UInt64?
        /// The file's values under keys that have a newer value in the journal, as far as they are known.
        var fileValues: [String: StoredValue?] = [:]
        /// What has to be read before the contents are current; `nil` when they are.
        var reload: Reload?
        /// The keys whose values are newer than the file that is being read; `nil` while no thread reads it.
        var keysNewerThanFile: Set<String>?
        /// Whether the contents are based on a settings file, on its last good copy, or on a suite that never had a
        /// file.
        var hasBase = false
        /// The error that prevents reading the file.
        ///
        /// The contents are the last good ones then.
        var readFailure: ReadFailure?
        /// The time at which the file was found missing.
        ///
        /// The contents are still those of the file.
        var missingSince: ContinuousClock.Instant?
        /// The time of the last look at the file.
        var lookedAt: ContinuousClock.Instant?
        /// The permissions of the settings file to which those of its siblings were last narrowed.
        var narrowedTo: mode_t?
        var isOpened = false
        var isClosed = false
        weak var observer: (any StoreObserver)?
        var watch: FileWatch?

        /// The changes that are in the journal and not in the settings file, as one record.
        var journaledChanges: [StoreChange] {
            journal.journaled.keys.sorted().map { StoreChange(key: $0, old: nil, new: contents[$0]) }
        }

        mutating func needs(_ reload: Reload) {
            self.reload = max(reload, self.reload ?? reload)
        }
    }

    /// What has to be read before the contents are current.
    enum Reload: Comparable {
        /// The settings file, which may have been edited. The contents include every record of the journal.
        case file
        /// The settings file and the journal. The contents may lack committed values.
        case everything
    }

    /// The last time that a commit failed to acquire the journal's lock.
    struct LockFailure {
        var time: ContinuousClock.Instant
        var error: SettingsError
    }

    let file: SettingsFile
    let state = Locked(State())
    /// Held for a whole commit, including the user's body.
    ///
    /// `state` is free meanwhile, so reads continue.
    let writer = Locked<LockFailure?>(nil)
    /// Held by the thread that reads the file.
    let reloader = Locked<Void>(())
    let versionStamp = VersionStamp()
    let schedule: CheckpointSchedule
    /// How long an explicit checkpoint waits for a process that makes no progress.
    let lockPatience: Duration
    /// The thread that closes the store; 0 while no thread does.
    private let closer = Atomic<UInt>(0)

    /// Creates a store without accessing the file yet.
    ///
    /// - Parameters:
    ///   - path: The path of the settings file, which may not exist yet.
    ///   - system: The system calls to use.
    ///   - checkpointsInBackground: Whether a checkpoint writes the file automatically, a little after the last set.
    ///   - journalBound: The length of the journal, in bytes, above which a checkpoint is due at once. After it, the
    ///     journal is shortened even if new records have been appended.
    ///   - lockPatience: How long an explicit checkpoint waits for a process that makes no progress.
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
                // While another thread reads an edited file, the contents include all committed values.
                let isUsable = state.reload == .file && state.keysNewerThanFile != nil
                guard let reload = state.reload, !isUsable, !state.isClosed else { return (body(&state), nil) }
                return (nil, reload)
            }
            if let result { return result }
            if let reload { self.reload(reload, &effects) }
        }
        return state.withLock { body(&$0) }
    }

    /// How often to bring the contents up to date for one read, while the file is replaced repeatedly.
    private static let mostRefreshes = 4

    /// Looks at the file to find changes that subscribers wait for.
    ///
    /// - Parameter isFileChanged: Whether anything other than the journal's records may have changed.
    /// - Returns: Whether the contents in memory may have been outdated.
    @discardableResult
    func look(isFileChanged: Bool = true) -> Bool {
        // While no journal is known, a write to the file at its path may have completed it. A record may follow.
        let mayBeNew = !isFileChanged && state.withLock { $0.journal.journal == nil }
        if isFileChanged || mayBeNew { versionStamp.mustLook() }
        guard versionStamp.contentsVersion == nil else { return false }
        withCurrentState { _ in }
        return !mayBeNew
    }

    /// What to do after the locks are released.
    struct Effects {
        var deliveries: [StoreDelivery] = []
        var errors: [SettingsError] = []
        /// Whether to look at the file again when no program can be writing it anymore.
        var isUnsettled = false
        /// Whether reading failed for lack of descriptors or memory.
        var isTransientFailure = false
        /// Whether there are records that need a checkpoint.
        var isCheckpointDue = false
        /// Whether the journal needs a commit that recovers it.
        var needsRepair = false
        var isFirstLook = false
        /// Retained until the locks are released: releasing the last reference to an observer closes the store.
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

    /// Waits until the journal is on the disk.
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
                    // The name may never reach the disk, so a new file has to receive it.
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
            throw writeError(error, consequence: "the latest changes may not survive a power loss")
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
        // No event reports the changes between the last look and the start of the watch.
        look()
    }

    /// Makes a last checkpoint, and releases files and watches.
    ///
    /// If another thread is already closing the store, the caller waits for it.
    func close() {
        let thread = SystemCalls.currentThread()
        let (isFirst, closer) = closer.compareExchange(expected: 0, desired: thread, ordering: .acquiringAndReleasing)
        guard isFirst else {
            // A reporter that runs during the close must not wait for its own thread.
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
        // These are released outside the lock, because ending a watch takes the watcher's lock.
        _ = (consume watch, consume reading, consume journal)
    }
}
