// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The engines of suites that were named without a path, as long as anybody uses them.
///
/// To find the file of a name takes system calls; a struct of settings that names its suite in each of them would make them
/// over and over.
enum EngineRegistry {
    private static let references = Locked<[String: EngineReference]>([:])

    /// The engine of a suite that is open under its name.
    static func engine(named name: String, reporter: any SettingsReporter) -> SettingsEngine? {
        let engine = references.withLock { $0[name]?.engine }
        guard let engine, !engine.isFinished else { return nil }
        engine.addReporter(reporter)
        return engine
    }

    /// Lets ``engine(named:reporter:)`` find an engine.
    static func add(_ engine: SettingsEngine, as name: String) {
        let others = references.withLock { references in
            // What is looked at is let go of after the lock.
            let others = references.mapValues(\.engine).filter { $0.value != nil }
            references = references.filter { others[$0.key] != nil }
            references[name] = EngineReference(engine)
            return others
        }
        _ = consume others
    }
}

/// Leads to an engine for as long as it is used.
///
/// It is an object, so that a table of them is copied without looking at each. Unchecked: the variable is set once, and is a
/// variable only since it is weak.
final class EngineReference: @unchecked Sendable {
    private(set) weak var engine: SettingsEngine?

    init(_ engine: SettingsEngine) {
        self.engine = engine
    }
}

extension SettingsEngine {
    /// What makes two suites share an engine.
    private enum Identity: Hashable {
        case file(path: FilePath)
        case store(ObjectIdentifier)
        case memory(name: String)
    }

    private static let engines = Locked<[Identity: EngineReference]>([:])
    private static let ephemeral = Locked<[String: SettingsEngine]>([:])

    /// The engine for a file, however many suites name it, by whichever path.
    static func shared(forFileAt path: FilePath, reporter: any SettingsReporter) -> SettingsEngine {
        let resolved = SettingsPath.identity(of: path, SystemCalls())
        let engine = shared(.file(path: resolved), ownsStore: true) { FileStore(path: path) }
        engine.addReporter(reporter)
        engine.observeStore()
        return engine
    }

    /// The engine for a store of the user's.
    static func shared(for store: any SettingsStore, reporter: any SettingsReporter) -> SettingsEngine {
        let engine = shared(.store(ObjectIdentifier(store)), ownsStore: false) { store }
        engine.addReporter(reporter)
        engine.observeStore()
        return engine
    }

    /// The engine of a suite that has no place to store anything in, shared by all suites of that name.
    ///
    /// Everything that can throw throws ``SettingsError/Code/locationUnavailable``. Assigned values last as long as the
    /// process. Each reporter is notified once, so that no assignment has to be reported.
    ///
    /// - Parameters:
    ///   - cause: Why there is no place; its fact, its fix and its location are part of every error.
    ///   - name: The name of the suite.
    ///   - reporter: Receives failures that cannot be thrown.
    /// - Returns: The engine.
    static func inMemory(because cause: SettingsError, name: String, reporter: any SettingsReporter) -> SettingsEngine {
        let store = UnavailableStore(because: cause)
        let engine = shared(.memory(name: name), ownsStore: true) { store }
        engine.observeStore()
        // It alone has the values, so it stays for as long as the process.
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
        // Made before it is known whether it is needed, so that nothing of others runs under the lock.
        let new = SettingsEngine(store: makeStore(), ownsStore: ownsStore)
        let (engine, others) = engines.withLock { engines in
            // What is looked at is let go of after the lock: an engine that ends then closes its store.
            let known = engines[identity]?.engine
            if let known, !known.isFinished { return (known, [SettingsEngine]()) }
            let others = engines.compactMapValues(\.engine)
            engines = engines.filter { others[$0.key] != nil }
            engines[identity] = EngineReference(new)
            return (new, others.values + [known].compactMap { $0 })
        }
        _ = consume others
        return engine
    }

    /// Receives the store's changes and failures from now on.
    ///
    /// Every user of an engine calls this; once is enough. A store may report at once, so the first reporter is added
    /// before.
    private func observeStore() {
        store.setObserver(self)
    }
}
