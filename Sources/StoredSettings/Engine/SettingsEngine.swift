// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The state that all suites over one store share: pending writes, subscribers, reporters and settings.
///
/// There is one engine for each store.
///
/// Locks are taken in the order store, engine, subscriber. No method calls the store while it holds the engine's lock.
package final class SettingsEngine: Sendable {
    package let store: any SettingsStore
    /// The store's version; `nil` for a store that has to be called to find out whether anything has changed.
    let storeVersion: StoreVersion?
    let state: EngineState
    /// Whether the store finds the values of keys with periods in objects.
    let findsKeysInObjects: Bool
    /// The keys of all settings.
    let declaredKeys = DeclaredKeys()
    /// The settings that are in use.
    ///
    /// No other lock is taken under this lock.
    let settings = Locked(SettingRegistry())

    /// Changes with every change of the pending writes, and so invalidates caches.
    let pendingVersion = Atomic<UInt64>(0)

    /// The files of the layers of all suites with this engine.
    let layerFiles = Locked<[LayerFiles]>([])

    /// The values that settings had when they were read first, for those whose changes need a restart.
    private let startValues = Locked<[String: StartValue]>([:])
    /// What is known about the values of keys.
    let valueHealth = Locked(ValueHealthTable())
    /// The requirements on the values of several settings.
    let requirementTable = Locked(RequirementTable())
    let hasRequirementsFlag = Atomic(false)
    /// The keys under which migrators have stored their records.
    package let recordKeys = Locked<Set<String>>([SettingsMigrator.defaultRecordKey])

    /// The keys of settings of other suites that were read or observed with those of this one, which was reported.
    let foreignKeys = Locked<Set<String>>([])

    /// The subscriber that notifies Observation, and whether it has been added.
    let observed = ObservedSettings()
    let isObserved = Atomic(false)
    /// Whether a thread is about to save the pending writes.
    let isSavingInBackground = ProcessFlag()
    /// What reports that an assignment that waits for that thread cannot be saved, by the key.
    let waitingReports = Locked<[String: @Sendable (SettingsError) -> Void]>([:])
    let isRetryScheduled = ProcessFlag()
    /// The asynchronous operations that wait for other writers.
    let suspendedWrites = SuspendedOperations()
    /// Those that wait for the disk or the network.
    let suspendedSaves = SuspendedOperations()

    struct State {
        var pendingWrites = PendingWrites()
        var held = HeldValues()
        var subscribers = SubscriberTable()
        var reporters: [any SettingsReporter] = []
        var isFinished = false
        /// The error that prevented the last values from being synchronized when the engine was finished.
        var finishingError: SettingsError?
    }

    /// Whether the engine created the store, and closes it.
    ///
    /// A store that the user created may be used again.
    private let ownsStore: Bool

    /// Whether there is a place to store values in.
    ///
    /// Otherwise, pending writes last as long as the process.
    let isStorageAvailable: Bool

    /// Creates an engine without reporters, which receives nothing until it is set as the store's observer.
    init(store: any SettingsStore, ownsStore: Bool) {
        self.store = store
        storeVersion = store.sharedVersion
        findsKeysInObjects = store is any RecoveringStore
        self.ownsStore = ownsStore
        isStorageAvailable = !(store is UnavailableStore)
        state = EngineState(State(), storeVersion)
    }

    deinit {
        guard ownsStore else { return }
        // The store refers to its observer weakly, and this one is no longer there.
        let observer = ClosingObserver(
            reporters: state.withLock(\.reporters),
            replacements: replacements,
            healths: valueHealth.withLock(\.entries),
            declaredKeys: declaredKeys
        )
        store.setObserver(observer)
        withExtendedLifetime(observer) { store.close() }
    }
}

/// Receives the failures of a store that is closed because its suites are gone.
private final class ClosingObserver: LastGoodObserver {
    private let reporters: [any SettingsReporter]
    let replacements: [ValueReplacement]
    private let healths: [String: ValueHealth]
    let declaredKeys: DeclaredKeys

    init(
        reporters: [any SettingsReporter],
        replacements: [ValueReplacement],
        healths: [String: ValueHealth],
        declaredKeys: DeclaredKeys
    ) {
        (self.reporters, self.replacements) = (reporters, replacements)
        (self.healths, self.declaredKeys) = (healths, declaredKeys)
    }

    func uses(_ value: StoredValue?, forKey key: String) -> Bool {
        healths[key].map { $0.secrecy.isSet || $0.uses(value) } ?? false
    }

    package func record(_ commit: StoreCommit) -> StoreDelivery { .none }

    package func report(_ error: SettingsError) {
        for reporter in reporters { reporter.report(error) }
    }
}

extension SettingsEngine {
    /// The value that the settings of a key had when one of them was read first.
    func startValue(forKey key: String) -> StartValue {
        startValues.withLock { values in
            let value = values[key] ?? StartValue()
            values[key] = value
            return value
        }
    }

    /// Records the keys of a setting.
    func noteDeclaration(of keys: [String]) {
        declaredKeys.insert(keys) { valueHealth.withLock { Array($0.entries.keys) } }
    }

    /// Some keys, with those of settings whose values may be in objects with these names.
    func withMembers(_ keys: some Collection<String>) -> Set<String> {
        findsKeysInObjects ? declaredKeys.keys(in: keys).union(keys) : Set(keys)
    }

    /// Whether values of several settings have to meet requirements.
    var hasRequirements: Bool { hasRequirementsFlag.load(ordering: .acquiring) }

    /// Whether any declaration of a key in this process is secret.
    func isSecret(_ key: String) -> Bool { valueHealth.withLock { $0.entries[key] }?.secrecy.isSet ?? false }

    /// What is known about the values of a key.
    func health(ofKey key: String) -> ValueHealth {
        valueHealth.withLock { $0.health(ofKey: key) }
    }
}

// MARK: - Reading

extension SettingsEngine {
    /// Invalidates all caches.
    func invalidate() {
        pendingVersion.add(1, ordering: .releasing)
        storeVersion?.invalidate()
    }

    /// The newest value of a key, saved or pending, and its version.
    func valueAndVersion(
        forKey key: String,
        _ storeVersion: StoreVersion
    ) -> (value: StoredValue?, version: StoreVersion.Version) {
        readingChecked {
            store.withValue(forKey: key) { stored in
                state.withLock { state in
                    let version = storeVersion.version
                    // The next read has to go on with a check that has not ended.
                    return (
                        state.value(forKey: key, over: stored), state.held.isCheckDue ? version.outdated : version
                    )
                }
            }
        }
    }

    /// The newest value of a key, saved or pending.
    func value(forKey key: String) -> StoredValue? {
        readingChecked { withValue(forKey: key) { value, _ in value } }
    }

    /// Whether the value of a key could not be saved yet.
    func isPending(_ key: String) -> Bool {
        state.withLock { $0.pendingWrites.contains(key) }
    }

    /// Reads a value and changes the engine's state before any later change can be recorded.
    ///
    /// The value of another process is held until its requirements are checked.
    func withValue<Result: Sendable>(
        forKey key: String,
        _ body: @Sendable (StoredValue?, inout State) -> Result
    ) -> Result {
        store.withValue(forKey: key) { stored in
            state.withLock { state in
                body(state.value(forKey: key, over: stored), &state)
            }
        }
    }
}

// MARK: - Subscribing

extension SettingsEngine {
    typealias SubscriberID = SubscriberTable.ID

    /// Adds a subscriber for some keys, or for every key, which receives every change after the returned value.
    ///
    /// - Returns: Its identifier, and the value of the first key.
    func addSubscriber(
        _ subscriber: some ChangeSubscriber,
        forKeys keys: [String]? = nil
    ) -> (id: SubscriberID, value: StoredValue?) {
        prepareSubscription()
        // Also for every key: a store that has not read its contents yet would report all of them as changes.
        let (id, value, isFinished) = withValue(forKey: keys?.first ?? "") { value, state in
            (state.subscribers.insert(subscriber, forKeys: keys), value, state.isFinished)
        }
        if isFinished { subscriber.finish() }
        return (id, value)
    }

    private func prepareSubscription() {
        store.watch()
        watchLayers()
        guard hasRequirements else { return }
        // So that the first value is one that was checked.
        _ = value(forKey: "")
    }

    /// Adds a suite of which this one is a layer, and which receives every change from now on.
    ///
    /// Unlike a subscriber, it does not make the store notice changes of other processes.
    func addFollower(_ follower: BaseSuite) -> SubscriberID {
        withValue(forKey: "") { _, state in state.subscribers.insert(follower) }
    }

    /// The number of subscribers.
    var subscriberCount: Int { state.withLock { $0.subscribers.count } }

    func removeSubscriber(_ id: SubscriberID) {
        // Released after the lock, because the end of a subscriber may run user code.
        let subscriber = state.withLock { $0.subscribers.remove(id) }
        _ = consume subscriber
    }
}

extension SettingsEngine.State {
    /// The value that readers see.
    func value(forKey key: String, over stored: StoredValue?) -> StoredValue? {
        pendingWrites.value(forKey: key, over: held.value(forKey: key, over: stored))
    }

    /// Notes that values of this process have changed, which may meet a requirement that was not met before, or violate one
    /// together with a pending write that was checked at the same time.
    mutating func noteLocalChange(ofKeys keys: some Sequence<String>, isChecked: Bool = false) {
        guard keys.contains(where: held.restricted.contains) else { return }
        held.noteLocalChange(isChecked: isChecked, besidePending: pendingWrites.contains(anyOf: held.restricted))
    }

    /// The changes of a commit as readers and subscribers see them.
    struct VisibleChanges {
        var changes: [StoreChange] = []
        /// Whether a value is used that readers do not know.
        var isUnknown = false
        /// The keys of stored values that this process has assigned again.
        var reassigned: [String] = []
        /// The keys of pending writes that were dropped for another value.
        var dropped: [String] = []
    }

    /// Records a commit: a pending write ends with every commit that is later and changes its key, and a value from outside that
    /// has to meet a requirement is held.
    ///
    /// - Parameters:
    ///   - commit: The commit.
    ///   - used: The values that were used instead of unusable ones that the commit replaces.
    /// - Returns: What readers see of it.
    mutating func record(_ commit: StoreCommit, over used: [String: StoredValue?]) -> VisibleChanges {
        guard !pendingWrites.isEmpty || held.isRestricting else { return VisibleChanges(changes: commit.changes) }
        var visible = VisibleChanges()
        if commit.gap == .allKeys { held.noteGap() }
        let own = commit.origin == .local ? held.endCommit() : nil
        // An equal value of another process is used as well, but ends no pending write.
        let reassigned = own?.reassigned ?? commit.reassigned.filter { held.entries[$0.key] != nil }
        if own != nil { visible.reassigned = reassigned.map(\.key).filter { held.entries[$0] != nil } }
        let changes = commit.changes + reassigned
        for change in changes {
            let key = change.key
            if commit.origin == .external { held.noteChangeFromOutside(ofKey: key) }
            let old = value(forKey: key, over: change.old)
            let isReassigned = own == nil && change.old == change.new
            let ended = isReassigned ? nil : pendingWrites.end(key, with: commit.origin)
            let last = [held.usedValue(forKey: key, over: change.old), old]
                .map { $0 == change.old ? used[key] ?? $0 : $0 }
            if held.record(change, commit.origin, used: last[0], seen: last[1]) || ended != nil {
                visible.isUnknown = true
            }
            if commit.origin == .external, ended != nil,
                PendingWrites.change(ofKey: key, from: old, to: change.new) != nil
            {
                visible.dropped.append(key)
            }
            let new = value(forKey: key, over: change.new)
            if let shown = PendingWrites.change(ofKey: key, from: old, to: new) { visible.changes.append(shown) }
        }
        visible.changes.sort { $0.key < $1.key }
        // Also those that the commit assigns again.
        noteLocalChange(ofKeys: (changes + visible.changes).lazy.map(\.key), isChecked: own?.isChecked ?? false)
        return visible
    }
}

extension SettingsEngine: StoreObserver {
    package func record(_ commit: StoreCommit) -> StoreDelivery {
        let used = valueHealth.withLock { table in
            defer { table.note(commit) }
            return hasRequirements ? table.usedValues(insteadOf: commit.changes) : [:]
        }
        let (delivery, reassigned) = state.withLock { state in
            let visible = state.record(commit, over: used)
            if visible.isUnknown { invalidate() }
            var delivery = checkedDelivery(of: visible.changes, commit.origin, state, commit.keysInObjects)
            delivery.errors = visible.dropped.map { .pendingWriteDropped($0) }
            return (delivery, visible.reassigned)
        }
        // They are used themselves from now on.
        if !reassigned.isEmpty { valueHealth.withLock { for key in reassigned { $0.note(nil, forKey: key) } } }
        return delivery
    }

    /// Offers changes to the subscribers of their keys, unless the current task suppresses notifications.
    ///
    /// The requirements are checked when they have received them, if that is due.
    func checkedDelivery(
        of changes: [StoreChange],
        _ origin: SettingChangeOrigin,
        _ state: State,
        _ keysInObjects: Set<String> = []
    ) -> StoreDelivery {
        var commit = StoreCommit(changes: changes, origin: origin)
        commit.keysInObjects = keysInObjects
        var delivery = state.subscribers.offer(commit, isQuiet: origin == .local && Quiet.covers(self))
        (delivery.recorder, delivery.isCheckDue) = (self, state.held.isCheckDue)
        return delivery
    }

    package func report(_ error: SettingsError) {
        notifyReporters(of: error) { $0.report($1) }
    }

    package func reportRecovery(from error: SettingsError) {
        notifyReporters(of: error) { $0.reportRecovery(from: $1) }
    }

    private func notifyReporters(
        of error: SettingsError,
        _ body: @escaping @Sendable (any SettingsReporter, SettingsError) -> Void
    ) {
        afterTransaction { [self] in
            let error = locating(error)
            // A reporter may wait for longer than the operation that failed.
            WaitLimit.runWithout { for reporter in state.withLock(\.reporters) { body(reporter, error) } }
        }
    }

    /// Adds a reporter of failures in the background.
    ///
    /// - Returns: Whether the reporter is new.
    @discardableResult
    func addReporter(_ reporter: any SettingsReporter) -> Bool {
        state.withLock { state in
            guard !state.reporters.contains(where: { $0 === reporter }) else { return false }
            state.reporters.append(reporter)
            return true
        }
    }

    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// The error with the name of a suite, and with its file unless the error has a location.
    func naming(_ error: SettingsError, suite name: String) -> SettingsError {
        var error = locating(error)
        error.suite = name
        return error
    }

    /// The error with the settings file, unless it has a location.
    private func locating(_ error: SettingsError) -> SettingsError {
        guard error.location == nil else { return error }
        var error = error
        error.location = store.persistence.path.map { SettingsError.Location(file: $0) }
        return error
    }
}

// MARK: - The state

/// The state of an engine behind a lock, with what a set asks of it readable without the lock.
///
/// The flags are updated under the lock, after every use of the state.
struct EngineState: ~Copyable, Sendable {
    private let state: Locked<SettingsEngine.State>
    private let isPlainFlag: Atomic<Bool>
    private let checkWord = Atomic<UInt64>(0)
    private let storeVersion: StoreVersion?

    init(_ state: consuming sending SettingsEngine.State, _ storeVersion: StoreVersion?) {
        isPlainFlag = Atomic(state.isPlain)
        storeVersion?.needsChanges.store(state.needsChanges, ordering: .relaxed)
        self.storeVersion = storeVersion
        self.state = Locked(state)
    }

    /// Whether a set has nothing to do but to store its value: there is no pending write, and the engine is not finished.
    var isPlain: Bool { isPlainFlag.load(ordering: .acquiring) }

    /// Whether values that were read before are held, or were held and checked since.
    var checkProgress: CheckProgress { CheckProgress(word: checkWord.load(ordering: .acquiring)) }

    func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending SettingsEngine.State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try state.withLock { (state: inout sending SettingsEngine.State) throws(Failure) -> sending Result in
            defer {
                isPlainFlag.store(state.isPlain, ordering: .releasing)
                checkWord.store(state.held.progress.word, ordering: .releasing)
                storeVersion?.needsChanges.store(state.needsChanges, ordering: .releasing)
            }
            return try body(&state)
        }
    }
}

extension SettingsEngine.State {
    fileprivate var isPlain: Bool { !isFinished && pendingWrites.isEmpty }

    /// Whether a change has to be compared with pending writes, checked, or passed to subscribers.
    fileprivate var needsChanges: Bool { !pendingWrites.isEmpty || !subscribers.isEmpty || held.isRestricting }
}

// MARK: - One consistent read

extension SettingsEngine {
    /// The values of all keys, of one consistent read.
    struct ConsistentRead: Sendable {
        /// The values in the store.
        let stored: [String: StoredValue]
        let pendingWrites: PendingWrites
        let held: HeldValues

        /// The values that readers see.
        var visible: [String: StoredValue] { pendingWrites.applied(to: held.applied(to: stored)) }

        /// The values that were assigned last, whether they meet the requirements or not.
        var assigned: [String: StoredValue] { pendingWrites.applied(to: stored) }

        /// The values that are used instead of stored ones that were checked.
        var usedHeldValues: [String: StoredValue?] {
            held.checked.filter { !pendingWrites.contains($0.key) }
        }
    }

    /// Reads the store and what readers see in place of its values, in one consistent read.
    func readConsistently() -> ConsistentRead {
        while true {
            let version = pendingVersion.load(ordering: .acquiring)
            let stored = store.contents()
            let values = state.withLock { state -> ConsistentRead? in
                // A pending write that has ended since is not in these contents, and is not pending either.
                guard pendingVersion.load(ordering: .relaxed) == version else { return nil }
                return ConsistentRead(stored: stored, pendingWrites: state.pendingWrites, held: state.held)
            }
            if let values { return values }
        }
    }

    /// The newest values of all keys, saved or pending.
    package func contents() -> [String: StoredValue] {
        readingChecked { readConsistently().visible }
    }

    /// The newest values of all keys, and those that are used instead because the others do not meet a requirement.
    func checkedContents() -> (assigned: [String: StoredValue], held: [String: StoredValue?]) {
        let values = readingChecked { readConsistently() }
        return (values.assigned, values.usedHeldValues)
    }

    /// The newest values of all keys, saved or pending, whether they meet the requirements or not.
    package func uncheckedContents() -> [String: StoredValue] { readConsistently().assigned }
}

// MARK: - Layers
// See Documentation/Decisions/Layers.md, "Files of layers are watched like the store".

extension SettingsEngine {
    /// The files of some layers, which all suites with the same layers share.
    func layerFiles(of sources: [LayerSource]) -> LayerFiles {
        layerFiles.withLock { all in
            if let known = all.first(where: { $0.sources == sources }) { return known }
            let new = LayerFiles(sources, engine: self)
            all.append(new)
            return new
        }
    }

    /// Starts to watch the files of all layers, for a subscriber.
    func watchLayers() {
        for files in layerFiles.withLock(\.self) { files.watch() }
    }

    /// Makes the next reads use changed layers.
    func layersChanged(ofKeys keys: Set<String>) {
        let keys = declaredKeys.keys(in: keys).union(keys)
        if hasRequirements { state.withLock { $0.held.noteUncheckedChange(ofKeys: keys) } }
        invalidate()
    }

    /// Notifies the subscribers of some keys of a change of layers, or of what is used instead of an unusable value, after the
    /// requirements on them were checked.
    ///
    /// The caller holds no lock, because reading the store can report errors. Changes of layers contain no values of them:
    /// each subscriber reads the newest one. So the order of several calls does not matter.
    func deliverLayerChanges(ofKeys keys: Set<String>) {
        guard !keys.isEmpty else { return }
        checkIfDue()
        let keys = declaredKeys.keys(in: keys).union(keys)
        var delivery = StoreDelivery.none
        for key in keys.sorted() {
            let part = withValue(forKey: key) { value, state in
                guard state.subscribers.concerns(key) else { return StoreDelivery.none }
                let change = StoreChange(key: key, old: value, new: value)
                var commit = StoreCommit(changes: [change], origin: .external)
                commit.isLayered = true
                return state.subscribers.offer(commit)
            }
            delivery.subscribers += part.subscribers
        }
        delivery.origin = .external
        delivery.perform()
    }
}

// MARK: - Saving

extension SettingsEngine {
    /// Returns once everything survives power loss.
    func synchronize() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        if let error = state.withLock({ $0.finishingError }) { throw error }
        try saveAll()
        if isAnythingStored { try store.synchronize() }
    }

    /// Writes everything into the settings file.
    func checkpoint() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        guard !isFinished else { throw SettingsError.suiteFinished }
        try saveAll()
        if isAnythingStored { try store.checkpoint() }
    }

    /// Whether the store may have values to save: without a place to store anything, only assigned ones.
    private var isAnythingStored: Bool {
        isStorageAvailable || state.withLock { !$0.pendingWrites.applied(to: [:]).isEmpty }
    }

    /// Saves every pending write.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/notSaved`` while there is one.
    private func saveAll() throws {
        do {
            try flush()
        } catch {
            // Newer commits may have replaced them all meanwhile.
            let count = state.withLock { $0.pendingWrites.count }
            if count > 0 { throw SettingsError.notSaved(count, because: error) }
        }
    }

    /// Saves the pending writes, ends all streams, and accepts no more changes.
    ///
    /// Inside a transaction's body, it takes effect after the transaction.
    func finish() {
        if let scope = TransactionScope.current {
            scope.postpone { self.finish() }
            return
        }
        let last = isFinished ? nil : finishingError()
        let (error, subscribers) = state.withLock { state in
            let count = state.pendingWrites.count
            // A value that was assigned meanwhile is not tried again.
            let isLost = last == nil && !state.isFinished && isStorageAvailable && count > 0
            let error =
                isLost ? Self.finishingError(.notSaved(count, because: SettingsError.suiteFinished)) : last
            if !state.isFinished { state.finishingError = error }
            state.isFinished = true
            return (error, state.subscribers.removeAll())
        }
        // Without a place to store anything, that was reported when the suite was opened.
        if let error, isStorageAvailable { report(error) }
        for subscriber in subscribers {
            subscriber.finish()
        }
        store.close()
        // After the last checkpoint, which examines the values of settings. Outside the lock: they may hold objects that hold this
        // engine.
        let unused = settings.withLock { exchange(&$0, with: SettingRegistry()) }
        _ = consume unused
    }

    /// Saves everything for the last time.
    ///
    /// - Returns: The error that prevents values from being saved, or from surviving power loss.
    private func finishingError() -> SettingsError? {
        do {
            try saveAll()
            if isAnythingStored { try store.synchronize() }
            return nil
        } catch {
            return Self.finishingError(.wrapping(error, as: .writeFailed))
        }
    }

    private static func finishingError(_ error: SettingsError) -> SettingsError {
        var error = error
        if error.code == .notSaved {
            error.consequence = "the suite is finished, and these values are lost when the process ends"
        }
        return error
    }

    func saveAtExit(within limit: Duration) {
        do {
            try WaitLimit.run(for: limit) { try flush() }
        } catch {
            let count = state.withLock { $0.pendingWrites.count }
            guard count > 0 else { return }
            var cause = error
            if error.isCaused(by: WaitLimitError.self) {
                let path = FilePath(store.persistence.path ?? "the suite")
                cause = SettingsError.lockBusy(path, after: CheckpointSchedule.timeoutAtEnd)
            }
            var failure = SettingsError.notSaved(count, because: cause)
            failure.consequence = "the process exits, and these values are lost"
            report(failure)
        }
    }
}
