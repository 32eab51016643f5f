// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What stands between the suites that name a store and the store: changes that could not be saved yet, subscribers,
/// reporters.
///
/// There is one engine for a store, however many suites name it.
///
/// Locks are taken in the order store, engine, sink. Nothing here calls the store while it holds the engine's lock.
final class SettingsEngine: Sendable {
    let store: any SettingsStore
    /// The store's, if it can tell without being asked whether anything has changed.
    let freshness: Freshness?
    let state: Locked<State>
    /// The settings that are in use; the lock is the last to be taken.
    let settings = Locked(SettingTable())

    /// Changes with every change of what is unsaved, so that caches notice it.
    private let overlayGeneration = Atomic<UInt64>(0)

    /// For those who track what they read, and whether it is among the sinks.
    let observed = ObservedSettings()
    let isObserved = Atomic(false)

    struct State {
        var unsaved = UnsavedChanges()
        var sinks = SinkTable()
        var reporters: [any SettingsReporter]
        var isFinished = false
    }

    /// Whether the store is this engine's alone, and is closed with it.
    ///
    /// One that a user has made may be used again.
    private let ownsStore: Bool

    /// Creates an engine that hears of nothing until it is set as the store's observer.
    init(store: any SettingsStore, ownsStore: Bool, reporter: any SettingsReporter) {
        self.store = store
        freshness = (store as? any FreshStore)?.freshness
        self.ownsStore = ownsStore
        state = Locked(State(reporters: [reporter]))
    }

    deinit {
        if ownsStore { store.close() }
    }
}

// MARK: - Reading

extension SettingsEngine {
    /// Tells whether a value that was read before may be another now.
    struct Stamp: Equatable {
        var store: UInt64
        var overlay: UInt64
    }

    var stamp: Stamp {
        // The overlay first: what leaves it is in the store by then.
        let overlay = overlayGeneration.load(ordering: .acquiring)
        return Stamp(store: store.generation(), overlay: overlay)
    }

    /// Takes notice of a change of what is unsaved.
    ///
    /// Called under the store's lock.
    func overlayChanged() {
        overlayGeneration.add(1, ordering: .releasing)
        freshness?.invalidate()
    }

    /// The newest value under a key, saved or not, and what outruns it.
    func valueAndTicket(
        forKey key: String,
        _ freshness: Freshness
    ) -> (value: StoredValue?, ticket: Freshness.Ticket) {
        store.withValue(forKey: key) { stored in
            state.withLock { state in
                (state.unsaved.value(forKey: key, over: stored), freshness.ticket)
            }
        }
    }

    /// The newest value under a key, saved or not.
    func value(forKey key: String) -> StoredValue? {
        withValue(forKey: key) { value, _ in value }
    }

    /// Whether the value under a key could not be saved yet.
    func isUnsaved(_ key: String) -> Bool {
        state.withLock { $0.unsaved.contains(key) }
    }

    /// All the newest values, saved or not.
    func contents() -> [String: StoredValue] {
        let contents = store.contents()
        return state.withLock { $0.unsaved.applied(to: contents) }
    }

    /// Reads a value and changes the engine's state before any later change can be recorded.
    func withValue<Result: Sendable>(
        forKey key: String,
        _ body: @Sendable (StoredValue?, inout State) -> Result
    ) -> Result {
        store.withValue(forKey: key) { stored in
            state.withLock { state in
                body(state.unsaved.value(forKey: key, over: stored), &state)
            }
        }
    }
}

// MARK: - Subscribing

extension SettingsEngine {
    typealias SinkID = SinkTable.ID

    /// Adds a sink for one key, which is offered every change after the value that is returned.
    func addSink(_ sink: some ChangeSink, forKey key: String) -> (id: SinkID, value: StoredValue?) {
        store.watch()
        let (id, value, isFinished) = withValue(forKey: key) { value, state in
            (state.sinks.insert(sink, forKey: key), value, state.isFinished)
        }
        if isFinished { sink.finish() }
        return (id, value)
    }

    /// Adds a sink for every key, which is offered every change from now on.
    func addSink(_ sink: some ChangeSink) -> SinkID {
        store.watch()
        // A read, whatever its key: a store that has not read its contents yet would tell of all of them as changes.
        let (id, isFinished) = withValue(forKey: "") { _, state in (state.sinks.insert(sink), state.isFinished) }
        if isFinished { sink.finish() }
        return id
    }

    /// How many subscribers there are.
    var sinkCount: Int { state.withLock { $0.sinks.count } }

    func removeSink(_ id: SinkID) {
        // The sink is let go of after the lock, since its end may run code of others.
        let sink = state.withLock { $0.sinks.remove(id) }
        _ = consume sink
    }
}

extension SettingsEngine: StoreObserver {
    func record(_ commit: StoreCommit) -> StoreDelivery {
        state.withLock { state in
            let (commit, isOverlayChanged) = state.unsaved.masking(commit)
            if isOverlayChanged { overlayChanged() }
            var delivery = offer(commit, to: state.sinks)
            delivery.recorder = self
            return delivery
        }
    }

    /// Offers a commit to those it concerns, unless the task that makes it wants nobody told.
    private func offer(_ commit: StoreCommit, to sinks: SinkTable) -> StoreDelivery {
        commit.origin == .local && Quiet.covers(self) ? .none : sinks.offer(commit)
    }

    func report(_ error: SettingsError) {
        for reporter in state.withLock({ $0.reporters }) {
            reporter.report(error)
        }
    }

    /// Lets another reporter hear of what fails in the background.
    ///
    /// - Parameter reporter: The reporter.
    /// - Returns: Whether this engine is still in use.
    @discardableResult
    func addReporter(_ reporter: any SettingsReporter) -> Bool {
        state.withLock { state in
            if !state.reporters.contains(where: { $0 === reporter }) { state.reporters.append(reporter) }
            return !state.isFinished
        }
    }

    var isFinished: Bool { state.withLock { $0.isFinished } }
}

// MARK: - Writing

extension SettingsEngine {
    /// Runs a body of the user's alone among all writers.
    func transact<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        let scope = TransactionScope()
        defer { scope.performPostponed() }
        return try commit { transaction in
            try scope.run { try body(&transaction) }
        }
    }

    /// Stores some values, or removes what is under their keys.
    func write(_ edits: some Collection<(key: String, value: StoredValue?)>) throws {
        guard edits.allSatisfy({ !$0.key.isEmpty }) else { throw SettingsError.emptyKey }
        // Before anything that may pass can fail: what no store can hold must not be kept to spoil every later commit.
        guard edits.allSatisfy({ $0.value?.isNested(within: StoredValue.maximumDepth) ?? true }) else {
            throw SettingsError.unstorable("the value is nested deeper than \(StoredValue.maximumDepth) levels")
        }
        try retryingWithoutRefused {
            try commit { transaction in
                for (key, value) in edits {
                    transaction[key] = value
                }
            }
        }
    }

    /// Stores a value, or removes what is under its key.
    func write(_ value: StoredValue?, forKey key: String) throws {
        try write(CollectionOfOne((key: key, value: value)))
    }

    /// Stores a value where nothing can be thrown: what fails is reported, and the value is kept and tried again.
    func assign(_ value: StoredValue?, forKey key: String, report: @escaping @Sendable (SettingsError) -> Void) {
        do {
            try write(value, forKey: key)
        } catch {
            var error = SettingsError.wrapping(error, as: .writeFailed)
            if error.code.mayPass {
                error.consequence =
                    "the new value is kept in memory, is tried again, and is lost if the process ends before"
                keep(value, forKey: key)
            }
            afterTransaction { [error] in report(error) }
        }
    }

    private func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        if let scope = TransactionScope.current {
            scope.postpone { self.retry() }
            throw SettingsError.nestedTransaction
        }
        guard !isFinished else { throw SettingsError.suiteFinished }
        var flushed: UnsavedChanges.Version?
        let result = try store.commit { transaction in
            if let unsaved = state.withLock({ $0.unsaved.isEmpty ? nil : $0.unsaved.beginFlush() }) {
                for (key, value) in unsaved.edits {
                    transaction[key] = value
                }
                flushed = unsaved.version
            }
            return try body(&transaction)
        }
        if let flushed { endFlush(flushed) }
        return result
    }

    /// Tries again to save what could not be saved.
    func flush() throws {
        guard state.withLock({ !$0.unsaved.isEmpty }) else { return }
        try retryingWithoutRefused { try commit { _ in } }
    }

    /// Forgets what was taken along and was stored already, so that the commit had no change to tell of.
    private func endFlush(_ version: UnsavedChanges.Version) {
        for key in state.withLock({ $0.unsaved.keys(upTo: version) }) {
            forget(key, upTo: version)
        }
    }

    /// Forgets what is unsaved under a key, and tells what shows instead.
    func forget(_ key: String, upTo version: UnsavedChanges.Version) {
        let delivery = store.withValue(forKey: key) { stored in
            state.withLock { state in
                guard let entry = state.unsaved.remove(key, upTo: version) else { return StoreDelivery.none }
                overlayChanged()
                // Others may have stored something since, which was hidden until now.
                let changes = UnsavedChanges.change(ofKey: key, from: entry.value, to: stored).map { [$0] } ?? []
                return state.sinks.offer(StoreCommit(changes: changes, origin: .external))
            }
        }
        delivery.perform()
    }

    private func keep(_ value: StoredValue?, forKey key: String) {
        let delivery = withValue(forKey: key) { old, state in
            state.unsaved.keep(value, forKey: key)
            self.overlayChanged()
            let changes = UnsavedChanges.change(ofKey: key, from: old, to: value).map { [$0] } ?? []
            return self.offer(StoreCommit(changes: changes, origin: .local), to: state.sinks)
        }
        afterTransaction { delivery.perform() }
        scheduleRetry()
    }

    /// Runs what calls observers or reporters: at once, or when the transaction that the caller is inside of, and the
    /// locks it holds, have ended.
    private func afterTransaction(_ work: @escaping @Sendable () -> Void) {
        if let scope = TransactionScope.current {
            scope.postpone(work)
        } else {
            work()
        }
    }

    /// Returns once everything survives a loss of power.
    func synchronize() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        do {
            try flush()
        } catch {
            throw SettingsError.notSaved(state.withLock { $0.unsaved.count }, because: error)
        }
        try store.synchronize()
    }

    /// Writes everything into the file that people see.
    func fold() throws {
        guard TransactionScope.current == nil else { throw SettingsError.nestedTransaction }
        do {
            try flush()
        } catch {
            throw SettingsError.notSaved(state.withLock { $0.unsaved.count }, because: error)
        }
        try store.fold()
    }

    /// Saves what can be saved, ends all streams, and takes no more changes.
    ///
    /// Inside a transaction it waits for the end of that.
    func finish() {
        if let scope = TransactionScope.current {
            scope.postpone { self.finish() }
            return
        }
        do {
            try synchronize()
        } catch {
            report(SettingsError.wrapping(error, as: .writeFailed))
        }
        let sinks = state.withLock { state in
            state.isFinished = true
            return state.sinks.removeAll()
        }
        // They may hold something that holds this engine.
        let unused = settings.withLock { settings in
            defer { settings = SettingTable() }
            return settings
        }
        _ = consume unused
        for sink in sinks {
            sink.finish()
        }
        store.close()
    }
}
