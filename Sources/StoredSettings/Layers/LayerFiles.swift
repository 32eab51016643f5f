// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Layers.md, "Files of layers are watched like the store".
// See Documentation/Decisions/Layers.md, "A suite can be a source".

import Synchronization

/// The files and suites of a suite's layers, which are read with the first setting and followed from then on.
///
/// A change replaces the snapshot, invalidates the caches of the engine, and is offered to its subscribers.
///
/// No store is called, and no code of the user runs, under the lock of the loader. The body of a transaction, which holds
/// the locks that writers wait for, may take it.
final class LayerFiles: Sendable {
    private struct State {
        var snapshot: LayerSnapshot?
        /// The watch; `nil` until the files have been used for a while.
        var watch: PathWatch?
        /// Whether events report the changes of the files.
        var hasEvents: Bool { watch?.isUnwatched == false }
    }

    /// The sources whose values can change, in order of precedence.
    let sources: [LayerSource]
    /// The current directory when the suite was created, for relative paths in variables; `nil` if it is unknown.
    let directory = SystemCalls.currentDirectory()
    private let system: SystemCalls
    private let loader: Locked<LayerLoader>
    private let state = Locked(State())
    private let isLookScheduled = ProcessFlag()
    private let isSuiteLookScheduled = ProcessFlag()
    /// The keys of the settings that have variables with names like those that name files, by the names.
    let owners = Locked<[String: String]>([:])
    /// The suites among the layers; set once, by the initializer.
    private let suites = Locked<[BaseSuite]>([])
    /// The engine whose caches and subscribers depend on the files.
    private let engine: @Sendable () -> SettingsEngine?

    init(_ sources: [LayerSource], engine: SettingsEngine, _ system: SystemCalls = SystemCalls()) {
        self.sources = sources
        self.system = system
        loader = Locked(LayerLoader(sources, system))
        self.engine = { [weak engine] in engine }
        let suites = sources.compactMap(\.suite)
            .map { suite in BaseSuite(suite) { [weak self] in self?.suiteChanged($0) } }
        self.suites.withLock { $0 = suites }
    }

    deinit {
        for suite in suites.withLock(\.self) { suite.close() }
    }

    /// Whether an administrator's file may manage keys.
    var hasManaged: Bool { sources.contains(where: \.isManaged) }

    /// Whether events report the changes of the files.
    var hasEvents: Bool { state.withLock(\.hasEvents) }

    /// Whether an engine is the one that is notified of changes.
    func belong(to engine: SettingsEngine) -> Bool { self.engine() === engine }

    /// The newest snapshot; reads the files first if that was not done before.
    var snapshot: LayerSnapshot {
        // Without a thread that could notice changes, every read has to look.
        if WorkScheduler.shared.isStarved, TransactionScope.current == nil { look() }
        return state.withLock { $0.snapshot } ?? open()
    }

    /// Records the variables of a setting, which name no files for other settings.
    func addVariables(_ names: [String], ofKey key: String) {
        let isNew = owners.withLock { owners in
            let count = owners.count
            for name in names where name.hasSuffix(SecretNames.variable(forFileOf: "")) { owners[name] = key }
            return owners.count > count
        }
        // Another setting may have been read from such a file.
        guard isNew, state.withLock({ $0.snapshot != nil }) else { return }
        let engine = engine()
        loader.withLock { loader in
            use(loader.makeSnapshot(), changing: [], engine)
        }
    }

    /// Makes the contents as of the last look the newest snapshot, in which no value has changed.
    private func renew(_ loader: inout LayerLoader) -> LayerSnapshot {
        let new = loader.makeSnapshot()
        state.withLock { $0.snapshot = new }
        return new
    }

    /// Uses a snapshot in which the values of some keys have changed.
    ///
    /// The caller holds the engine, which must not end under the lock of the loader.
    private func use(_ new: LayerSnapshot, changing keys: Set<String>, _ engine: SettingsEngine?) {
        state.withLock { state in
            state.snapshot = new
            // Under the lock, so that a reader of a new value finds earlier ones outdated. This takes no other lock.
            engine?.invalidate()
        }
        engine?.layersChanged(ofKeys: keys)
    }

    /// Returns the newest snapshot, with the secret of a setting.
    func snapshot(including names: SecretNames, ofKey key: String) -> LayerSnapshot {
        let known = snapshot
        guard !names.paths.isEmpty else { return known }
        let (snapshot, isNew) = loader.withLock { loader in
            let isNew = loader.add(names, ofKey: key)
            if !isNew, let current = state.withLock({ $0.snapshot }) { return (current, false) }
            // No setting has read these secrets, so that nothing has changed.
            return (renew(&loader), true)
        }
        // What leads to the new files is not watched yet.
        if isNew, state.withLock({ $0.watch != nil }) { lookAgain(after: 0) }
        return snapshot
    }

    private func open() -> LayerSnapshot {
        let suites = suites.withLock(\.self)
        for suite in suites { suite.open() }
        let (snapshot, isFirst) = loader.withLock { loader in
            if let known = state.withLock({ $0.snapshot }) { return (known, false) }
            loader.look(suites)
            return (renew(&loader), true)
        }
        if isFirst {
            report(snapshot.problems, besides: [])
            WorkScheduler.shared.after(PathWatch.delay) { [weak self] in self?.watch() }
        }
        return snapshot
    }

    /// Looks at the files, and delivers their changes and those of the suites.
    ///
    /// - Parameter isLookingAtSuites: Whether the suites look for changes of other processes, too.
    func look(isLookingAtSuites: Bool = true) {
        if isLookingAtSuites {
            // A read makes a store look.
            for suite in suites.withLock(\.self) { _ = suite.suite.engine.store.value(forKey: "") }
        }
        let engine = engine()
        defer { withExtendedLifetime(engine) {} }
        let found = loader.withLock { loader -> Found? in
            guard let old = state.withLock({ $0.snapshot }) else { return nil }
            let places = loader.places
            loader.look(suites.withLock(\.self))
            let new = loader.makeSnapshot()
            let keys = loader.changedKeys(from: old, to: new)
            if !keys.isEmpty || old.problems.map(\.message) != new.problems.map(\.message) {
                // Before another look finds nothing new: its caller expects that reads return the new values.
                use(new, changing: keys, engine)
            }
            let hasNewPlaces = loader.places != places
            return Found(old: old, new: new, keys: keys, isUnsettled: loader.isUnsettled, hasNewPlaces: hasNewPlaces)
        }
        guard let found else { return }
        engine?.deliverLayerChanges(ofKeys: found.keys)
        report(found.new.problems, besides: found.old.problems)
        let watch = state.withLock { $0.watch }
        if watch != nil, found.hasNewPlaces {
            // The paths of new files have to be followed.
            lookAgain(after: 0)
        } else if found.isUnsettled {
            lookAgain(after: SettingsFileState.settlingTime)
        } else if watch?.isUnwatched == true {
            lookAgain(after: SettingsFileState.pollInterval)
        }
    }

    /// What a look has found, to be delivered without a lock.
    private struct Found {
        let old: LayerSnapshot
        let new: LayerSnapshot
        /// The keys whose values have changed.
        let keys: Set<String>
        let isUnsettled: Bool
        /// Whether other paths than before decide about the contents.
        let hasNewPlaces: Bool
    }

    private func report(_ problems: [SettingsError], besides known: [SettingsError]) {
        let (old, new) = (Set(known.map(\.message)), Set(problems.map(\.message)))
        for problem in known where !new.contains(problem.message) { engine()?.reportRecovery(from: problem) }
        for problem in problems where !old.contains(problem.message) { engine()?.report(problem) }
    }
}

// MARK: - Watching

extension LayerFiles {
    /// Starts to watch the files now, unless that was done before.
    func watch() {
        guard !hasEvents else { return }
        _ = snapshot
        follow()
    }

    /// Watches what the paths lead through now, and looks at the files.
    private func follow() {
        for suite in suites.withLock(\.self) { suite.suite.engine.store.watch() }
        let (watch, inherited) = state.withLock { state in
            if let watch = state.watch, !watch.isInherited { return (watch, nil as PathWatch?) }
            let watch = PathWatch(system) { [weak self] in
                self?.loader.withLock(\.places) ?? PathWatch.Places()
            } handler: { [weak self] _ in
                // A look may run the code of observers, which must not keep other events waiting.
                self?.lookAgain(after: 0)
            }
            defer { state.watch = watch }
            return (watch, state.watch)
        }
        _ = consume inherited
        watch.arm()
        look()
    }

    /// Looks at the files if no event reports their changes yet.
    ///
    /// Reads them if that was not done before.
    func lookIfUnwatched() {
        let (isWatched, isOpen) = state.withLock { ($0.hasEvents, $0.snapshot != nil) }
        if !isOpen {
            _ = snapshot
        } else if !isWatched || WorkScheduler.shared.isStarved, TransactionScope.current == nil {
            look()
        }
    }

    /// Looks at the values of a suite that has changed.
    private func suiteChanged(_ origin: SettingChangeOrigin) {
        // A change of this process is visible when its call returns, unless that would run the code of observers under a lock.
        if origin == .local, TransactionScope.current == nil { return look(isLookingAtSuites: false) }
        guard isSuiteLookScheduled.set() else { return }
        WorkScheduler.shared.soon { [weak self] in
            guard let self else { return }
            isSuiteLookScheduled.clear()
            look(isLookingAtSuites: false)
        }
    }

    /// Follows the paths again soon; calls meanwhile have no effect.
    private func lookAgain(after delay: Double) {
        guard isLookScheduled.set() else { return }
        WorkScheduler.shared.after(delay) { [weak self] in
            guard let self else { return }
            isLookScheduled.clear()
            state.withLock({ $0.watch != nil }) ? follow() : look()
        }
    }
}

// MARK: - Another suite

/// The stored values of a suite that is a layer of another one.
///
/// They follow from the commits of the suite's store, in order. So they never go backwards, and no call of the store is needed
/// to use them.
final class BaseSuite: ChangeSubscriber {
    private struct State {
        /// The values of the whole suite.
        var values: [String: StoredValue] = [:]
        /// The commits until all values are read.
        var commits: [StoreCommit] = []
        /// The subscription; `nil` until all values are read.
        var subscription: SettingsEngine.SubscriberID?

        /// Makes the changes of names; those of keys in objects follow from these, unless they are not saved yet.
        mutating func apply(_ commit: StoreCommit) {
            for change in commit.changes where change.key.divisions.isEmpty { values[change.key] = change.new }
            for change in commit.changes where !change.key.divisions.isEmpty {
                values.assign(change.new, toKey: change.key)
            }
            for key in commit.keysInObjects where values[key] != nil { values[key] = nil }
        }
    }

    /// The suite, or a group of one.
    let suite: SettingsSuite
    private let state = Locked(State())
    /// Called after a change, without a lock.
    private let changed: @Sendable (SettingChangeOrigin) -> Void

    init(_ suite: SettingsSuite, changed: @escaping @Sendable (SettingChangeOrigin) -> Void) {
        (self.suite, self.changed) = (suite, changed)
    }

    /// The newest values, with the keys of the suite or of the group.
    var contents: [String: StoredValue] { suite.own(state.withLock(\.values)) }

    var ignoresQuiet: Bool { true }

    /// Reads the values, and receives their changes from now on, unless that was done before.
    ///
    /// The caller holds no lock, because opening the store can report errors.
    func open() {
        guard state.withLock({ $0.subscription == nil }) else { return }
        let subscription = suite.engine.addFollower(self)
        let initial = suite.engine.contents()
        let isFirst = state.withLock { state in
            guard state.subscription == nil else { return false }
            state.values = initial
            // A later commit than the one that was read is not lost; an earlier one changes nothing, or is followed by it.
            for commit in state.commits { state.apply(commit) }
            (state.subscription, state.commits) = (subscription, [])
            return true
        }
        // Another thread has opened the suite meanwhile.
        if !isFirst { suite.engine.removeSubscriber(subscription) }
    }

    /// Receives no more changes.
    func close() {
        if let subscription = state.withLock({ $0.subscription.take() }) {
            suite.engine.removeSubscriber(subscription)
        }
    }

    func offer(_ commit: StoreCommit) -> Bool {
        // The layers of the suite itself are not layers of the other one.
        guard !commit.isLayered else { return false }
        state.withLock { state in
            state.subscription == nil ? state.commits.append(commit) : state.apply(commit)
        }
        guard let group = suite.group else { return !commit.changes.isEmpty }
        return commit.changes.contains { group.relative($0.key) != nil || group.prefix.hasPrefix($0.key + ".") }
    }

    func wake(_ origin: SettingChangeOrigin) { changed(origin) }

    func finish() {}
}
