// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What stands between the suites that name a store and the store: changes that could not be saved yet, subscribers,
/// reporters.
///
/// There is one engine for a store, however many suites name it.
///
/// Locks are taken in the order store, engine, subscriber. Nothing here calls the store while it holds the engine's lock.
final class SettingsEngine: Sendable {
    let store: any SettingsStore
    /// The store's, if it can tell without being asked whether anything has changed.
    let versionStamp: VersionStamp?
    let state: Locked<State>
    /// The settings that are in use; the lock is the last to be taken.
    let settings = Locked(SettingRegistry())

    /// Changes with every change of what is pendingWrites, so that caches notice it.
    private let pendingVersion = Atomic<UInt64>(0)

    /// For those who track what they read, and whether it is among the subscribers.
    let observed = ObservedSettings()
    let isObserved = Atomic(false)

    struct State {
        var pendingWrites: PendingWrites
        var subscribers = SubscriberTable()
        var reporters: [any SettingsReporter] = []
        var isFinished = false
        /// Why the last values were not synchronized when the engine was finished.
        var finishingError: SettingsError?
    }

    /// Whether the store is this engine's alone, and is closed with it.
    ///
    /// One that a user has made may be used again.
    private let ownsStore: Bool

    /// Whether there is a place to store anything in.
    let isStorageAvailable: Bool

    /// Creates an engine without reporters, which receives nothing until it is set as the store's observer.
    init(store: any SettingsStore, ownsStore: Bool) {
        self.store = store
        versionStamp = (store as? any VersionedStore)?.versionStamp
        self.ownsStore = ownsStore
        isStorageAvailable = !(store is UnavailableStore)
        state = Locked(State(pendingWrites: PendingWrites(isSavedLater: isStorageAvailable)))
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
        let overlay = pendingVersion.load(ordering: .acquiring)
        return Stamp(store: store.version(), overlay: overlay)
    }

    /// Takes notice of a change of what is pendingWrites.
    ///
    /// Called under the engine's lock.
    func pendingWritesChanged() {
        pendingVersion.add(1, ordering: .releasing)
        versionStamp?.invalidate()
    }

    /// The newest value under a key, saved or not, and what outruns it.
    func valueAndVersion(
        forKey key: String,
        _ versionStamp: VersionStamp
    ) -> (value: StoredValue?, version: VersionStamp.Version) {
        store.withValue(forKey: key) { stored in
            state.withLock { state in
                (state.pendingWrites.value(forKey: key, over: stored), versionStamp.version)
            }
        }
    }

    /// The newest value under a key, saved or not.
    func value(forKey key: String) -> StoredValue? {
        withValue(forKey: key) { value, _ in value }
    }

    /// Whether the value under a key could not be saved yet.
    func isPending(_ key: String) -> Bool {
        state.withLock { $0.pendingWrites.contains(key) }
    }

    /// All the newest values, saved or not.
    func contents() -> [String: StoredValue] {
        let contents = store.contents()
        return state.withLock { $0.pendingWrites.applied(to: contents) }
    }

    /// Reads a value and changes the engine's state before any later change can be recorded.
    func withValue<Result: Sendable>(
        forKey key: String,
        _ body: @Sendable (StoredValue?, inout State) -> Result
    ) -> Result {
        store.withValue(forKey: key) { stored in
            state.withLock { state in
                body(state.pendingWrites.value(forKey: key, over: stored), &state)
            }
        }
    }
}

// MARK: - Subscribing

extension SettingsEngine {
    typealias SubscriberID = SubscriberTable.ID

    /// Adds a subscriber for one key, which is offered every change after the value that is returned.
    func addSubscriber(_ subscriber: some ChangeSubscriber, forKey key: String) -> (id: SubscriberID, value: StoredValue?) {
        store.watch()
        let (id, value, isFinished) = withValue(forKey: key) { value, state in
            (state.subscribers.insert(subscriber, forKey: key), value, state.isFinished)
        }
        if isFinished { subscriber.finish() }
        return (id, value)
    }

    /// Adds a subscriber for every key, which is offered every change from now on.
    func addSubscriber(_ subscriber: some ChangeSubscriber) -> SubscriberID {
        store.watch()
        // A read, whatever its key: a store that has not read its contents yet would tell of all of them as changes.
        let (id, isFinished) = withValue(forKey: "") { _, state in (state.subscribers.insert(subscriber), state.isFinished) }
        if isFinished { subscriber.finish() }
        return id
    }

    /// How many subscribers there are.
    var subscriberCount: Int { state.withLock { $0.subscribers.count } }

    func removeSubscriber(_ id: SubscriberID) {
        // The subscriber is let go of after the lock, since its end may run code of others.
        let subscriber = state.withLock { $0.subscribers.remove(id) }
        _ = consume subscriber
    }
}

extension SettingsEngine: StoreObserver {
    func record(_ commit: StoreCommit) -> StoreDelivery {
        state.withLock { state in
            let visible = state.pendingWrites.masking(commit)
            if visible.isPendingChanged { pendingWritesChanged() }
            var delivery = offer(visible.commit, to: state.subscribers)
            delivery.recorder = self
            delivery.errors = visible.dropped.map { .pendingWriteDropped($0) }
            return delivery
        }
    }

    /// Offers a commit to those it concerns, unless the task that makes it wants nobody told.
    func offer(_ commit: StoreCommit, to subscribers: SubscriberTable) -> StoreDelivery {
        commit.origin == .local && Quiet.covers(self) ? .none : subscribers.offer(commit)
    }

    func report(_ error: SettingsError) {
        afterTransaction { [self] in
            let error = locating(error)
            for reporter in state.withLock({ $0.reporters }) {
                reporter.report(error)
            }
        }
    }

    /// Lets another reporter hear of what fails in the background.
    ///
    /// - Parameter reporter: The reporter.
    /// - Returns: Whether the engine did not have it yet.
    @discardableResult
    func addReporter(_ reporter: any SettingsReporter) -> Bool {
        state.withLock { state in
            guard !state.reporters.contains(where: { $0 === reporter }) else { return false }
            state.reporters.append(reporter)
            return true
        }
    }

    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// An error with the name of a suite, and the file it is kept in unless a nearer place is known.
    func naming(_ error: SettingsError, suite name: String) -> SettingsError {
        var error = locating(error)
        error.suite = name
        return error
    }

    /// An error with the file of the settings, unless a nearer place is known.
    private func locating(_ error: SettingsError) -> SettingsError {
        guard error.location == nil else { return error }
        var error = error
        switch store.persistence {
        case .durable(let path), .readOnly(let path, _): error.location = SettingsError.Location(file: path)
        case .ephemeral: break
        }
        return error
    }
}
