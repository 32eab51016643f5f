// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "Records take precedence over an edit".
// See Documentation/Decisions/Writing.md, "Most sets take a short path".

import Synchronization

/// The store of a suite in a JSON file that people can read and edit, and that any number of processes share.
///
/// A commit appends one record to the journal beside the file. A little later, a checkpoint writes the journal into the
/// file. So the contents are those of the file, with every record applied that no checkpoint has written to it. A read
/// compares one word that all processes share: while it is unchanged, the contents in memory are current.
///
/// Locks are taken in this order: the checkpoint lock, `writer`, the journal's lock, `reloader`, the state lock.
final class FileStore: LimitedStore, RecoveringStore {
    let file: SettingsFile
    /// Accessed through ``peek(_:)`` and ``withState(_:_:)``, except by code that has no effects.
    let state: Locked<FileStoreState>
    /// Held for a whole commit, including the user's body, but not for a set that need not wait.
    ///
    /// The state lock is free meanwhile, so reads continue.
    let writer = Locked<LockFailure?>(nil)
    /// The number of threads that wait to write, or are about to.
    let waiters = Atomic(0)
    /// Held by the thread that reads the file.
    let reloader = Locked<Void>(())
    let storeVersion = StoreVersion(isLooking: true)
    let schedule: CheckpointSchedule
    /// How long a commit waits for the journal's lock, and an explicit checkpoint for another one.
    let timeouts: LockTimeouts
    /// The last good copy as it was read for an unusable value.
    let lastGoodCopy = Locked<SettingsFile.Reading?>(nil)
    private let isClosing = ProcessFlag()
    /// Whether this process has used the store in a way that leaves work for its end.
    fileprivate let isUsed = ProcessFlag()
    /// The stores that the current thread is closing.
    @TaskLocal private static var closing: Set<ObjectIdentifier> = []

    /// Creates a store without accessing the file yet.
    ///
    /// - Parameters:
    ///   - path: The path of the settings file, which may not exist yet.
    ///   - system: The system calls to use.
    ///   - checkpointsInBackground: Whether a checkpoint writes the file automatically, a little after the last set.
    ///   - journalBound: The length of the journal, in bytes, above which a checkpoint is due at once. After it, the
    ///     journal is shortened even if new records have been appended.
    ///   - timeouts: How long a commit waits for the journal's lock, and an explicit checkpoint for another one.
    init(
        path: FilePath,
        system: SystemCalls = SystemCalls(),
        checkpointsInBackground: Bool = true,
        journalBound: Int = 1 << 22,
        timeouts: LockTimeouts = LockTimeouts()
    ) {
        self.timeouts = timeouts
        file = SettingsFile(path: path, system: system)
        schedule = CheckpointSchedule(isActive: checkpointsInBackground, journalBound: journalBound)
        state = Locked(FileStoreState(file, storeVersion, schedule))
    }

    func setObserver(_ observer: any StoreObserver) {
        let declaredKeys = (observer as? any LastGoodObserver)?.declaredKeys
        state.withLock { state in
            state.observer = observer
            if let declaredKeys { state.declaredKeys = declaredKeys }
        }
    }

    var checkpoints: Checkpoints { Checkpoints(store: self) }

    func checkpoint() throws {
        try checkpoints.run()
    }

    // MARK: - The state

    /// Runs a body that reads the state.
    func peek<Result>(_ body: (borrowing FileStoreState) throws -> Result) rethrows -> Result {
        try state.withLock { try body($0) }
    }

    /// Runs a body that changes the state, and makes the changes known to reads without a lock.
    ///
    /// - Parameters:
    ///   - effects: Receives what to do after all locks are released.
    ///   - body: Changes the state.
    /// - Returns: The result of the body.
    func withState<Result>(
        _ effects: inout Effects,
        _ body: (inout FileStoreState) throws -> Result
    ) rethrows -> Result {
        try state.withLock { state in
            defer {
                state.publishVersion()
                effects.take(&state.effects)
            }
            return try body(&state)
        }
    }

    /// Runs a body that commits, and excludes the commits of other threads.
    ///
    /// - Parameter body: Receives the last failure to lock the journal.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body, or that of ``WaitLimit/check()``.
    func withWriter<Result>(_ body: (inout LockFailure?) throws -> Result) throws -> Result {
        waiters.add(1, ordering: .relaxed)
        defer { waiters.subtract(1, ordering: .relaxed) }
        return try WaitLimit.withLock(writer, body)
    }

    /// Runs an operation, and performs its effects after it has released its locks.
    func withEffects<Result>(_ operation: (inout Effects) throws -> Result) rethrows -> Result {
        var effects = Effects()
        defer { perform(effects) }
        return try operation(&effects)
    }
}

// MARK: - Reading

extension FileStore {
    var sharedVersion: StoreVersion? { storeVersion }

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        withCurrentState { body($0.contents.value(forKey: key)) }
    }

    func contents() -> [String: StoredValue] {
        withCurrentState { $0.contents.all }
    }

    func refresh(mayWait: Bool) throws {
        if let problem = withCurrentState({ $0.problem }) { throw problem }
    }

    func location(ofValueForKey key: String) -> SettingsError.Location? {
        // The value of a record is not in the file yet.
        let isRead = peek { state in
            state.settings.failure == nil && state.journal.journaled[key] == nil
                && key.divisions.allSatisfy { state.journal.journaled[$0.object] == nil }
        }
        guard isRead else { return nil }
        do {
            return try file.location(ofValueForKey: key)
        } catch {
            // The error names the file without a line.
            return nil
        }
    }

    /// Runs a body on the newest contents that can be read.
    @discardableResult
    func withCurrentState<Result>(_ body: (borrowing FileStoreState) -> Result) -> Result {
        withEffects { effects in
            for _ in 0..<Self.mostRefreshes {
                let (result, reload) = withState(&effects) { state -> (Result?, FileStoreState.Reload?) in
                    state.refresh()
                    return state.isUsable ? (body(state), nil) : (nil, state.reload)
                }
                if let result { return result }
                if let reload { FileReloader.run(reload, self, &effects) }
            }
            return peek(body)
        }
    }

    /// Brings the contents up to date before the caller takes a lock that other threads may wait for.
    ///
    /// - Parameters:
    ///   - lookingAtFile: Whether to look at the file even if no event has reported a change.
    ///   - effects: Receives what to do afterwards.
    func reloadIfDue(lookingAtFile: Bool = false, _ effects: inout Effects) {
        guard lookingAtFile || !storeVersion.areContentsCurrent else { return }
        let reload = withState(&effects) { state in
            state.refresh(lookingAtFile: lookingAtFile)
            return state.isClosed ? nil : state.reload
        }
        if let reload { FileReloader.run(reload, self, &effects) }
    }

    /// How often to bring the contents up to date for one read, while the file is replaced repeatedly.
    private static let mostRefreshes = 4
}

// MARK: - Committing

extension FileStore {
    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try commit(isBlind: isBlind, mustBeTrusted: false, body)
    }

    func write(_ value: StoredValue?, forKey key: String, mayWait: Bool) throws -> Bool {
        // A thread that waits must not starve behind this one.
        if waiters.load(ordering: .relaxed) == 0, try finish(writeIfPossible(value, forKey: key)) { return true }
        if mayWait { try commit(isBlind: true) { $0[key] = value } }
        return mayWait
    }

    /// - Parameters:
    ///   - isBlind: Whether the result is independent of the stored values.
    ///   - mustBeTrusted: Whether to replace a journal that the disk failed to write in part.
    ///   - body: Makes the changes.
    /// - Returns: The result of the body.
    /// - Throws: ``SettingsError`` if the changes cannot be stored, or the error of the body.
    private func commit<Result>(
        isBlind: Bool,
        mustBeTrusted: Bool,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result {
        if let result = try commit(isBlind: isBlind, mustBeTrusted: mustBeTrusted, mayEnd: true, body) { return result }
        // A set in an object stores its other members again, which may have been edited.
        withEffects { reloadIfDue(lookingAtFile: true, &$0) }
        guard let result = try commit(isBlind: isBlind, mustBeTrusted: mustBeTrusted, mayEnd: false, body) else {
            preconditionFailure("A commit that may not end has a result.")
        }
        return result
    }

    /// - Parameters:
    ///   - isBlind: As above.
    ///   - mustBeTrusted: As above.
    ///   - mayEnd: Whether to end, so that the file is read, if values in objects change and the file may have been edited.
    ///   - body: Makes the changes.
    /// - Returns: The result of the body; `nil` if the commit has ended.
    /// - Throws: As above.
    private func commit<Result>(
        isBlind: Bool,
        mustBeTrusted: Bool,
        mayEnd: Bool,
        _ body: (inout StoreTransaction) throws -> Result
    ) throws -> Result? {
        try withEffects { effects in
            // A failure that no longer exists must not make this change fail.
            if !isBlind, peek({ $0.settings.failure?.isUnknown == true }) { storeVersion.mustLook() }
            var changed: Journal?
            let begin = WaitLimit.begin
            let result: Result? = try withWriter { failure in
                // If another thread has waited for the lock in vain, each thread behind it would wait as long again.
                if let failure, failure.time > begin { throw failure.error }
                let locker = JournalLocker(self, timeout: timeouts, mustBeTrusted: mustBeTrusted)
                let journal = try locker.lock(&failure, &effects)
                defer { journal.unlock() }
                let (contents, version, unknown, declaredKeys) = peek {
                    ($0.contents, $0.version, $0.unknownContents, $0.declaredKeys)
                }
                if let unknown, !isBlind { throw unknown }
                // A change that does not depend on the contents must not depend on outdated objects either.
                var transaction = StoreTransaction(
                    base: consume contents,
                    declaredKeys: unknown == nil ? declaredKeys : nil
                )
                let result = try body(&transaction)
                if mayEnd, transaction.isInObjects, !peek({ $0.isFileUnchanged }) { return nil }
                // A value that equals the one in memory may differ from the stored one.
                let isKnown =
                    unknown == nil && !transaction.isRecordingEqual
                    && (!transaction.hasEqualEdits || peek { $0.version == version && $0.isFileUnchanged })
                // The transaction's reference to the contents is released before they change, which avoids a copy.
                let changes = (consume transaction).storedAsJSON(includingEqual: !isKnown)
                try append(changes, to: journal, since: version, &effects)
                if !changes.isEmpty { changed = journal }
                return result
            }
            if let changed {
                changed.notifyWatchers()
                let end = JournalPosition(word: storeVersion.seenWord).end
                checkpoints.schedule(isOwn: true, isUrgent: Int(end) > schedule.journalBound)
            }
            return result
        }
    }

    private func append(
        _ changes: [StoreChange],
        to journal: Journal,
        since version: UInt64,
        _ effects: inout Effects
    ) throws {
        do {
            // The body has forked, and this is the child: the lock belongs to the parent. Other locks may be held by
            // threads that do not exist in this process, so this check comes before any of them.
            guard !journal.isInherited else {
                throw SystemError(call: .lock, path: journal.file.path, number: Errno.noLocks)
            }
            try withState(&effects) { try $0.commit(changes, to: journal, since: version) }
        } catch {
            throw file.writeError(error)
        }
    }
}

// MARK: - The rest of the contract

extension FileStore {
    var persistence: SettingsPersistence {
        if let problem = peek({ $0.journal.problem }) {
            return .readOnly(path: file.path.description, reason: problem.fact)
        }
        do {
            try file.checkWritable()
            try file.checkTarget(journal: file.journalPath())
            if let journal = peek({ $0.journal.journal }) {
                if !journal.isWritable { try file.system.checkWritable(journal.file.path) }
            } else {
                try file.checkSharing()
            }
            return .durable(path: file.path.description)
        } catch {
            return .readOnly(
                path: file.path.description,
                reason: (error as? SystemError).flatMap { $0.isAboutSharing ? nil : $0.reason }
                    ?? file.writeError(error).fact
            )
        }
    }

    /// Waits until the journal is on the disk.
    func synchronize() throws {
        do {
            // Without a journal that is open, other processes may have created one.
            look(isFileChanged: peek { $0.journal.journal == nil || $0.journal.problem != nil })
            // Values that other processes have set may be in a journal that cannot be opened.
            if let problem = peek({ $0.journal.problem }) { throw problem }
            // A record in a journal that was removed since, or that the disk failed to write, is not safe there.
            if peek({ $0.needsRepair }) { try commit(isBlind: true, mustBeTrusted: true) { _ in } }
            let (journal, isNamed, reading) = peek { ($0.journal.journal, $0.journal.isNamed, $0.settings.reading) }
            if let journal {
                try journal.synchronize()
                guard !isNamed else { return }
                let directory = try file.directory()
                do {
                    try directory.synchronize()
                } catch {
                    // The name may never reach the disk, so a new file has to receive it.
                    if error.call == .sync { journal.markUnreliable() }
                    throw error
                }
                withEffects { effects in
                    withState(&effects) { state in
                        if state.journal.journal === journal { state.journal.isNamed = true }
                    }
                }
            } else if let reading {
                try file.synchronize(reading)
            }
        } catch {
            throw file.writeError(error, consequence: "the latest changes may not survive a power loss")
        }
    }

    /// Makes a last checkpoint, and releases files and watches.
    ///
    /// If another thread is closing the store, the caller waits for it.
    func close() {
        guard isClosing.set() else {
            // A reporter that runs during the close must not wait for its own thread.
            let isOwn = Self.closing.contains(ObjectIdentifier(self))
            while !isOwn, !peek({ $0.isClosed }) { SystemCalls.sleep(seconds: 0.001) }
            return
        }
        Self.$closing.withValue(Self.closing.union([ObjectIdentifier(self)])) { checkpoints.runAtEnd() }
        let released = state.withLock { $0.close() }
        // Not under the lock.
        withExtendedLifetime(released) {}
    }
}

// MARK: - Notifications

extension FileStore {
    func watch() {
        schedule.hasSubscribers.store(true, ordering: .relaxed)
        startWatching()
        // A subscriber may only wait from now on, and do no work for the library.
        WorkScheduler.shared.startThreadIfStarved()
    }

    /// Notices changes by events from now on.
    func startWatching() {
        let isNeeded = peek { !$0.isClosed && ($0.watch?.isInherited ?? true) }
        // A first subscriber needs notifications at once.
        guard isNeeded else {
            guard let watch = peek({ $0.watch }), watch.isUnwatched else { return requestNotification() }
            watch.arm()
            look()
            return
        }
        let watch = PathWatch(file.system) { [file] in
            // The path of a process that has changed its root leads to the files of others.
            _ = try file.target()
            return PathWatch.Places(files: [file.path], hasJournals: true)
        } handler: { [weak self] isFileChanged in
            guard let self else { return }
            if isFileChanged { peek { $0.watch }?.arm() }
            look(isFileChanged: isFileChanged)
        }
        let inherited = state.withLock { state in
            guard state.watch?.isInherited ?? true, !state.isClosed else { return nil as PathWatch? }
            defer { state.watch = watch }
            return state.watch
        }
        _ = consume inherited
        watch.arm()
        // No event reports the changes between the last look and the start of the watch.
        look()
    }

    /// Looks at the file to find changes that subscribers wait for.
    ///
    /// A record that was written before it is published is not missed: this process has asked for a notification by then.
    ///
    /// - Parameter isFileChanged: Whether anything other than the journal's records may have changed.
    func look(isFileChanged: Bool = true) {
        let journal = peek { $0.journal.journal }
        requestNotification()
        // While no journal is known, a write to the file at its path may have completed it.
        if isFileChanged || journal == nil { storeVersion.mustLook() }
        guard !storeVersion.areContentsCurrent else { return }
        withCurrentState { _ in }
        if peek({ $0.journal.journal !== journal }) {
            // The header of another journal lacks the request.
            requestNotification()
            withCurrentState { _ in }
        }
    }

    /// Asks to be notified of the next record of another process.
    ///
    /// Without subscribers, it is sufficient to notice records some time later.
    private func requestNotification() {
        guard let journal = peek({ $0.watch == nil ? nil : $0.journal.journal }) else { return }
        let isUrgent = schedule.hasSubscribers.load(ordering: .relaxed)
        if isUrgent { journal.requestNotification() }
        guard schedule.isRequestScheduled.set() else { return }
        // A process that may not write to the journal cannot ask.
        let isPolling = isUrgent && !journal.isWritable
        let delay = isPolling ? CheckpointSchedule.readOnlyInterval : CheckpointSchedule.requestDelay
        WorkScheduler.shared.after(delay) { [weak self] in
            guard let self else { return }
            // First: a request for a journal that replaces the one below is then scheduled again.
            schedule.isRequestScheduled.clear()
            guard let journal = peek({ $0.journal.journal }) else { return }
            journal.requestNotification()
            // A process may have appended a record meanwhile, and have died before it notified this one.
            if schedule.hasSubscribers.load(ordering: .relaxed)
                || journal.published.word != storeVersion.seenWord
            {
                look(isFileChanged: false)
            }
        }
    }
}

// MARK: - Last good values

extension FileStore {
    func noteReplacement() {
        if !checkpoints.unwrittenReplacements.isEmpty { checkpoints.schedule(isOwn: false) }
    }

    func copiedValues() -> CopiedValues? {
        let (newer, declaredKeys) = peek { ($0.newerKeys, $0.declaredKeys) }
        return lastGoodCopy.withLock { known in
            known = file.readLastGood(known: known)
            guard let known else { return nil }
            var contents = known.contents
            for key in declaredKeys.inObjects where contents[key] == nil { contents[key] = contents.value(forKey: key) }
            return CopiedValues(contents: contents, lastGood: known.lastGood, newer: newer)
        }
    }
}

// MARK: - Open stores

/// The stores that this process has used, which may have values to save or need a checkpoint when it exits.
enum OpenStores {
    private static let stores = Locked(WeakTable<ObjectIdentifier, FileStore>())
    /// Whether there is any; not in a forked child that has used none itself.
    private static let isUsed = ProcessFlag()
    private static let isFinished = ProcessFlag()

    private static let isWatchingExit = SystemCalls.atExit { OpenStores.finishAll() }

    static func add(_ store: FileStore) {
        _ = isWatchingExit
        _ = isUsed.set()
        _ = store.isUsed.set()
        let others = stores.withLock { $0.insert(store, forKey: ObjectIdentifier(store)) }
        // Released outside the lock: the end of a store takes locks.
        _ = consume others
    }

    /// How long the end of the process waits at most.
    ///
    /// That is longer than the largest file takes.
    private static let timeout = Duration.seconds(10)

    /// Saves what is left, on another thread, for which this one waits.
    ///
    /// The current thread may hold any lock, if it was interrupted by a signal whose handler has called `exit`. In a forked child, a
    /// lock may belong to a thread that does not exist.
    private static func finishAll() {
        guard isUsed.isSet else { return }
        // The body of a transaction that has called `exit` never returns.
        let mayWait = TransactionScope.current == nil
        let signal = ThreadSignal()
        let end = SuspendingClock.now + timeout
        let work: @Sendable () -> Void = {
            let deadline = ContinuousClock.now + CheckpointSchedule.timeoutAtEnd
            for store in stores.withLock(\.objects) { store.finishAtExit(until: deadline, mayWait: mayWait) }
            // Under the lock, so that the other thread is not about to wait when the signal is sent.
            signal.withLock { _ = isFinished.set() }
            signal.signal()
        }
        do {
            try BackgroundThread.start(SystemCalls(), work)
        } catch {
            // The system starts no thread. Then a lock that this one holds is the only danger.
            work()
        }
        signal.withLock {
            while !isFinished.isSet, .now < end { signal.wait(until: end) }
        }
    }
}

extension FileStore {
    func noteUnsavedWrites() { OpenStores.add(self) }

    /// Saves what is left when the process exits, and makes a last checkpoint, unless a commit is in progress.
    ///
    /// A commit and a checkpoint of another thread are waited for.
    fileprivate func finishAtExit(until deadline: ContinuousClock.Instant, mayWait: Bool) {
        // In a forked child that has not used this store, a thread that has its lock may not exist.
        guard isUsed.isSet else { return }
        if mayWait { checkpoints.observer?.saveAtExit(within: deadline - .now) }
        do {
            try WaitLimit.run(for: mayWait ? deadline - .now : .zero) { try WaitLimit.withLock(writer) { _ in } }
        } catch {
            // The next process that opens the suite makes the checkpoint.
            return
        }
        checkpoints.runAtEnd()
    }
}

// MARK: - Setting one value

// Sets the value of one key while the store has nothing else to do.
//
// This is the path of most sets. It makes no transaction: it composes the record before it locks the journal, reads the
// records that other processes have appended, and appends its own. If there is anything else to do first, such as to
// recover a damaged journal or to read an edited file, the caller makes a commit.
//
// The journal's lock also excludes the commits of other threads. It is never waited for, so it may be acquired under the
// state lock.

extension FileStore {
    /// The result of an attempt to set a value.
    enum SingleWrite {
        case notPossible
        case unchanged
        case done(Journal, StoreDelivery?, isUrgent: Bool)
    }

    /// Sets the value of one key, if that is possible without waiting for another thread or process.
    ///
    /// - Returns: The result, which the caller passes to ``finish(_:)``.
    /// - Throws: ``SettingsError`` if the record cannot be written. Nothing has changed then.
    func writeIfPossible(_ value: StoredValue?, forKey key: String) throws -> SingleWrite {
        let value = value?.storedAsJSON
        do {
            var record = try JournalRecord.bytes(
                of: [StoreChange(key: key, old: nil, new: value)],
                epoch: 0,
                salt: 0
            )
            return try record.withUnsafeMutableBytes { record in
                try state.withLock { state in
                    // A holder that has died requires a recovery.
                    guard let journal = state.journalForRecords, try journal.lock.acquireIfFree() else {
                        return .notPossible
                    }
                    defer { journal.unlock() }
                    return try append(record, setting: key, to: value, &state, journal)
                }
            }
        } catch {
            throw file.writeError(error)
        }
    }

    /// Notifies subscribers and other processes of a set, and schedules a checkpoint.
    ///
    /// The caller holds no lock.
    ///
    /// - Returns: Whether the value is set.
    func finish(_ result: SingleWrite) -> Bool {
        switch result {
        case .notPossible:
            return false
        case .unchanged:
            return true
        case .done(let journal, let delivery, let isUrgent):
            journal.notifyWatchers()
            delivery?.perform()
            if isUrgent || !schedule.isScheduled.isSet {
                checkpoints.schedule(isOwn: true, isUrgent: isUrgent)
            }
            return true
        }
    }

    private func append(
        _ record: UnsafeMutableRawBufferPointer,
        setting key: String,
        to value: StoredValue?,
        _ state: inout FileStoreState,
        _ journal: Journal
    ) throws -> SingleWrite {
        state.replayRecords(of: journal)
        guard state.isReady(for: journal), journal.isWithinLimit(record.count, after: state.journal.position) else {
            return .notPossible
        }
        let old = state.contents[key]
        guard !state.needsTransaction(key, old, value) else { return .notPossible }
        // The value may be the one before an edit, over which this set takes precedence.
        guard old != value else { return state.isFileUnchanged ? .unchanged : .notPossible }
        JournalRecord.complete(record, epoch: state.journal.position.epoch, salt: state.journal.salt)
        let appended = try journal.append(
            UnsafeRawBufferPointer(record),
            after: state.journal.position,
            in: &state.journal.space
        )
        guard let position = appended else {
            state.journal.forgetPlace()
            return .notPossible
        }
        (state.journal.position, state.journal.seen) = (position, position.word)
        state.apply(value, forKey: key, over: old, end: position.end)
        storeVersion.advance(toSeen: position.word, version: state.version)
        let delivery = state.delivery(ofChange: key, from: old, to: value)
        return .done(journal, delivery, isUrgent: Int(position.end) > schedule.journalBound)
    }
}

extension FileStoreState {
    /// The journal, if a record could be appended to it without any preparation.
    fileprivate var journalForRecords: Journal? {
        guard schedule.hasCommitted.isSet, let journal = journal.journal, journal.isWritable,
            !journal.isInherited, journal.isAlive,
            journal.lock.hasToken || journal.file.isOpen
        else { return nil }
        return journal
    }

    /// Whether the contents include every record of a locked journal, and neither needs any attention.
    fileprivate func isReady(for current: Journal) -> Bool {
        isUndisturbed(current) && current.published.word == journal.seen && !journal.isPlaceDue
            && !journal.isTooLong(current, bound: schedule.journalBound)
    }

    /// Reads the records that other processes have appended, if that is all there is to do and no subscriber waits for them.
    fileprivate mutating func replayRecords(of current: Journal) {
        guard current.published.word != journal.seen, isUndisturbed(current),
            !storeVersion.needsChanges.load(ordering: .acquiring)
        else { return }
        replayJournal()
        publishVersion()
    }

    private func isUndisturbed(_ current: Journal) -> Bool {
        journal.journal === current && isOpened && !isClosed && reload == nil && settings.failure == nil
            && !journal.isFailing && storeVersion.isCurrent(atSeen: journal.seen, version: version)
            && current.isUndisturbed
    }

    /// Records a change with the observer, if that needs it.
    fileprivate func delivery(ofChange key: String, from old: StoredValue?, to new: StoredValue?) -> StoreDelivery? {
        // A removal ends what is known about earlier values.
        guard new == nil || storeVersion.needsChanges.load(ordering: .acquiring), let observer else {
            return nil
        }
        let change = StoreChange(key: key, old: old, new: new)
        var delivery = observer.record(StoreCommit(changes: [change], origin: .local))
        // The last reference to the observer must not be released under the lock.
        if delivery.recorder == nil { delivery.recorder = observer }
        return delivery
    }
}

extension Journal {
    /// Whether nothing is noted in the header that has to be done before a record is appended.
    fileprivate var isUndisturbed: Bool {
        isAlive && !isRetired && !isUnreliable && !isReadableByOthers && !isBeingReplaced
    }

    /// Whether a record of some length can be appended before the header has to be on the disk.
    fileprivate func isWithinLimit(_ count: Int, after position: JournalPosition) -> Bool {
        let limit = page[.limit]
        return limit == 0 || UInt64(position.end) + UInt64(count) <= limit
    }
}
