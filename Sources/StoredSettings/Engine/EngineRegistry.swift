// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsEngine {
    /// The identity that two suites share with an engine.
    private enum Identity: Hashable {
        /// The name of a suite that is open.
        ///
        /// Finding the file of a name takes system calls. A struct of settings that names its suite in each property would
        /// repeat them.
        case name(String)
        case file(path: FilePath)
        case store(ObjectIdentifier)
        case memory(name: String)
    }

    private static let engines = Locked(WeakTable<Identity, SettingsEngine>())
    private static let ephemeral = Locked<[String: SettingsEngine]>([:])

    /// The engine of a suite that is opened by its name.
    static func named(_ name: String, reporter: any SettingsReporter) -> SettingsEngine {
        let known = engines.withLock { $0[.name(name)] }
        if let known, !known.isFinished {
            known.addReporter(reporter)
            return known
        }
        let engine = named(name, in: .process, reporter: reporter)
        if engine.isStorageAvailable {
            let others = engines.withLock { $0.insert(engine, forKey: .name(name)) }
            _ = consume others
        }
        return engine
    }

    /// The engine of a suite that is opened by its name, in the place that the environment determines.
    static func named(
        _ name: String,
        in environment: SettingsEnvironment,
        reporter: any SettingsReporter
    ) -> SettingsEngine {
        switch SettingsLocation.directory(forSuite: name, in: environment) {
        case .success(let directory):
            shared(forFileAt: directory.appending(SettingsLocation.fileName), reporter: reporter)
        case .failure(let error):
            inMemory(because: error, name: name, reporter: reporter)
        }
    }

    /// The engine of a file, shared by all suites that name the file by any path.
    static func shared(forFileAt path: FilePath, reporter: any SettingsReporter) -> SettingsEngine {
        let resolved = SettingsPath.identity(of: path, SystemCalls())
        let engine = shared(.file(path: resolved), ownsStore: true) { FileStore(path: path) }
        engine.observeStore(reporter)
        return engine
    }

    /// The engine of a store that the user created.
    static func shared(for store: any SettingsStore, reporter: any SettingsReporter) -> SettingsEngine {
        let engine = shared(.store(ObjectIdentifier(store)), ownsStore: false) { store }
        engine.observeStore(reporter)
        return engine
    }

    /// The engine of a suite without a place to store anything in, shared by all suites of that name.
    ///
    /// Every change that can throw throws ``SettingsError/Code/locationUnavailable``. Assigned values last as long as
    /// the process. Each reporter is notified once, so that assignments are not reported one by one.
    static func inMemory(because cause: SettingsError, name: String, reporter: any SettingsReporter)
        -> SettingsEngine
    {
        let store = UnavailableStore(because: cause)
        let engine = shared(.memory(name: name), ownsStore: true) { store }
        // The engine alone has the values, so it exists until the process ends.
        ephemeral.withLock { $0[name] = engine }
        if engine.addReporter(reporter) {
            var notice = store.notice
            notice.suite = name
            reporter.report(notice)
        }
        return engine
    }

    private static func shared(
        _ identity: Identity,
        ownsStore: Bool,
        makeStore: () -> any SettingsStore
    ) -> SettingsEngine {
        // Created even when it turns out not to be needed, so that no code of a store runs under the lock.
        let new = SettingsEngine(store: makeStore(), ownsStore: ownsStore)
        let (engine, others) = engines.withLock { engines in
            // The other references are released after the lock: an engine that ends then closes its store.
            let known = engines[identity]
            if let known, !known.isFinished { return (known, [SettingsEngine]()) }
            let others = engines.insert(new, forKey: identity)
            return (new, others + [known].compactMap { $0 })
        }
        _ = consume others
        return engine
    }

    /// Receives the store's changes and failures from now on.
    ///
    /// Every user of an engine calls this, although one call is enough. A store may report at once, so the reporter is added
    /// before.
    private func observeStore(_ reporter: any SettingsReporter) {
        addReporter(reporter)
        store.setObserver(self)
    }
}
